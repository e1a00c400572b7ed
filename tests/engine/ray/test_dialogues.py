"""Dialogues whose speakers and judges are in workers: turn by turn the same as locally."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from personafit.benchmarks.config import RunConfig
from personafit.engine.ray import working_on
from personafit.store import Store
from personafit.store import tables as t
from tests.scripted import run
from tests.tiny_models import save_tiny_gguf


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
        givens=["none"],
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
