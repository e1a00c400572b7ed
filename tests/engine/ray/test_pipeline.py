"""What the factory generates, as a Ray Data pipeline: the same products as locally, though workers and nodes are killed."""

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from personafit.engine import Lane, Runner, Silence, Summary, together
from personafit.engine.ray import working_on
from personafit.factory.asking import Maker, Target, Unfit
from personafit.factory.prompts import PromptTemplate
from personafit.models import make_model
from personafit.store import Store
from personafit.store import tables as t
from tests.engine.ray.disturbed import DisturbedStore
from tests.raters.reward.tiny import save_chat

WANTED = 80
PROMPT = PromptTemplate("test-letter", 1, {"en": "Write a letter to {name}.", "zh": "给{name}写一封信。"})


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny model that writes."""
    return f"hf:{save_chat(tmp_path_factory.mktemp('models') / 'chat')}"


@pytest.fixture(scope="module")
def local(chat: str, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Any, ...]]:
    """What is made without a cluster."""
    url = tmp_path_factory.mktemp("local") / "store.db"
    with Store(url) as store:
        assert not write(store, chat).failed
    return made(url)


def write(store: Store, spec: str) -> Summary:
    """Want some letters; every tenth is unfit whatever the model writes."""

    async def ask() -> Summary:
        model = make_model(spec)
        maker = Maker("letters", model, seed=1)
        wanted = [_wanted(number) for number in range(WANTED)]
        store.add_raters([maker.record(wanted[0])])
        run = store.begin_run("letters", "letters", {}, WANTED)
        jobs = map(maker.job, wanted)
        lane = Lane(
            "letters",
            model.endpoint,
            jobs,
            WANTED,
            model.max_concurrency,
            free=True,
            together=together(model),
        )
        try:
            return await Runner(store, run.id, Silence()).run([lane])
        finally:
            await model.close()

    return asyncio.run(ask())


def _wanted(number: int) -> Target:
    def read(reply: str) -> str:
        if number % 10 == 0:
            raise Unfit("it is never good enough")
        return reply

    # Letters that are no tokens of the tiny model, so that it writes, and what it writes is read.
    letters = ("甲", "乙")
    values: dict[str, object] = {"name": f"number {number}"}
    return Target(f"letter {number}", PROMPT, "en", values, "letter", read, letters, max_tokens=4)


def made(url: str | Path) -> list[tuple[Any, ...]]:
    """Every ask and product of a store, however often it is there."""
    ask = t.asks.c
    query = select(ask.id, ask.job, ask.status, ask.reply, ask.attempts, t.products.c.text)
    with Store(url) as store:
        return sorted(
            store.frame(query.select_from(t.asks.outerjoin(t.products, t.products.c.id == ask.id))).rows(),
            key=str,
        )


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["worker", "node"])
def test_the_same_products_as_locally(
    chat: str,
    local: list[tuple[Any, ...]],
    cluster: Any,
    second_node: Any,
    workers_of: Callable[[Any], list[int]],
    tmp_path: Path,
    loss: str,
) -> None:
    def disturb() -> None:
        if loss == "node":
            cluster.remove_node(second_node, allow_graceful=False)
        for worker in workers_of(second_node) if loss == "worker" else ():
            os.kill(worker, signal.SIGKILL)

    url = tmp_path / "store.db"
    store = DisturbedStore(url, "maker", disturb)
    with store, working_on(f"ray://{cluster.address}"):
        summary = write(store, chat)
    assert store.stored_before is not None
    assert store.stored_before < WANTED, "the loss came too late"
    assert made(url) == local
    assert (summary.lanes[0].finished, summary.failed) == (WANTED, 0)


@pytest.mark.slow
def test_a_model_that_cannot_be_opened_stops_the_lane(chat: str, cluster: Any, tmp_path: Path) -> None:
    folder = Path(chat.removeprefix("hf:"))
    weights = folder / "model.safetensors"
    aside = weights.rename(tmp_path / "aside")
    try:
        with Store(tmp_path / "store.db") as store, working_on(f"ray://{cluster.address}"):
            summary = write(store, chat)
    finally:
        aside.rename(weights)
    assert summary.lanes[0].unusable
    assert "the weights cannot be loaded" in str(summary.lanes[0].stopped)
    assert made(tmp_path / "store.db") == []
