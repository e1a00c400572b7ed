"""A prompted model as a rater, pinned by scripted replies: letters, parser, one re-ask, refusal, reasoning, sums."""

import asyncio

import pytest

from personafit.items import FIT, ChoiceQuestion
from personafit.items.question import SHORT_REPLY
from personafit.models import ChatReply
from personafit.models.thinking import THINKING
from personafit.raters import Verdict, choosing_rater
from personafit.store import Status
from tests.scripted import ScriptedModel, shown

ROOM = SHORT_REPLY + THINKING


def rated(
    *replies: ChatReply, order: tuple[int, ...] = (0, 1), sample: int = 0
) -> tuple[Verdict, ScriptedModel]:
    model = ScriptedModel(list(replies))
    rater = choosing_rater(model)
    texts = ("tea", "coffee", "milk")[: len(order)]
    return asyncio.run(rater.rate(shown(texts, order=order, sample=sample), FIT)), model


def test_letter_scores_become_a_margin_in_product_order() -> None:
    """The model likes whatever stands first: each order says so, and the margins cancel."""
    scores = {"A": -0.5, "B": -2.0}
    plain, model = rated(ChatReply("B", letter_scores=scores), order=(0, 1))
    turned, _ = rated(ChatReply("B", letter_scores=scores), order=(1, 0))
    assert (plain.label, plain.value) == ("0", 1.5)
    assert (turned.label, turned.value) == ("1", -1.5)
    assert plain.letter_scores == scores
    (asked,) = model.asked
    assert asked.letters == ("A", "B")
    assert (asked.max_tokens, asked.temperature, asked.seed) == (SHORT_REPLY, 0.0, None)


def test_equal_letter_scores_are_a_tie() -> None:
    verdict, _ = rated(ChatReply("A", letter_scores={"A": -0.7, "B": -0.7}))
    assert (verdict.status, verdict.label, verdict.value) == (Status.OK, "tie", 0.0)


def test_three_answers_are_read_in_product_order() -> None:
    verdict, _ = rated(ChatReply("", letter_scores={"A": -3.0, "B": -0.5, "C": -1.0}), order=(2, 1, 0))
    assert (verdict.label, verdict.value) == ("1", -0.5), "product 0 stands last: -1.0 against -0.5"


def test_a_missing_letter_is_no_score_and_the_text_is_read() -> None:
    verdict, model = rated(ChatReply("B", letter_scores={"A": -0.1}))
    assert (verdict.status, verdict.label, verdict.value) == (Status.OK, "1", -1.0)
    assert verdict.letter_scores is None
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
    assert (verdict.status, verdict.label, verdict.value) == (Status.OK, label, margin)
    assert (verdict.reply, verdict.calls, len(model.asked)) == (text, 1, 1)


def test_a_reply_without_a_letter_is_asked_again_once() -> None:
    verdict, model = rated(ChatReply("Both are nice."), ChatReply("B"), order=(1, 0))
    assert (verdict.status, verdict.label, verdict.calls) == (Status.OK, "0", 2)
    assert verdict.reply == "B"
    assert "Both are nice." in (verdict.detail or "")
    first, second = model.asked
    assert second.messages[: len(first.messages)] == first.messages
    assert second.messages[-1]["content"].startswith("Reply with exactly one letter")


def test_two_replies_without_a_letter_are_unparsed_and_no_third_is_wanted() -> None:
    verdict, model = rated(ChatReply("Both."), ChatReply("Really, both."))
    assert (verdict.status, verdict.label, verdict.value) == (Status.UNPARSED, None, None)
    assert (verdict.reply, len(model.asked)) == ("Really, both.", 2)


def test_a_refusal_is_not_argued_with_and_is_no_score() -> None:
    verdict, model = rated(ChatReply("I cannot judge people.", refused=True))
    assert (verdict.status, verdict.label, verdict.value) == (Status.REFUSED, None, None)
    assert len(model.asked) == 1


@pytest.mark.parametrize(
    "cut_off",
    [
        ChatReply("", reasoning="The person likes", cut=True, tokens_reasoning=16),
        ChatReply("", cut=True, tokens_reasoning=16),  # endpoints that count the thoughts and hide them
    ],
)
def test_a_model_that_starts_to_reason_gets_room_and_is_remembered(cut_off: ChatReply) -> None:
    model = ScriptedModel([cut_off, ChatReply("B", reasoning="… tea."), ChatReply("A", reasoning="hm")])
    rater = choosing_rater(model)
    verdict = asyncio.run(rater.rate(shown(), FIT))
    assert (verdict.status, verdict.label, verdict.reasoning) == (Status.OK, "1", "… tea.")
    assert verdict.calls == 2
    later = asyncio.run(rater.rate(shown(), FIT))
    assert (later.label, later.calls) == ("0", 1)
    assert [request.max_tokens for request in model.asked] == [SHORT_REPLY, ROOM, ROOM]
    assert [request.letters for request in model.asked] == [("A", "B"), (), ()]
    assert model.asked[1].messages == model.asked[0].messages


def test_a_model_with_an_effort_reasons_from_the_start() -> None:
    model = ScriptedModel([ChatReply("A")], settings={"kind": "scripted", "effort": "low"})
    asyncio.run(choosing_rater(model).rate(shown(), FIT))
    assert (model.asked[0].max_tokens, model.asked[0].letters) == (ROOM, ())


def test_reasoning_that_fills_all_its_room_is_unparsed_without_another_long_call() -> None:
    model = ScriptedModel(
        [ChatReply("", reasoning="and on", cut=True)], settings={"kind": "scripted", "effort": "high"}
    )
    verdict = asyncio.run(choosing_rater(model).rate(shown(), FIT))
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
        return choosing_rater(model, question).record.fingerprint

    base = fingerprint()
    assert fingerprint(name="other") == base
    assert (
        len(
            {
                base,
                fingerprint(question=ChoiceQuestion(task="Choose.")),
                fingerprint(effort="low"),
                fingerprint(model="x"),
            }
        )
        == 4
    )


def test_closing_the_rater_closes_the_model() -> None:
    model = ScriptedModel([])
    asyncio.run(choosing_rater(model).close())
    assert model.closed
