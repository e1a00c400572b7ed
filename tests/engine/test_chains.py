"""Chains of jobs: each link follows from the last, calls count against their own endpoint, and resuming starts nowhere else."""

import asyncio
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from personafit import Status, Store
from personafit.engine import Job, Lane, RetryPolicy, Runner, Silence, Summary
from personafit.models import Unanswerable, Unusable
from personafit.models.purse import Payment
from personafit.store import Ask, Outcome

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
            try:
                async with Payment(0.01) as payment:
                    await asyncio.sleep(0.001)
                    payment.pay(0.01)
            finally:
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
            "chains", "even", jobs, self.chains, self.most["even"], chains=at_once,
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


def test_chains_that_wait_for_their_turn_do_not_count_on_the_same_money(store: Store) -> None:
    world = World(64, {"even": 16, "odd": 16})
    summary = carry_out(store, world, at_once=64, budget=1.0)
    assert 0.9 < summary.cost <= 1.0 + 1e-9


def test_the_money_of_chains_that_were_cut_off_is_there_for_others(store: Store) -> None:
    world, cut_off = World(8, {"even": 8, "odd": 1}), asyncio.Event()

    async def unusable(_generation: int) -> Outcome:
        while world.done.total() < 8:  # until all the other chains wait for the one slot
            await asyncio.sleep(0.001)
        cut_off.set()
        await asyncio.sleep(0.02)
        raise Unusable("no such model.")

    def after(job: Job) -> Job:
        async def work(generation: int) -> Outcome:
            await cut_off.wait()
            return await job.work(generation)

        return replace(job, work=work, then=None, endpoint=None)

    lane = world.lane(8)
    second = replace(world.job(0, 1), work=unusable)
    lane.jobs = [replace(world.job(n), then=lambda _: second) for n in range(9)]  # one more than at once
    others = Lane("others", "elsewhere", [after(world.job(n)) for n in range(9, 17)], 8, 1)
    record = store.begin_run("chains", "none", {}, 16)
    runner = Runner(store, record.id, Silence(), budget=0.165)
    summary = asyncio.run(asyncio.wait_for(runner.run([lane, others]), 30))
    assert {one.name: one.stopped for one in summary.lanes} == {"chains": "no such model.", "others": None}
    assert world.done.total() == 16


def test_chains_under_way_are_bounded(store: Store) -> None:
    world = World(30, {"even": 30, "odd": 30})
    carry_out(store, world, at_once=3)
    assert max(world.busiest.values()) <= 3
