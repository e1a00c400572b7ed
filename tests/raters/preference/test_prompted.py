"""Prompted judges of preferences and detectors of mention: re-asks, missing targets, refusals."""

import asyncio

from personafit.models import ChatReply
from personafit.raters.preference import naming_rater, preferring_rater
from personafit.raters.rater import Verdict
from personafit.store import Status
from tests.preference_world import pair
from tests.scripted import ScriptedModel


def _judged(*replies: ChatReply, order: tuple[int, int] = (0, 1)) -> tuple[Verdict, ScriptedModel]:
    model = ScriptedModel(list(replies))
    return asyncio.run(preferring_rater(model).rate(pair(order=order))), model


def test_all_attributes_are_asked_about_at_once_and_turned() -> None:
    verdict, model = _judged(ChatReply('{"1": 5, "2": 3}', tokens_in=7), order=(1, 0))
    assert [(part.target, part.label, part.value) for part in verdict.parts] == [
        ("a0", "1", 1.0),
        ("a1", "3", 3.0),
    ]
    assert len(model.asked) == 1
    assert verdict.status is Status.OK
    assert not verdict.answers_whole
    assert model.asked[0].key == "item-1|preference|10|0"
    assert verdict.tokens_in == 7


def test_a_missing_attribute_is_asked_for_once_more_and_the_first_reply_still_counts() -> None:
    verdict, model = _judged(ChatReply('{"1": 5}'), ChatReply('{"2": 2}'))
    assert [part.label for part in verdict.parts] == ["5", "2"]
    assert len(model.asked) == 2
    assert verdict.calls == 2
    assert '"1", "2"' in model.asked[1].messages[-1]["content"]


def test_what_is_still_missing_is_unparsed_and_the_rest_counts() -> None:
    verdict, _ = _judged(ChatReply('{"1": 5}'), ChatReply("Hard to say."))
    assert [(part.label, part.status) for part in verdict.parts] == [("5", None), (None, Status.UNPARSED)]
    assert verdict.status is Status.OK


def test_nothing_readable_is_unparsed_as_a_whole() -> None:
    verdict, _ = _judged(ChatReply("Both."), ChatReply("Both are fine."))
    assert verdict.status is Status.UNPARSED
    assert {part.status for part in verdict.parts} == {Status.UNPARSED}


def test_a_refusal_is_not_asked_again() -> None:
    verdict, model = _judged(ChatReply("", refused=True))
    assert verdict.status is Status.REFUSED
    assert len(model.asked) == 1
    assert all(part.status is Status.REFUSED and part.label is None for part in verdict.parts)


def test_a_detector_sees_the_personalized_answer_only() -> None:
    model = ScriptedModel([ChatReply("[1]")])
    verdict = asyncio.run(naming_rater(model).rate(pair()))
    assert [(part.label, part.value) for part in verdict.parts] == [("yes", 1.0), ("no", 0.0)]
    assert "fry tofu" in model.asked[0].messages[0]["content"]
    assert "Fry an egg" not in model.asked[0].messages[0]["content"]


def test_a_detector_that_names_what_is_not_there_is_asked_again() -> None:
    model = ScriptedModel([ChatReply("[7]"), ChatReply("[]")])
    verdict = asyncio.run(naming_rater(model).rate(pair()))
    assert [part.label for part in verdict.parts] == ["no", "no"]
    assert len(model.asked) == 2
