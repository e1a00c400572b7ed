"""A part that was picked is named with what it leaves out; how seldom a random one is suspected, `test_coverage` simulates."""

import numpy as np

from personafit.statistics.ppi import imbalances

RNG = np.random.default_rng(0)
TIER = np.repeat(["easy", "medium", "hard"], 200)
PERSON = np.tile(np.arange(60), 10)
SCORE = (RNG.random(600) < 0.7).astype(float)


def drawn(items: np.ndarray, count: int, seed: int = 0) -> np.ndarray:
    part = np.zeros(600, dtype=bool)
    part[np.random.default_rng(seed).choice(items, count, replace=False)] = True
    return part


def test_labels_of_one_tier_are_noticed_and_what_is_left_out_is_named() -> None:
    for seed in range(20):
        part = drawn(np.flatnonzero(TIER == "hard"), 30, seed)
        found = {
            one.factor: one for one in imbalances(part, {"tier": TIER, "person": PERSON}, {"machine": SCORE})
        }
        assert found["tier"].present == ("hard",)
        assert found["tier"].absent == ("easy", "medium")
        assert found["tier"].p_value < 0.01


def test_a_part_picked_by_the_machines_score_or_of_few_people_is_noticed() -> None:
    picked = imbalances(drawn(np.flatnonzero(SCORE == 1), 60), {"tier": TIER}, {"machine": SCORE})
    assert [one.factor for one in picked] == ["machine"]
    few = imbalances(drawn(np.flatnonzero(PERSON < 8), 60), {"tier": TIER, "person": PERSON}, {})
    assert [one.factor for one in few] == ["person"]
    assert len(few[0].present) == 8


def test_nothing_is_tested_of_everything_or_nothing_or_one_category() -> None:
    assert imbalances(np.ones(600, dtype=bool), {"tier": TIER}, {}) == []
    assert imbalances(np.zeros(600, dtype=bool), {"tier": TIER}, {}) == []
    assert imbalances(drawn(np.arange(300), 50), {"tier": np.full(600, "all")}, {}) == []
