"""Two runs that want the same dialogues at the same time: each dialogue is one that was held, and none is put together of two."""

import asyncio
from pathlib import Path

import pytest

from personafit import Store
from personafit._hashing import hash_text
from personafit.benchmarks import Finished, RunConfig
from personafit.engine import Silence
from personafit.run import execute
from personafit.simulate import dialogues
from tests.simulate.talking import write_tasks

# Nobody says the same twice, and nobody goes on before both runs have asked for their first turns.
TALKERS = """
import itertools, threading
number = itertools.count()
both = threading.Barrier(4)

def user(messages):
    if len(messages) < 3:
        both.wait(60)
    return f"Something for evening {next(number)}?\\n" + ("[SATISFIED]" if len(messages) > 4 else "[CONTINUE]")

def assistant(messages):
    return f"Try number {next(number)}."

def judge(messages):
    return '{"complete": true, "score": 3, "scores": [3]}'

def other_judge(messages):
    return judge(messages)
"""


def test_every_dialogue_is_one_that_was_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "talkers_at_once.py").write_text(TALKERS, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    data = write_tasks(tmp_path / "data", 2)

    async def held(store: Store, judge: str) -> Finished:
        wanted = RunConfig(
            "personalens",
            data=data,
            systems=["python:talkers_at_once:assistant"],
            user="python:talkers_at_once:user",
            raters=[f"python:talkers_at_once:{judge}"],
            system_contexts=["none"],
            options={"tasks": "SD"},
        )
        return await execute(store, wanted, Silence())

    async def at_once(one: Store, two: Store) -> tuple[Finished, Finished]:
        return await asyncio.gather(held(one, "judge"), held(two, "other_judge"))

    with Store(tmp_path / "store.db") as one, Store(tmp_path / "store.db") as two:
        first, second = asyncio.run(at_once(one, two))
        found = [*dialogues(one, first.run.id), *dialogues(two, second.run.id)]
    assert first.run.name != second.run.name
    assert len(found) == 4
    for dialogue in found:
        key = hash_text("dialogue", dialogue.slot)
        for turn in dialogue.turns:
            assert turn.ask == hash_text(key, "0"), "each turn was asked for after what stands before it"
            key = hash_text(key, turn.text)
