"""The pool by itself: who gets what, and a request that kills its workers."""

import asyncio
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from personafit.engine.ray import working_on
from personafit.engine.ray.pool import PAUSE, Worker, open_chat
from personafit.models import Spec, Unanswerable, Unusable, parse_spec
from personafit.models.placing import WorkerModel, current_place
from tests.raters.reward.tiny import save_chat

SETTINGS = {"kind": "echo"}
UNAVAILABLE = 2.0  # seconds after which Ray says that a worker cannot be asked


def open_echo(spec: Spec) -> WorkerModel:
    """Says everything again in capitals; some words are too much for it."""

    def say(word: str) -> Any:
        if word == "kill":
            os._exit(1)
        return Unanswerable("no word") if word == "refuse" else word.upper()

    def work(batch: Sequence[str]) -> list[Any]:
        if "unusable" in batch:
            raise Unusable("it cannot be used")
        if "how many" in batch:
            return [len(batch)] * len(batch)
        return [say(word) for word in batch]

    return WorkerModel({"kind": "echo"}, work)


def open_late(spec: Spec) -> WorkerModel:
    """The same, with weights that take until somebody says so to be read."""
    begun = Path(spec.name)
    begun.touch()
    while begun.exists():
        time.sleep(0.05)
    return open_echo(spec)


class Forgetful(Worker):
    """As after a death between two batches: the process is there, its model is not."""

    def work(self, batch: Sequence[Any]) -> list[Any] | None:
        """Answers, and forgets when told to."""
        answers = super().work(batch)
        if "forget" in batch:
            self._held = None
        return answers


async def ask(pool: Any, words: Sequence[str]) -> list[Any]:
    """What comes back for each word, errors too."""
    try:
        return await asyncio.gather(*map(pool.submit, words), return_exceptions=True)
    finally:
        await pool.close()


@pytest.fixture
def place(cluster: Any) -> Iterator[Any]:
    """The cluster as a place for models; its workers know nothing of tests and are sent what they need."""
    import ray.cloudpickle

    import tests.engine.ray.test_pool as here

    ray.cloudpickle.register_pickle_by_value(here)
    try:
        with working_on(f"ray://{cluster.address}"):
            yield current_place()
    finally:
        ray.cloudpickle.unregister_pickle_by_value(here)


@pytest.mark.slow
def test_one_request_that_kills_its_workers_is_given_up_and_no_other(place: Any) -> None:
    words = [f"word {number}" for number in range(40)]
    said = asyncio.run(
        ask(
            place.batches(parse_spec("echo:one"), open_echo, SETTINGS, 8),
            [*words[:20], "kill", "refuse", *words[20:]],
        )
    )
    other = asyncio.run(ask(place.batches(parse_spec("echo:two"), open_echo, {"kind": "other"}, 8), ["a"]))
    stopped = asyncio.run(ask(place.batches(parse_spec("echo:one"), open_echo, SETTINGS, 8), ["unusable"]))
    assert [*said[:20], *said[22:]] == [word.upper() for word in words]
    assert "3 workers died over this request" in str(said[20])
    assert isinstance(said[21], Unanswerable)
    assert isinstance(other[0], Unusable)
    assert "has another echo:two (kind is echo and not other)" in str(other[0])
    assert str(stopped[0]) == "it cannot be used"


@pytest.mark.slow
def test_a_worker_that_was_started_again_opens_its_model_again(
    place: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("personafit.engine.ray.pool.Worker", Forgetful)

    async def one_after_the_other() -> list[Any]:
        pool = place.batches(parse_spec("echo:one"), open_echo, SETTINGS, 8)
        return [await pool.submit("forget"), *await ask(pool, ["here", "there"])]

    assert asyncio.run(one_after_the_other()) == ["FORGET", "HERE", "THERE"]


@pytest.mark.slow
def test_batches_are_shares_of_what_waits_but_not_tiny_and_workers_rest(second_node: Any, place: Any) -> None:
    async def sizes() -> tuple[list[Any], ...]:
        pool = place.batches(parse_spec("echo:one"), open_echo, SETTINGS, 8)
        while pool.live < 2:
            await pool.submit("here")
        few = await asyncio.gather(*[pool.submit("how many") for _ in range(4)])
        many = await asyncio.gather(*[pool.submit("how many") for _ in range(10)])
        await pool.rest()
        assert pool.live == 0
        later = await ask(pool, ["here"])
        return few, many, later

    few, many, later = asyncio.run(sizes())
    assert few == [4] * 4, "those of one person stay together"
    assert many[:5] == [5] * 5, "and of more each gets a share"
    assert later == ["HERE"]


@pytest.mark.slow
def test_a_worker_for_which_there_is_no_room_any_more_is_waited_for_while_others_work(
    cluster: Any, second_node: Any, place: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("personafit.engine.ray.pool.FAILURES", 1)

    async def outlive() -> list[Any]:
        pool = place.batches(parse_spec("echo:one"), open_echo, SETTINGS, 1)
        while pool.live < 2:
            await pool.submit("here")
        cluster.remove_node(second_node, allow_graceful=False)
        while pool.live == 2:  # until one of the two is asked and does not answer
            await asyncio.gather(pool.submit("here"), pool.submit("there"))
        until = time.monotonic() + 3 * UNAVAILABLE
        while time.monotonic() < until:
            await pool.submit("here")
        return await ask(pool, ["here"])

    assert asyncio.run(outlive()) == ["HERE"]


@pytest.mark.slow
def test_a_worker_that_reads_its_weights_is_waited_for_however_long_it_takes(
    place: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = tmp_path / "begun"

    async def outwait() -> list[Any]:
        pool = place.batches(parse_spec(f"echo:{begun}"), open_late, SETTINGS, 1)
        asked = asyncio.create_task(ask(pool, ["here"]))
        while not begun.exists():
            await asyncio.sleep(0.05)
        monkeypatch.setattr("personafit.engine.ray.pool.PATIENCE", 0.0)
        await asyncio.sleep(4 * PAUSE)  # a few looks of whoever would tell those who wait
        begun.unlink()
        return await asked

    assert asyncio.run(outwait()) == ["HERE"]


def test_a_worker_says_what_it_has_not(tmp_path: Path) -> None:
    from personafit import __version__

    folder = save_chat(tmp_path / "chat")
    spec = parse_spec(f"hf:{folder}")
    settings = open_chat(spec).settings
    assert Worker(open_chat, spec).greet(__version__) is None
    assert "install the same on all nodes" in str(Worker(open_chat, spec).greet("0.0.1"))
    assert Worker(open_chat, spec).open(settings) is None
    (folder / "tokenizer_config.json").write_text(
        (folder / "tokenizer_config.json").read_text() + "\n", encoding="utf-8"
    )
    assert "(weights is " in str(Worker(open_chat, spec).open(settings))
    missing = parse_spec(f"hf:{tmp_path / 'elsewhere'}")
    assert "cannot open" in str(Worker(open_chat, missing).open(settings))
