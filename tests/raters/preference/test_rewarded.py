"""A reward model as a rater of preferences: a real tiny one, and a served one."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from personafit.items.preference import Compared
from personafit.raters.preference import make_preference_rater
from personafit.raters.rater import Verdict
from tests.preference_world import pair
from tests.raters.reward.scoring_server import ScoringServer


def judged(spec: str, shown: Compared) -> Verdict:
    async def judge() -> Verdict:
        rater = make_preference_rater(spec)
        try:
            return await rater.rate(shown)
        finally:
            await rater.close()

    return asyncio.run(judge())


def test_weights_give_a_difference_for_each_attribute(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from tests.raters.reward.tiny import save_reward

    shown = replace(pair(), attributes=(("one", "likes tea"), ("two", "likes coffee")))
    verdict = judged(f"reward:{save_reward(tmp_path / 'weights')}", shown)
    assert [part.target for part in verdict.parts] == ["one", "two"]
    for part in verdict.parts:
        assert part.value == pytest.approx(part.scores[1] - part.scores[0])
    assert verdict.parts[0].value != verdict.parts[1].value  # the attribute reaches the model


def test_a_served_one_counts_the_attribute() -> None:
    shown = replace(
        pair(), answers=("water", "tea for you"), attributes=(("a", "likes tea"), ("b", "likes maps"))
    )
    with ScoringServer("classify") as server:
        verdict = judged(server.spec(), shown)
    with_tea, without = (part.value for part in verdict.parts)
    assert (with_tea, without) == (1006.0, 6.0)


def test_every_attribute_is_on_the_bill() -> None:
    shown = replace(pair(), attributes=(("a", "likes tea"), ("b", "likes maps")))
    with ScoringServer("classify") as server:
        whole = judged(f"{server.spec()},price=3", shown)
        one = judged(f"{server.spec()},price=3", replace(shown, attributes=shown.attributes[:1]))
    assert whole.cost > one.cost > 0
    assert whole.calls == 2 * one.calls
