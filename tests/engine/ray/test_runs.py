"""Whole runs with models in workers: the same rows as locally, whatever becomes of a worker or of its node."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from personafit import Store
from personafit.benchmarks import RunConfig
from personafit.engine.ray import working_on
from personafit.store import tables as t
from tests.engine.ray.commands import at_work
from tests.engine.ray.disturbed import DisturbedStore
from tests.faults.world import write_benchmark
from tests.helpers import run_cli
from tests.raters.reward.tiny import save_chat, save_reward
from tests.scripted import run
from tests.store.databases import NoPostgres, create_database, postgres_server

ITEMS = 150
LARGE = 1000  # scored in seconds, enough for a hand to come in between
CLOSE = 1e-5  # sums in full precision, in batches of another make


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A benchmark, two tiny models, and what they answer without a cluster."""
    folder = tmp_path_factory.mktemp("world")
    write_benchmark(folder / "world", ITEMS, 20)
    save_reward(folder / "reward")
    save_chat(folder / "chat")
    with Store(folder / "local.db") as store:
        run(store, config(folder))
    return folder


def config(folder: Path) -> RunConfig:
    """Both models on all items, told of the person; one of them in a blend too."""
    reward = f"reward:{folder / 'reward'}"
    return RunConfig(
        str(folder / "world"),
        raters=[reward, f"hf:{folder / 'chat'}", f"blend:fitted:general-zh+{reward}"],
        contexts=["profile"],
    )


def answers(url: str | Path) -> list[tuple[Any, ...]]:
    """Every ask of a store with its judgments, however often it is there."""
    ask, judgment = t.asks.c, t.judgments.c
    query = select(
        ask.job,
        ask.generation,
        ask.rater,
        ask.item,
        ask.order,
        ask.status,
        ask.tokens_in,
        judgment.label,
        judgment.value,
    ).select_from(t.asks.outerjoin(t.judgments, judgment.ask == ask.id))
    with Store(url) as store:
        return sorted(store.frame(query).rows())


def same(found: list[tuple[Any, ...]], expected: list[tuple[Any, ...]]) -> None:
    """Row by row; margins of reward models to the last digits of their precision."""
    assert [row[:-1] for row in found] == [row[:-1] for row in expected]
    assert [row[-1] for row in found] == pytest.approx([row[-1] for row in expected], abs=CLOSE)


def run_on(cluster: Any, url: str | Path, config: RunConfig, disturb: Callable[[], None]) -> None:
    """The run with its models in the cluster, disturbed when some answers of the chat model are stored."""
    store = DisturbedStore(url, "llm", disturb)
    with store, working_on(f"ray://{cluster.address}"):
        finished = run(store, config)
    assert [lane.stopped for lane in finished.summary.lanes if lane.stopped] == []
    assert not finished.summary.failed
    assert not finished.summary.interrupted
    assert store.stored_before is not None
    assert store.stored_before < 2 * ITEMS, "the disturbance came too late to disturb anything"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of a PostgreSQL server."""
    try:
        with postgres_server() as address:
            yield address
    except NoPostgres as reason:
        pytest.skip(f"SKIPPED: {reason}")


@pytest.mark.slow
def test_a_reward_rater_as_a_command_into_postgresql_though_its_workers_are_killed(
    world: Path, cluster: Any, second_node: Any, workers_of: Callable[[Any], list[int]], server: str
) -> None:
    import psycopg

    write_benchmark(world / "large", LARGE, 100)
    database = create_database(server, "reward")
    command = ("run", "large", "--rater", "reward:reward", "--context", "profile", "--store")
    scored = "SELECT count(*) FROM asks JOIN raters ON fingerprint = rater WHERE raters.kind = 'reward'"

    def stored() -> int:
        with psycopg.connect(database) as connection:
            try:
                return int((connection.execute(scored).fetchone() or [0])[0])
            except psycopg.errors.UndefinedTable:  # they are being made
                return 0

    with at_work(*command, database, "--json", "--backend", f"ray://{cluster.address}", cwd=world) as run:
        run.wait_until(lambda: stored() > 0)
        killed = workers_of(second_node)
        for worker in killed:
            os.kill(worker, signal.SIGKILL)
        assert killed
        assert stored() < LARGE, "they were killed too late"
        assert run.end() == []
        assert json.loads(run.printed)["results"]
    assert stored() == LARGE
    run_cli(*command, "large.db", cwd=world)
    same(answers(database), answers(world / "large.db"))


@pytest.mark.slow
def test_the_same_rows_as_locally_though_a_node_is_killed(
    world: Path, cluster: Any, second_node: Any, tmp_path: Path
) -> None:
    run_on(
        cluster,
        tmp_path / "store.db",
        config(world),
        lambda: cluster.remove_node(second_node, allow_graceful=False),
    )
    same(answers(tmp_path / "store.db"), answers(world / "local.db"))


@pytest.mark.slow
def test_a_world_is_played_in_a_cluster_as_it_is_locally(world: Path, cluster: Any, tmp_path: Path) -> None:
    played = RunConfig("world", systems=[f"hf:{world / 'chat'},tools=text"], limit=6)
    with Store(tmp_path / "local.db") as store:
        run(store, played)
    with Store(tmp_path / "ray.db") as store, working_on(f"ray://{cluster.address}"):
        finished = run(store, played)
    assert [lane.stopped for lane in finished.summary.lanes if lane.stopped] == []
    found, expected = (answers(tmp_path / name) for name in ("ray.db", "local.db"))
    assert found
    same(found, expected)
