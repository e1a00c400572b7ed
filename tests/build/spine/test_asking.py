"""What a maker takes for an answer: one option and no other; and room for models that think before they speak."""

import asyncio

import pytest

from personafit import ChatReply, Status
from personafit.build import PromptTemplate, Target, Unfit
from personafit.build.asking import Maker, chosen
from personafit.store import Outcome
from tests.scripted import ScriptedModel

PROMPT = PromptTemplate("test", 1, {"en": "Which?"})


def worked(model: ScriptedModel, wanted: Target) -> Outcome:
    async def work() -> Outcome:
        return await Maker("step", model, 0).job(wanted).work(0)

    return asyncio.run(work())


@pytest.mark.parametrize(
    "reply",
    [
        "A",
        "a",
        "(A)",
        "**A**",
        "A) somebody one could meet",
        "A: yes",
        "A，因为合适",
        "A。",
        "A\nB is too long.",
    ],
)
def test_one_option(reply: str) -> None:
    assert chosen("ABC")(reply) == "A"


@pytest.mark.parametrize(
    "reply",
    [
        "A friend could ask that",
        "a nurse",
        "A or B",
        "A/B",
        "A and C",
        "A 和 B 都可以",
        "A、B",
        "A. B",
        "AB",
        "",
        "D",
    ],
)
def test_no_option_or_several(reply: str) -> None:
    with pytest.raises(Unfit, match="one letter of A, B, C"):
        chosen("ABC")(reply)


def test_a_model_that_thinks_first_is_given_room() -> None:
    thought = ChatReply("", reasoning="Hm.", cut=True, tokens_out=8, cost=0.5)
    model = ScriptedModel([thought, ChatReply("B", tokens_out=60, cost=1.0)])
    wanted = Target(
        "k", PROMPT, "en", {}, kind="verdict", read=chosen("AB"), letters=("A", "B"), max_tokens=8
    )
    outcome = worked(model, wanted)
    assert outcome.ask.status is Status.OK
    assert [product.text for product in outcome.products] == ["B"]
    assert (outcome.ask.attempts, outcome.ask.tokens_out, outcome.ask.cost) == (2, 68, 1.5)
    assert model.asked[0].max_tokens == 8 < 4096 < model.asked[1].max_tokens
    assert model.asked[0].messages == model.asked[1].messages


def test_a_model_that_is_told_to_think_has_room_at_once() -> None:
    model = ScriptedModel([ChatReply("A")], settings={"kind": "scripted", "effort": "high"})
    wanted = Target("k", PROMPT, "en", {}, kind="verdict", read=chosen("AB"), max_tokens=8)
    worked(model, wanted)
    assert [request.max_tokens for request in model.asked] == [8 + 4096]
