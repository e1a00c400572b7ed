"""Dialogues whose speakers and judges are in workers: turn by turn the same as locally."""

import os
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from personafit import Store
from personafit.benchmarks import RunConfig
from personafit.engine.ray import place, working_on
from personafit.engine.ray.pipeline import pipeline
from personafit.store import Outcome
from personafit.store import tables as t
from tests.engine.ray.disturbed import DisturbedStore
from tests.scripted import run
from tests.tiny_models import save_tiny_gguf

DIALOGUES = 16  # as many as two workers get a pipeline for


def judge(messages: Sequence[Any]) -> str:
    """Says nothing that can be used, and takes no time."""
    return "?"


def said(store: Store) -> list[tuple[Any, ...]]:
    """Every turn and verdict with all that follows from the model, however often it is there."""
    ask = t.asks.c
    columns = (
        ask.id,
        ask.job,
        ask.question,
        ask.status,
        ask.reply,
        ask.tokens_in,
        ask.tokens_out,
        ask.attempts,
    )
    return sorted(store.frame(select(*columns)).rows())


@pytest.mark.slow
def test_the_same_turns_as_locally(cluster: Any, second_node: Any, tmp_path: Path) -> None:
    # One thread, as in a worker, and no prompt cache: with either, sums are made in another order.
    model = f"embedded:{save_tiny_gguf(tmp_path / 'tiny.gguf')},cache=off,threads=1"
    config = RunConfig(
        "personalens",
        data=Path("starter"),
        systems=[model],
        user=model,
        raters=[model],
        system_contexts=["none"],
        limit=2,
    )
    with Store(tmp_path / "local.db") as store:
        run(store, config)
        expected = said(store)
    with Store(tmp_path / "ray.db") as store, working_on(f"ray://{cluster.address}"):
        run(store, config)
        found = said(store)
    assert found == expected
    assert len({row[0] for row in found if row[2] == "assistant turn"}) >= 2


@pytest.mark.slow
def test_a_pipeline_of_dialogues_loses_its_workers_and_goes_on_from_the_last_stored_turns(
    cluster: Any,
    second_node: Any,
    workers_of: Callable[[Any], list[int]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    system, user = (
        f"embedded:{save_tiny_gguf(tmp_path / name)},cache=off,threads=1" for name in ("one.gguf", "two.gguf")
    )
    config = RunConfig(
        "personalens",
        data=Path("starter"),
        systems=[system],
        user=user,
        raters=[f"python:{__name__}:judge"],
        system_contexts=["none"],
        limit=DIALOGUES,
    )
    with Store(tmp_path / "local.db") as store:
        run(store, config)
        expected = said(store)
    came: dict[int, list[Any]] = {}

    def signal_workers(number: signal.Signals) -> None:
        for node in cluster.worker_nodes:
            for worker in workers_of(node):
                os.kill(worker, number)

    async def watched(jobs: Sequence[Any], *more: Any) -> AsyncIterator[tuple[int, Any]]:
        came.update((number, []) for number in range(len(jobs)))
        stopped = False
        async for number, outcome in pipeline(jobs, *more):
            if not stopped:  # or a fast worker ends the dialogue before its first turn is stored
                signal_workers(signal.SIGSTOP)
                stopped = True
            came[number].append(outcome)
            yield number, outcome

    monkeypatch.setattr(place, "pipeline", watched)
    store = DisturbedStore(tmp_path / "ray.db", "user", lambda: signal_workers(signal.SIGKILL))
    with store, working_on(f"ray://{cluster.address}"):
        finished = run(store, config)
        found = said(store)
    assert not finished.summary.failed
    assert len(came) == DIALOGUES
    assert any(ended(outcomes) for outcomes in came.values()), "the pipeline did not go on"
    assert any(outcomes and not ended(outcomes) for outcomes in came.values()), "none was lost in its middle"
    assert found == expected


def ended(outcomes: Sequence[Outcome]) -> bool:
    """Whether these are all turns of a dialogue."""
    return any(product.kind == "dialogue" for outcome in outcomes for product in outcome.products)
