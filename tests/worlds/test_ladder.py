"""What can be reached with what knowledge: the ladder of scripted agents, on the shipped world and on PersonaLens's shared users."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from statistics import fmean

import numpy as np
import orjson
import pytest
from numpy.typing import NDArray

from personafit.benchmarks.world import open_world
from personafit.statistics import Estimate, cluster_mean
from personafit.worlds import AGENTS, EpisodeScore, Request, World, play, score, shipped, told_to
from personafit.worlds.catalogue import Offer
from personafit.worlds.tools import PAGE

SHARED = Path(__file__).parents[3] / "shared" / "data" / "personalens"
NAMES = ["shipped", "personalens"]


@cache
def world_of(name: str) -> World:
    if name == "shipped":
        return shipped()
    if not SHARED.is_dir():
        pytest.skip(f"PersonaLens's data is not in {SHARED}.")
    return open_world(SHARED).world


@cache
def scores_of(name: str, agent: str) -> list[EpisodeScore]:
    world = world_of(name)
    return [
        score(play(world, request, agent), told_to(agent, request)) for request in world.requests.values()
    ]


def regret(name: str, agent: str) -> Estimate:
    """The mean regret, clustered by person and by pair."""
    return clustered(name, [each.regret for each in scores_of(name, agent)])


def gap(name: str, better: str, worse: str) -> Estimate:
    """The mean difference in regret, paired by request."""
    pairs = zip(scores_of(name, better), scores_of(name, worse), strict=True)
    return clustered(name, [two.regret - one.regret for one, two in pairs])


def clustered(name: str, values: list[float]) -> Estimate:
    requests = world_of(name).requests.values()
    return cluster_mean(values, [one.resident.id for one in requests], [one.pair for one in requests])


def assert_parted(better: Estimate, worse: Estimate) -> None:
    assert better.high is not None
    assert worse.low is not None
    assert better.high < worse.low


@pytest.mark.parametrize("name", NAMES)
def test_knowing_more_helps_and_knowing_somebody_else_does_not(name: str) -> None:
    means = {agent: regret(name, agent).value or 0.0 for agent in AGENTS}
    assert means["oracle"] == 0
    assert means["oracle"] <= means["asks-everything"] <= means["profile+memories"]
    for better, worse in pairwise(["profile+memories", "profile", "majority", "wrong-person"]):
        assert (gap(name, better, worse).low or 0.0) > 0
        assert_parted(regret(name, better), regret(name, worse))
    assert_parted(regret(name, "majority"), regret(name, "random-valid"))
    assert (regret(name, "majority").low or 0) >= 0.5
    for agent in ("wrong-person", "random-valid", "first-shown"):
        assert means[agent] == pytest.approx(1, abs=0.15), agent


@pytest.mark.parametrize("name", NAMES)
def test_scripts_make_no_mistakes_that_they_are_not_meant_to_make(name: str) -> None:
    for agent in AGENTS:
        for each in scores_of(name, agent):
            assert each.committed
            assert (each.malformed, each.impossible, each.collateral, each.leaks, each.spoilt) == (
                0,
                0,
                0,
                0,
                False,
            )
            assert each.stop == "user"
    for agent in ("oracle", "asks-everything", "random-valid"):
        assert all(each.success for each in scores_of(name, agent))
    assert all(each.unasked_needs == 0 for each in scores_of(name, "asks-everything"))
    assert any(not each.needs_met and each.unasked_needs for each in scores_of("shipped", "profile"))


@pytest.mark.parametrize("name", NAMES)
def test_both_people_of_a_pair_get_the_same_offers_and_different_best_choices(name: str) -> None:
    pairs: dict[str, list[Request]] = {}
    for request in world_of(name).requests.values():
        pairs.setdefault(request.pair, []).append(request)
    for one, other in pairs.values():
        assert (one.text, one.offers, one.goals) == (other.text, other.offers, other.goals)
        assert one.resident is other.other
        assert not (one.own.best & other.own.best).any()


@pytest.mark.parametrize("name", NAMES)
def test_at_least_two_choices_are_near_the_best(name: str) -> None:
    for request in world_of(name).requests.values():
        own, (top, mean) = request.own, request.yardstick
        assert (own.valid & (top - own.utility <= 0.25 * (top - mean) + 1e-9)).sum() >= 2
        assert top - mean >= (0.05 if request.level == "easy" else 0.2)


@pytest.mark.parametrize("name", NAMES)
def test_no_surface_cue_finds_the_best(name: str) -> None:
    """Name, order, price, length and frequency find one of the best offers at most 1.3 times as often as chance."""
    hits: dict[str, float] = {}
    chance = 0.0
    for request in world_of(name).requests.values():
        top = request.own.best
        for axis, offers in enumerate(request.by_goal):
            among = top if top.ndim == 1 else np.asarray(top.any(axis=1 - axis))
            chance += among.mean()
            for cue, values in cues(request, offers).items():
                for side, end in ((f"least {cue}", values.min()), (f"most {cue}", values.max())):
                    hits[side] = hits.get(side, 0) + among[values == end].mean()
    assert {side: hit / chance for side, hit in hits.items() if hit > 1.3 * chance} == {}


def cues(request: Request, offers: Sequence[Offer]) -> dict[str, NDArray[np.float64]]:
    domain = request.domains[offers[0].domain]
    shown = [orjson.dumps(offer.shown(domain, request.language)).decode() for offer in offers]
    ranks = {name: rank for rank, name in enumerate(sorted(offer.name for offer in offers))}
    values = [
        [domain.attributes[name].ids.index(value) for name, value in one.values.items()] for one in offers
    ]
    needs = Counter(need for offer in offers for need in offer.suits)
    found = {
        "order": range(len(offers)),
        "place on its page": [place % PAGE for place in range(len(offers))],
        "price": [offer.price for offer in offers],
        "name": [ranks[offer.name] for offer in offers],
        "name length": [len(offer.name) for offer in offers],
        "length": map(len, shown),
        "hour": [offer.hour or 0 for offer in offers],
        "place of its values": map(sum, values),
        "needs in common": [sum(needs[need] for need in offer.suits) for offer in offers],
        "values in common": in_common(offers),
    }
    return {cue: np.array([*each], dtype=np.float64) for cue, each in found.items()}


def in_common(offers: Sequence[Offer]) -> list[int]:
    """How many offers share each offer's values."""
    counts = Counter(value for offer in offers for value in offer.values.items())
    return [sum(counts[value] for value in offer.values.items()) for offer in offers]


