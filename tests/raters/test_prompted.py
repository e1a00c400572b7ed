"""A prompted model as a rater, pinned by scripted replies: letters, parser, one re-ask, refusal, reasoning, sums; for every kind."""

import asyncio
from dataclasses import replace

import pytest

from personafit import ChatReply, Question, Shown, Status
from personafit.items import FIT, ChoiceQuestion
from personafit.items.preference import NAMED, PREFER
from personafit.items.reading import SHORT_REPLY
from personafit.items.relevance import ALONE, GRADED, LIST, PAIR
from personafit.models.chat import THINKING
from personafit.raters import Verdict
from personafit.raters.prompted import PromptedRater
from tests.preference_world import pair
from tests.scripted import ScriptedModel, listed, shown

ROOM = SHORT_REPLY + THINKING


def rated(
    *replies: ChatReply, order: tuple[int, ...] = (0, 1), sample: int = 0
) -> tuple[Verdict, ScriptedModel]:
    model = ScriptedModel(list(replies))
    rater = PromptedRater(model, (FIT,))
    texts = ("tea", "coffee", "milk")[: len(order)]
    return asyncio.run(rater.rate(shown(texts, order=order, sample=sample))), model


def test_letter_scores_become_a_margin_in_product_order() -> None:
    """The model likes whatever stands first: each order says so, and the margins cancel."""
    scores = {"A": -0.5, "B": -2.0}
    plain, model = rated(ChatReply("B", letter_scores=scores), order=(0, 1))
    turned, _ = rated(ChatReply("B", letter_scores=scores), order=(1, 0))
    assert (plain.answers[0].label, plain.answers[0].value) == ("0", 1.5)
    assert (turned.answers[0].label, turned.answers[0].value) == ("1", -1.5)
    assert plain.answers[0].letters == scores
    (asked,) = model.asked
    assert asked.letters == ("A", "B")
    assert (asked.max_tokens, asked.temperature, asked.seed) == (SHORT_REPLY, 0.0, None)


def test_equal_letter_scores_are_a_tie() -> None:
    verdict, _ = rated(ChatReply("A", letter_scores={"A": -0.7, "B": -0.7}))
    assert (verdict.status, verdict.answers[0].label, verdict.answers[0].value) == (Status.OK, "tie", 0.0)


def test_three_answers_are_read_in_product_order() -> None:
    verdict, _ = rated(ChatReply("", letter_scores={"A": -3.0, "B": -0.5, "C": -1.0}), order=(2, 1, 0))
    assert (verdict.answers[0].label, verdict.answers[0].value) == ("1", -0.5), (
        "product 0 stands last: -1.0 against -0.5"
    )


def test_a_missing_letter_is_no_score_and_the_text_is_read() -> None:
    verdict, model = rated(ChatReply("B", letter_scores={"A": -0.1}))
    assert (verdict.status, verdict.answers[0].label, verdict.answers[0].value) == (Status.OK, "1", -1.0)
    assert verdict.answers[0].letters is None
    assert len(model.asked) == 1


@pytest.mark.parametrize(
    ("text", "order", "label", "margin"),
    [
        ("A", (0, 1), "0", 1.0),
        ("A", (1, 0), "1", -1.0),
        ("**Answer: B**", (1, 0), "0", 1.0),
        ("Tea it is.\nB", (0, 1), "1", -1.0),
    ],
)
def test_without_letter_scores_the_text_is_parsed(
    text: str, order: tuple[int, int], label: str, margin: float
) -> None:
    verdict, model = rated(ChatReply(text), order=order)
    assert (verdict.status, verdict.answers[0].label, verdict.answers[0].value) == (Status.OK, label, margin)
    assert (verdict.reply, verdict.calls, len(model.asked)) == (text, 1, 1)


def test_a_reply_without_a_letter_is_asked_again_once() -> None:
    verdict, model = rated(ChatReply("Both are nice."), ChatReply("B"), order=(1, 0))
    assert (verdict.status, verdict.answers[0].label, verdict.calls) == (Status.OK, "0", 2)
    assert verdict.reply == "B"
    assert "Both are nice." in (verdict.detail or "")
    first, second = model.asked
    assert second.messages[: len(first.messages)] == first.messages
    assert second.messages[-1]["content"].startswith("Reply with exactly one letter")


