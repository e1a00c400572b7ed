"""Chains of jobs: each link follows from the last, calls count against their own endpoint, and resuming starts nowhere else."""

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from personafit.engine import Job, Lane, Runner, Silence, Summary
from personafit.engine.retries import RetryPolicy
from personafit.models import Unanswerable
from personafit.store import Ask, Outcome, Status, Store

LINKS = 5


class World:
    """Chains of numbered links at two endpoints, and what happened to them."""

    def __init__(self, chains: int, most: dict[str, int]) -> None:
        self.chains = chains
        self.most = most
        self.done: Counter[str] = Counter()
        self.busy: Counter[str] = Counter()
        self.busiest: Counter[str] = Counter()
        self.failing: set[str] = set()

    def job(self, chain: int, link: int = 0) -> Job:
        """One link; even and odd ones go to different endpoints."""
        key, endpoint = f"{chain}.{link}", "even" if link % 2 == 0 else "odd"

        def ask(status: Status, generation: int, detail: str | None = None) -> Ask:
            unique = f"{key}#{generation}" if status == Status.OK else f"{key}!{self.done.total()}"
            return Ask(
                id=unique, job=key, item=str(chain), question="link", rater="r", status=status, reply=str(link),
                detail=detail, cost=0.01, generation=generation,
            )  # fmt: skip

        async def work(generation: int) -> Outcome:
            self.busy[endpoint] += 1
            self.busiest[endpoint] = max(self.busiest[endpoint], self.busy[endpoint])
            await asyncio.sleep(0.001)
            self.busy[endpoint] -= 1
            if key in self.failing:
                raise Unanswerable("as told.")
            self.done[key] += 1
            return Outcome(ask=ask(Status.OK, generation))

        def then(outcome: Outcome) -> Job | None:
            assert outcome.ask.reply == str(link)
            return self.job(chain, link + 1) if link + 1 < LINKS else None

        return Job(key, work, lambda message, _: Outcome(ask=ask(Status.FAILED, 0, message)), then, endpoint)

    def lane(self, at_once: int) -> Lane:
        """All chains as a lane."""
        jobs = (self.job(number) for number in range(self.chains))
        return Lane(
            "chains", "even", jobs, self.chains, self.most["even"], 0.01, chains=at_once,
            endpoints={"odd": self.most["odd"]},
        )  # fmt: skip


def carry_out(store: Store, world: World, at_once: int = 8, budget: float | None = None) -> Summary:
    """Run the world's lane once."""
    run = store.begin_run("chains", "none", {}, world.chains)
    runner = Runner(store, run.id, Silence(), budget=budget, policy=RetryPolicy(first_pause=0.001))
    return asyncio.run(runner.run([world.lane(at_once)]))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store.db")


def test_every_link_is_done_once_and_a_chain_counts_once(store: Store) -> None:
    world = World(20, {"even": 4, "odd": 2})
    summary = carry_out(store, world)
    assert world.done == {f"{chain}.{link}": 1 for chain in range(20) for link in range(LINKS)}
    (lane,) = summary.lanes
    assert (lane.finished, lane.failed, lane.reused) == (20, 0, 0)
    assert world.busiest["even"] <= 4
    assert world.busiest["odd"] <= 2
    again = carry_out(store, world)
    assert again.lanes[0].reused == 20
    assert set(world.done.values()) == {1}


def test_a_failed_link_ends_its_chain_only_and_is_where_the_next_run_begins(store: Store) -> None:
    world = World(4, {"even": 4, "odd": 4})
    world.failing = {"1.2", "3.1"}
    summary = carry_out(store, world)
    assert (summary.lanes[0].finished, summary.lanes[0].failed) == (2, 2)
    assert "1.3" not in world.done
    world.failing.clear()
    summary = carry_out(store, world)
    assert (summary.lanes[0].reused, summary.lanes[0].finished) == (2, 2)
    assert world.done == {f"{chain}.{link}": 1 for chain in range(4) for link in range(LINKS)}


def test_an_endpoint_that_only_fails_ends_the_lane_though_the_other_answers(store: Store) -> None:
    world = World(40, {"even": 2, "odd": 2})
    world.failing = {f"{chain}.1" for chain in range(40)}
    (lane,) = carry_out(store, world, at_once=2).lanes
    assert lane.stopped is not None
    assert lane.stopped.startswith("10 asks in a row failed")
    assert world.done.total() < 40


def test_a_budget_stops_chains_between_links(store: Store) -> None:
    world = World(6, {"even": 6, "odd": 6})
    (lane,) = carry_out(store, world, budget=0.125).lanes
    assert lane.stopped is not None
    assert world.done.total() == 12
    carry_out(store, world, budget=1.0)
    assert world.done == {f"{chain}.{link}": 1 for chain in range(6) for link in range(LINKS)}


def test_chains_under_way_are_bounded(store: Store) -> None:
    world = World(30, {"even": 30, "odd": 30})
    carry_out(store, world, at_once=3)
    assert max(world.busiest.values()) <= 3