def resemblance(offers: Sequence[Offer]) -> list[int]:
    """How many offers differ from each in one value at most."""
    return [
        sum(len(one.values.items() & other.values.items()) >= len(one.values) - 1 for other in offers)
        for one in offers
    ]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("cue", [in_common, resemblance])
def test_who_looks_at_the_offers_alone_chooses_worse_than_the_majority(
    name: str, cue: Callable[[Sequence[Offer]], list[int]]
) -> None:
    """What most offers have in common and how they resemble each other is the same for people who do not exist."""
    regrets = []
    for request in world_of(name).requests.values():
        looks = np.array(cue(request.by_goal[0]))
        for offers in request.by_goal[1:]:
            looks = np.add.outer(looks, cue(offers))
        places = np.argwhere((looks == looks[request.own.fits].max()) & request.own.fits)
        best, mean = request.yardstick
        regrets.append(
            fmean(
                (best - request.own.utility[place]) / (best - mean) if request.own.valid[place] else 1.0
                for place in map(tuple, places)
            )
        )
    found = clustered(name, regrets)
    assert_parted(regret(name, "majority"), found)
    assert (found.value or 0.0) > 0.85


def test_the_shipped_world_is_as_large_as_its_card_says() -> None:
    world = shipped()
    counts: dict[str, dict[str, int]] = {}
    for request in world.requests.values():
        levels = counts.setdefault(request.resident.id, {"easy": 0, "medium": 0, "hard": 0})
        levels[request.level] += 1
    assert len(world.residents) == len(counts) == 40
    assert min(sum(levels.values()) for levels in counts.values()) >= 10
    assert len(world.domains) == 8
    for domain in world.domains.values():
        assert all(len(set(texts)) >= 5 for texts in domain.requests.values())
        assert domain.requests.keys() == {"en", "zh"}
    for level in ("easy", "medium", "hard"):
        assert sum(levels[level] for levels in counts.values()) > 100
    shared = [request for request in world.requests.values() if request.calendar]
    assert shared
    assert all(("the same day" in one.text) or ("同一天" in one.text) for one in shared)
    assert any(request.budget for request in world.requests.values())
    assert any(request.tell for request in world.requests.values())


def test_personalens_gives_fourteen_domains() -> None:
    assert len(world_of("personalens").domains) == 14
