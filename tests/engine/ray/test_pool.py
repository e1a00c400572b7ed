"""The pool by itself: who gets what, and a request that kills its workers."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from personafit.engine.ray import working_on
from personafit.engine.ray.worker import Worker, open_chat
from personafit.models import Spec, Unanswerable, Unusable, parse_spec
from personafit.models.placing import Held, current_place
from tests.raters.reward.tiny import save_chat

SETTINGS = {"kind": "echo"}


def open_echo(spec: Spec) -> Held:
    """Says everything again in capitals; some words are too much for it."""

    def say(word: str) -> Any:
        if word == "kill":
            os._exit(1)
        return Unanswerable("no word") if word == "refuse" else word.upper()

    def work(batch: Sequence[str]) -> list[Any]:
        if "unusable" in batch:
            raise Unusable("it cannot be used")
        return [say(word) for word in batch]

    return Held({"kind": "echo"}, work)


async def ask(pool: Any, words: Sequence[str]) -> list[Any]:
    """What comes back for each word, errors too."""
    try:
        return await asyncio.gather(*map(pool.submit, words), return_exceptions=True)
    finally:
        await pool.close()


@pytest.mark.slow
def test_one_request_that_kills_its_workers_is_given_up_and_no_other(cluster: Any) -> None:
    import ray.cloudpickle

    import tests.engine.ray.test_pool as here

    ray.cloudpickle.register_pickle_by_value(here)  # workers know nothing of tests
    words = [f"word {number}" for number in range(40)]
    try:
        with working_on(f"ray://{cluster.address}"):
            place: Any = current_place()
            said = asyncio.run(
                ask(
                    place.batches(parse_spec("echo:one"), open_echo, SETTINGS, 8),
                    [*words[:20], "kill", "refuse", *words[20:]],
                )
            )
            other = asyncio.run(
                ask(place.batches(parse_spec("echo:two"), open_echo, {"kind": "other"}, 8), ["a"])
            )
            stopped = asyncio.run(
                ask(place.batches(parse_spec("echo:one"), open_echo, SETTINGS, 8), ["unusable"])
            )
    finally:
        ray.cloudpickle.unregister_pickle_by_value(here)
    assert [*said[:20], *said[22:]] == [word.upper() for word in words]
    assert "3 workers died over this request" in str(said[20])
    assert isinstance(said[21], Unanswerable)
    assert isinstance(other[0], Unusable)
    assert "has another echo:two (kind is echo and not other)" in str(other[0])
    assert str(stopped[0]) == "it cannot be used"


def test_a_worker_says_what_it_has_not(tmp_path: Path) -> None:
    from personafit import __version__

    folder = save_chat(tmp_path / "chat")
    spec = parse_spec(f"hf:{folder}")
    settings = open_chat(spec).settings
    assert Worker(open_chat, spec).greet(__version__, settings) is None
    assert "install the same on all nodes" in str(Worker(open_chat, spec).greet("0.0.1", settings))
    (folder / "tokenizer_config.json").write_text(
        (folder / "tokenizer_config.json").read_text() + "\n", encoding="utf-8"
    )
    assert "(weights is " in str(Worker(open_chat, spec).greet(__version__, settings))
    missing = parse_spec(f"hf:{tmp_path / 'elsewhere'}")
    assert "cannot open" in str(Worker(open_chat, missing).greet(__version__, settings))
