"""The folder of a training run: claiming and resuming it, checkpoints, and errors such as a full disk.

A full disk or too little memory ends a run with a message that says what is kept.
"""

import contextlib
import errno
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from personafit._errors import UserError, writing
from personafit.train.cards import CARD, Say
from personafit.train.reward.settings import is_first

FACTS, STARTED = "personafit.json", "started.json"
STATE = "trainer_state.json"  # written last: a checkpoint without it is incomplete
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
TORCH_WRITES = ("inline_container", "PytorchStreamWriter")  # named in torch's errors about truncated files


@dataclass(frozen=True)
class TrainedModel:
    """A trained model: its folder, its facts and its card."""

    folder: Path
    facts: dict[str, Any]
    card: str


def claim(out: Path, asked: dict[str, Any]) -> TrainedModel | None:
    """Reserve the folder for this run; return its contents if the run is already finished."""
    try:
        with writing(out):
            if is_first():  # the first of several processes manages the folder
                out.mkdir(parents=True, exist_ok=True)
                _claim(out, out / STARTED, asked)
            if (out / FACTS).is_file():
                facts = json.loads((out / FACTS).read_text(encoding="utf-8"))
                return TrainedModel(out, facts, (out / CARD).read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise UserError(f"{out} holds a damaged file ({error}); choose another --out.") from error
    return None


def _claim(out: Path, started: Path, asked: dict[str, Any]) -> None:
    inside = [path for path in out.iterdir() if not path.is_dir() or any(path.iterdir())]
    if all(path in (started, _partial(started)) for path in inside):
        # Empty, or of a run that was rejected or ended before it wrote anything.
        write_whole(started, asked)
        return
    if not started.is_file():
        raise UserError(f"{out} is not empty and holds no training run; choose another --out.")
    before = json.loads(started.read_text(encoding="utf-8"))
    if differ := [name for name in asked if before.get(name) != asked[name]]:
        raise UserError(
            f"{out} holds a run with another {', '.join(differ)}; repeat its command or choose another --out."
        )


def _partial(path: Path) -> Path:
    return path.with_name(f".{path.name}.partial")


def write_whole(path: Path, value: Any) -> None:
    """Write a value as JSON atomically, by renaming a temporary file."""
    text = json.dumps(value, indent=1, ensure_ascii=False) + "\n"
    _partial(path).write_text(text, encoding="utf-8")
    os.replace(_partial(path), path)


def write_facts(folder: Path, facts: dict[str, Any], card: str) -> None:
    """Write card.md, then personafit.json, whose presence marks the run as finished."""
    (folder / CARD).write_text(card, encoding="utf-8")
    write_whole(folder / FACTS, facts)


def last_checkpoint(folder: Path) -> Path | None:
    """Return the latest complete checkpoint; None if there is none."""
    found = {}
    for path in folder.glob("checkpoint-*"):
        try:
            found[int(json.loads((path / STATE).read_text(encoding="utf-8"))["global_step"])] = path
        except (OSError, ValueError, KeyError):
            continue
    return found[max(found)] if found else None


def carry_on(trainer: Any, checkpoints: Path, say: Say) -> None:
    """Train from the last complete checkpoint; raise `UserError` after an interrupt."""
    found = last_checkpoint(checkpoints)
    if found is not None:
        say(f"Going on from {found}.")
    trainer.train(resume_from_checkpoint=None if found is None else str(found))
    if trainer.state.global_step < trainer.state.max_steps:
        raise UserError(
            f"Interrupted after step {trainer.state.global_step}; the same command goes on from there.",
            code=130,
        )


@contextlib.contextmanager
def explained(out: Path, checkpoints: Path) -> Iterator[None]:
    """Turn a full disk or running out of memory into a `UserError`; incomplete checkpoints are deleted to free space."""
    from safetensors import SafetensorError

    from personafit.models.reward.scoring import out_of_memory

    try:
        yield
    except (OSError, RuntimeError, MemoryError, SafetensorError) as error:
        if out_of_memory(error):
            raise UserError(
                "Memory ran out for the weights and the optimiser's state, and shorter rows would not help; the "
                "checkpoints are kept. Train an adapter (--lora, in another --out) or use a larger device.",
                code=1,
            ) from error
        if not _cut_short(error):
            raise
        free = shutil.disk_usage(out).free / 1e6
        for folder in checkpoints.glob("checkpoint-*"):
            if not (folder / STATE).is_file():
                shutil.rmtree(folder, ignore_errors=True)
        raise UserError(
            f"{out} could not be written ({free:,.1f} MB free); make room, and the same command goes on from the "
            f"last whole checkpoint. ({' '.join(str(error).split())[:200]})",
            code=1,
        ) from error


def _cut_short(error: Exception) -> bool:
    if isinstance(error, OSError):
        return error.errno in FULL
    said = str(error)
    return any(name in said for name in TORCH_WRITES) or any(f"os error {number})" in said for number in FULL)
