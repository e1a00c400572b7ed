"""The rules as the design words them, on examples counted by hand and against a naive second implementation."""

import asyncio
import math
import random

import pytest

from personafit import QuestionSet, Status, Unit, UserError
from personafit.contexts import Context
from personafit.items.choice import CHOICES
from personafit.items.preference import PREFERENCES
from personafit.items.relevance import ATTRIBUTES
from personafit.raters import make_rater
from personafit.raters.rules import RULES, length, overlap
from tests.preference_world import pair
from tests.scripted import listed, shown

NOBODY = Context("none", "", (), None)


def about(*values: str) -> Context:
    return Context("profile", "whatever the reader sees", values, "ann")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [("", 0), ("tea", 3), (" tea \n", 6), ("热茶。", 3), ("é", 1), ("e\u0301", 2), ("👩‍⚕️", 4)],
)
def test_length_counts_code_points_of_the_answer_as_given(answer: str, expected: int) -> None:
    assert length(Unit(answer, "any", NOBODY)) == expected


@pytest.mark.parametrize(
    ("answer", "prompt", "values", "expected"),
    [
        ("tea tea", "", ("green tea",), 3),  # te, ea and " t", each once; "a " is not in the values
        ("tea", "", ("tea",), 2),
        ("tea", "tea?", ("tea",), 0),  # all of it is in the question already
        ("team", "eat", ("team",), 2),  # te, am; ea is in the question
        ("Tea", "", ("tea",), 1),  # case is kept: only ea
        ("ab", "", ("a", "b"), 0),  # values are joined by spaces: no bigram runs across
        ("a b", "", ("a", "b"), 2),  # but the joining space counts: "a ", " b"
        ("34", "", ("34",), 1),  # numbers are values too
        ("喝热茶", "", ("爱喝热茶",), 2),
        ("喝热茶", "喝什么", ("爱喝热茶",), 2),
        ("t", "", ("tea",), 0),
        ("", "", ("tea",), 0),
        ("tea", "", (), 0),
    ],
)
def test_overlap_on_examples_counted_by_hand(
    answer: str, prompt: str, values: tuple[str, ...], expected: int
) -> None:
    assert overlap(Unit(answer, prompt, about(*values))) == expected


def naive_overlap(answer: str, prompt: str, values: tuple[str, ...]) -> int:
    known = " ".join(values)
    found = []
    for start in range(len(answer) - 1):
        bigram = answer[start : start + 2]
        if bigram in known and bigram not in prompt and bigram not in found:
            found.append(bigram)
    return len(found)


def test_rules_agree_with_a_naive_count_on_random_texts() -> None:
    source = random.Random(20)
    alphabet = "ab cé喝茶\n"

    def text(longest: int) -> str:
        return "".join(source.choices(alphabet, k=source.randint(0, longest)))

    nonzero = 0
    for _ in range(2000):
        answer, prompt = text(30), text(8)
        values = tuple(text(6) for _ in range(source.randint(0, 4)))
        expected = naive_overlap(answer, prompt, values)
        nonzero += expected > 0
        assert overlap(Unit(answer, prompt, about(*values))) == expected, (answer, prompt, values)
        assert length(Unit(answer, prompt, NOBODY)) == len(list(answer))
    assert nonzero > 500, "the examples must not be empty ones"


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize(
    ("rule", "texts", "label", "margin"),
    [
        ("length", ("longer", "short"), "0", 1.0),
        ("length", ("short", "longer"), "1", -1.0),
        ("length", ("same", "size"), "tie", 0.0),
        ("overlap", ("tea", "milk"), "0", 2.0),
        ("overlap", ("milk", "tea"), "1", -2.0),
        ("overlap", ("milk", "cola"), "tie", 0.0),
    ],
)
def test_verdicts_are_in_the_items_own_order(
    rule: str, texts: tuple[str, str], label: str, margin: float, order: tuple[int, int]
) -> None:
    verdict = asyncio.run(make_rater(f"rule:{rule}").rate(shown(texts, order)))
    assert (verdict.status, verdict.answers[0].label, verdict.answers[0].value) == (Status.OK, label, margin)


def test_without_a_context_overlap_is_a_tie_and_length_is_unmoved() -> None:
    nobody = shown(("green tea, as you like it", "milk"), person="")
    overlap_verdict = asyncio.run(make_rater("rule:overlap").rate(nobody))
    assert (overlap_verdict.answers[0].label, overlap_verdict.answers[0].value) == ("tie", 0.0)
    assert asyncio.run(make_rater("rule:length").rate(nobody)).answers[0].label == "0"