@pytest.mark.parametrize(
    "cut_off",
    [
        ChatReply("", reasoning="The person likes", cut=True, tokens_reasoning=16),
        ChatReply("", cut=True, tokens_reasoning=16),  # endpoints that count the thoughts and hide them
    ],
)
def test_a_model_that_starts_to_reason_gets_room_and_is_remembered(cut_off: ChatReply) -> None:
    model = ScriptedModel([cut_off, ChatReply("B", reasoning="… tea."), ChatReply("A", reasoning="hm")])
    rater = PromptedRater(model, (FIT,))
    verdict = asyncio.run(rater.rate(shown()))
    assert (verdict.status, verdict.answers[0].label, verdict.reasoning) == (Status.OK, "1", "… tea.")
    assert verdict.calls == 2
    later = asyncio.run(rater.rate(shown()))
    assert (later.answers[0].label, later.calls) == ("0", 1)
    assert [request.max_tokens for request in model.asked] == [SHORT_REPLY, ROOM, ROOM]
    assert [request.letters for request in model.asked] == [("A", "B"), (), ()]
    assert model.asked[1].messages == model.asked[0].messages


def test_a_model_with_an_effort_reasons_from_the_start() -> None:
    model = ScriptedModel([ChatReply("A")], settings={"kind": "scripted", "effort": "low"})
    asyncio.run(PromptedRater(model, (FIT,)).rate(shown()))
    assert (model.asked[0].max_tokens, model.asked[0].letters) == (ROOM, ())


def test_reasoning_that_fills_all_its_room_is_unparsed_without_another_long_call() -> None:
    model = ScriptedModel(
        [ChatReply("", reasoning="and on", cut=True)], settings={"kind": "scripted", "effort": "high"}
    )
    verdict = asyncio.run(PromptedRater(model, (FIT,)).rate(shown()))
    assert (verdict.status, len(model.asked)) == (Status.UNPARSED, 1)


@pytest.mark.parametrize(
    "first",
    [
        ChatReply("Hm.", tokens_in=100, tokens_out=16, tokens_reasoning=0, cost=0.25),
        ChatReply("", reasoning="Hm", cut=True, tokens_in=100, tokens_out=16, tokens_reasoning=14, cost=0.25),
    ],
)
def test_tokens_and_cost_are_those_of_both_calls(first: ChatReply) -> None:
    second = ChatReply("A", tokens_in=140, tokens_out=3, tokens_reasoning=1, cost=0.5)
    verdict, _ = rated(first, second)
    assert (verdict.tokens_in, verdict.tokens_out) == (240, 19)
    assert verdict.tokens_reasoning == first.tokens_reasoning + 1
    assert (verdict.cost, verdict.calls) == (0.75, 2)


def test_further_samples_are_drawn_with_a_seed_of_their_own() -> None:
    for sample in (1, 2):
        _, model = rated(ChatReply("A"), sample=sample)
        assert (model.asked[0].temperature, model.asked[0].seed) == (0.0, sample)
        assert model.asked[0].key == f"item-1|profile|01|{sample}"


def test_the_fingerprint_is_of_settings_and_question_and_not_of_the_name() -> None:
    def fingerprint(name: str = "m", question: ChoiceQuestion = FIT, **settings: str) -> str:
        model = ScriptedModel([], name=name, settings={"kind": "scripted", **settings})
        return PromptedRater(model, (question,)).record.fingerprint

    class Short(ChoiceQuestion):
        version = "short-1"

    base = fingerprint()
    assert fingerprint(name="other") == base
    assert (
        len(
            {
                base,
                fingerprint(question=Short()),
                fingerprint(effort="low"),
                fingerprint(model="x"),
            }
        )
        == 4
    )


def test_closing_the_rater_closes_the_model() -> None:
    model = ScriptedModel([])
    asyncio.run(PromptedRater(model, (FIT,)).close())
    assert model.closed


KINDS: dict[str, tuple[Question, Shown, str, list[str]]] = {
    "choice": (FIT, shown(), "B", ["1"]),
    "attribute": (PAIR, listed("likes tea"), "yes", ["yes"]),
    "grade": (GRADED, listed("likes tea"), "2", ["may"]),
    "list": (LIST, listed("likes tea", "has a dog"), "[1]", ["yes", "no"]),
    "preference": (PREFER, pair(), '{"1": 5, "2": 3}', ["5", "3"]),
    "mention": (NAMED, pair(), "[1]", ["yes", "no"]),
}
"""A question, what is shown, a reply that can be read, and what it says."""


