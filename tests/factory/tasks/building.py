"""Builds with a [tasks] section, inside this process."""

import asyncio
import json
from pathlib import Path
from typing import Any

from personafit.engine import Silence
from personafit.factory import Built, build, read_config


def written_config(
    folder: Path, *lines: str, writer: str = "careful", build_lines: tuple[str, ...] = ()
) -> Path:
    """A config file with these lines in its section [tasks]."""
    path = folder / "build.toml"
    said = [
        "[build]",
        'name = "tasks-test"',
        'languages = ["en", "zh"]',
        *build_lines,
        "[models]",
        f'writer = "python:tests.factory.tasks.writers:{writer}"',
        "[tasks]",
        *lines,
    ]
    path.write_text("\n".join(said) + "\n", encoding="utf-8")
    return path


def built(path: Path, redo: str | None = None) -> Built:
    """The build of a config, beside it."""
    config = read_config(path)
    return asyncio.run(build(config, path.parent / "out", Silence(), redo))


def rows(path: Path, reason: str = "") -> list[dict[str, Any]]:
    """The objects of a JSONL file; of rejections those with a reason, if one is given."""
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [row for row in found if not reason or row["reason"] == reason]