def test_three_answers_and_a_tie_at_the_top() -> None:
    rater = make_rater("rule:length")
    verdict = asyncio.run(rater.rate(shown(("aaa", "bbb", "c"), (0, 1, 2))))
    assert (verdict.answers[0].label, verdict.answers[0].value) == ("tie", 0.0)
    verdict = asyncio.run(rater.rate(shown(("a", "bb", "ccc"), (0, 1, 2))))
    assert (verdict.answers[0].label, verdict.answers[0].value) == ("2", -2.0)


@pytest.mark.parametrize("name", RULES["attribute"])
def test_rules_for_attributes_take_stop_words_and_any_script(name: str) -> None:
    for prompt, texts in (
        ("the of and", ["the", "and of"]),
        ("喝什么?", ["喜欢茶", "🍵", ""]),
        ("What to drink?", ["tea"]),
    ):
        units = [Unit(text, prompt, NOBODY) for text in texts]
        assert len(RULES["attribute"][name].score(units)) == len(texts)


def attribute_labels(name: str, prompt: str, *texts: str) -> tuple[list[str | None], list[float | None]]:
    answers = asyncio.run(make_rater(f"rule:{name}", ATTRIBUTES).rate(listed(*texts, prompt=prompt))).answers
    return [answer.label for answer in answers], [answer.value for answer in answers]


def test_bm25_ranks_the_attribute_that_shares_a_rare_word_first_and_leaves_where_yes_begins_to_the_report() -> (
    None
):
    labels, values = attribute_labels("bm25", "How to wear long coats?", "owns coats", "has a dog", "is tall")
    first, second, third = (value or 0.0 for value in values)
    assert first > second == third == 0.0
    assert labels == [None, None, None]


def test_overlap_of_attributes_says_yes_from_one_shared_word_on() -> None:
    labels, _ = attribute_labels("overlap", "Which coats are warm?", "owns coats", "has a dog")
    assert labels == ["yes", "no"]


def test_rules_for_pairs_mark_mention_and_leave_length_to_the_report() -> None:
    named = asyncio.run(make_rater("rule:mention", PREFERENCES).rate(pair()))
    assert [answer.label for answer in named.answers] == ["5", "3"]
    longer = asyncio.run(make_rater("rule:length", PREFERENCES).rate(pair()))
    generic, personal = pair().texts
    assert {answer.label for answer in longer.answers} == {None}
    assert longer.answers[0].value == pytest.approx(math.log(len(personal) / len(generic)))


@pytest.mark.parametrize(
    ("asks", "unit"), [(CHOICES, "answer"), (ATTRIBUTES, "attribute"), (PREFERENCES, "pair")]
)
def test_a_rule_costs_nothing_and_asks_nobody(asks: QuestionSet, unit: str) -> None:
    one = {"answer": shown(), "attribute": listed("likes tea"), "pair": pair()}[unit]
    for name in RULES[unit]:
        rater = make_rater(f"rule:{name}", asks)
        assert (rater.price, rater.order_matters, rater.record.kind) == ((0.0, 0.0), False, "rule")
        assert rater.request(one) is None
    prints = {make_rater(f"rule:{name}", asks).record.fingerprint for name in RULES[unit]}
    assert len(prints) == len(RULES[unit])


@pytest.mark.parametrize(
    ("asks", "spec", "sentence"),
    [
        (
            CHOICES,
            "rule:best",
            r"no such rule; rules that can say which answer fits: rule:length, rule:overlap, rule:second",
        ),
        (CHOICES, "rule:length,size=3", r"unknown option 'size'"),
        (
            ATTRIBUTES,
            "rule:length",
            r"it scores answers, not relevance items; rules that can say which attributes matter: rule:always-yes, rule:bm25",
        ),
        (
            PREFERENCES,
            "rule:best",
            r"no such rule; rules that can say which answer somebody .*: rule:length, rule:mention",
        ),
    ],
)
def test_an_unknown_rule_and_an_unknown_option_are_named(asks: QuestionSet, spec: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        make_rater(spec, asks)


@pytest.mark.parametrize(
    ("facets", "text", "times"),
    [
        ({"Name": "Ann Lee"}, "Ann, you know.", 1),
        ({"name": "Ann Lee"}, "Ann, you know.", 1),
        ({"Demographics.FULL NAME": "Ann Lee"}, "Dear Ann!", 1),
        ({"姓名": "赵梦瑶"}, "梦瑶，你好。", 1),
        ({"Pet.Name": "Ann"}, "Ann barks.", 0),
    ],
)
def test_naming_is_counted_whatever_the_key_and_by_first_name(
    facets: dict[str, str], text: str, times: int
) -> None:
    context = Context("profile", "", tuple(facets.values()), "ann", dict(facets))
    assert RULES["answer"]["name"].score([Unit(text, "?", context)]) == [times]