def asked(kind: str, *replies: ChatReply) -> tuple[Verdict, ScriptedModel]:
    question, one, _, _ = KINDS[kind]
    model = ScriptedModel(list(replies))
    return asyncio.run(PromptedRater(model, (question,)).rate(replace(one, question=question))), model


def labels(verdict: Verdict) -> list[str | None]:
    return [answer.label for answer in verdict.answers]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_asked_for_once_more_where_nothing_can_be_read(kind: str) -> None:
    _, _, reply, said = KINDS[kind]
    verdict, model = asked(kind, ChatReply("tea, of course", tokens_in=5), ChatReply(reply, tokens_in=7))
    assert (verdict.status, labels(verdict)) == (Status.OK, said)
    assert (verdict.calls, verdict.tokens_in) == (2, 12)
    assert "tea, of course" in str(verdict.detail)
    assert model.asked[1].messages[-2]["content"] == "tea, of course"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("replies", "status"),
    [
        ((ChatReply("Hard to say."), ChatReply("[9]")), Status.UNPARSED),
        ((ChatReply("", refused=True),), Status.REFUSED),  # which is not argued with
    ],
)
def test_without_an_answer_every_part_says_why(
    kind: str, replies: tuple[ChatReply, ...], status: Status
) -> None:
    verdict, model = asked(kind, *replies)
    assert verdict.status is status
    assert [(answer.label, answer.status) for answer in verdict.answers] == [(None, status)] * len(
        KINDS[kind][3]
    )
    assert (verdict.reply or "") == replies[-1].text
    assert len(model.asked) == len(replies)


@pytest.mark.parametrize("kind", KINDS)
def test_whoever_thinks_first_gets_room_whatever_is_asked(kind: str) -> None:
    _, _, reply, said = KINDS[kind]
    verdict, model = asked(
        kind, ChatReply("", reasoning="hm", cut=True), ChatReply(reply, reasoning="hm, tea")
    )
    assert (labels(verdict), verdict.reasoning) == (said, "hm, tea")
    assert model.asked[1].max_tokens > model.asked[0].max_tokens
    assert model.asked[1].letters == ()


def test_fingerprints_tell_the_questions_apart() -> None:
    raters = [PromptedRater(ScriptedModel([]), (question,)) for question, *_ in KINDS.values()]
    assert len({rater.record.fingerprint for rater in raters}) == len(KINDS)
    assert [rater.order_matters for rater in raters] == [True, False, False, False, True, False]
    assert [rater.most_parts for rater in raters] == [None, 1, 1, LIST.most_parts, None, None]


def test_without_the_prompt_one_answer_holds_for_all_places_of_an_attribute() -> None:
    same = replace(listed("likes tea", "likes tea", context=ALONE), question=PAIR)
    model = ScriptedModel([ChatReply("yes")])
    verdict = asyncio.run(PromptedRater(model, (PAIR,)).rate(same))
    assert [(answer.part.item, answer.label) for answer in verdict.answers] == [("i0", "yes"), ("i1", "yes")]


def test_all_attributes_of_a_pair_are_asked_about_at_once_and_turned() -> None:
    model = ScriptedModel([ChatReply('{"1": 5, "2": 3}')])
    verdict = asyncio.run(PromptedRater(model, (PREFER,)).rate(pair(order=(1, 0))))
    assert [(one.part.target, one.label, one.value) for one in verdict.answers] == [
        ("a0", "1", 1.0),
        ("a1", "3", 3.0),
    ]
    assert [request.key for request in model.asked] == ["item-1|preference|10|0"]


def test_a_missing_attribute_is_asked_for_once_more_and_the_first_reply_still_counts() -> None:
    verdict, model = asked("preference", ChatReply('{"1": 5}'), ChatReply('{"2": 2}'))
    assert labels(verdict) == ["5", "2"]
    assert verdict.calls == len(model.asked) == 2
    assert '"1", "2"' in model.asked[1].messages[-1]["content"]
    verdict, _ = asked("preference", ChatReply('{"1": 5}'), ChatReply("Hard to say."))
    assert [(one.label, one.status) for one in verdict.answers] == [("5", None), (None, Status.UNPARSED)]
    assert verdict.status is Status.OK


def test_a_detector_of_mention_sees_the_personalized_answer_only() -> None:
    verdict, model = asked("mention", ChatReply("[7]"), ChatReply("[]"))
    assert (labels(verdict), len(model.asked)) == (["no", "no"], 2), "what is not there is asked again"
    assert "fry tofu" in model.asked[0].messages[0]["content"]
    assert "Fry an egg" not in model.asked[0].messages[0]["content"]
