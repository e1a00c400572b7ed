"""The rules as the design words them, on examples counted by hand and against a naive second implementation."""

import asyncio
import random

import pytest

from personafit._errors import UserError
from personafit.contexts import Context
from personafit.items import FIT
from personafit.raters import RULES, make_rater
from personafit.raters.rule import RuleRater, length, overlap
from personafit.store import Status
from tests.scripted import shown

NOBODY = Context("none", "", (), None)


def about(*values: str) -> Context:
    return Context("profile", "whatever the reader sees", values, "ann")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [("", 0), ("tea", 3), (" tea \n", 6), ("热茶。", 3), ("é", 1), ("e\u0301", 2), ("👩‍⚕️", 4)],
)
def test_length_counts_code_points_of_the_answer_as_given(answer: str, expected: int) -> None:
    assert length(answer, "any", NOBODY) == expected


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
    assert overlap(answer, prompt, about(*values)) == expected


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
        assert overlap(answer, prompt, about(*values)) == expected, (answer, prompt, values)
        assert length(answer, prompt, NOBODY) == len(list(answer))
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
    verdict = asyncio.run(make_rater(f"rule:{rule}").rate(shown(texts, order), FIT))
    assert (verdict.status, verdict.label, verdict.value) == (Status.OK, label, margin)


def test_without_a_view_overlap_is_a_tie_and_length_is_unmoved() -> None:
    nobody = shown(("green tea, as you like it", "milk"), person="")
    overlap_verdict = asyncio.run(make_rater("rule:overlap").rate(nobody, FIT))
    assert (overlap_verdict.label, overlap_verdict.value) == ("tie", 0.0)
    assert asyncio.run(make_rater("rule:length").rate(nobody, FIT)).label == "0"


def test_three_answers_and_a_tie_at_the_top() -> None:
    rater = make_rater("rule:length")
    verdict = asyncio.run(rater.rate(shown(("aaa", "bbb", "c"), (0, 1, 2)), FIT))
    assert (verdict.label, verdict.value) == ("tie", 0.0)
    verdict = asyncio.run(rater.rate(shown(("a", "bb", "ccc"), (0, 1, 2)), FIT))
    assert (verdict.label, verdict.value) == ("2", -2.0)


def test_a_rule_costs_nothing_and_asks_nobody() -> None:
    for name in RULES:
        rater = make_rater(f"rule:{name}")
        assert isinstance(rater, RuleRater)
        assert (rater.price, rater.order_matters, rater.record.kind) == ((0.0, 0.0), False, "rule")
        assert rater.request(shown(), FIT) is None
    prints = {make_rater(f"rule:{name}").record.fingerprint for name in RULES}
    assert len(prints) == len(RULES)


def test_an_unknown_rule_and_an_unknown_option_are_named() -> None:
    with pytest.raises(
        UserError, match=r"rule:best: there is no such rule; there are rule:length, rule:overlap"
    ):
        make_rater("rule:best")
    with pytest.raises(UserError, match=r"unknown option 'size'"):
        make_rater("rule:length,size=3")
