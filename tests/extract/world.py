"""Small logs and runs of stages for tests."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from personafit import Store
from personafit.engine import Silence
from personafit.extract.asking import StagesConfig, StagesDone
from personafit.extract.running import execute
from tests.scripted import write_lines


def chat(name: str, person: str, *said: str) -> dict[str, Any]:
    """A conversation in our own layout: what the user says, each time answered by 'Noted.'."""
    turns = []
    for text in said:
        turns += [{"role": "user", "text": text}, {"role": "assistant", "text": "Noted."}]
    return {"id": name, "person": person, "turns": turns}


def small_log(path: Path) -> Path:
    """Three people; one statement is too general, one is a secret, two say the same."""
    rows = [
        chat("ann-1", "ann", "I live in Leicester and take the bus to work.", "I always drink green tea."),
        chat("ann-2", "ann", "I take the bus to work and live in Leicester.", "I have a dog called Rex."),
        chat("bo-1", "bo", "I always keep my secret diary in a drawer.", "My son Sami is eight years old."),
        chat("min-1", "min", "我在超市上班，是店长。", "我胃不好，不能吃辣。"),
    ]
    return write_lines(path, rows)


def run_stages(store: Path, log: Path, out: Path, model: str, **more: Any) -> StagesDone:
    """Carry out all stages in this process."""
    config = StagesConfig(conversations=log, model=model, out=out, **more)
    with Store(store) as opened:
        return asyncio.run(execute(opened, config, Silence()))


def texts(rows: Sequence[Any]) -> list[str]:
    """The texts of records."""
    return [row.text for row in rows]
