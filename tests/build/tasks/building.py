"""Builds with a [tasks] section, inside this process."""

import json
from pathlib import Path
from typing import Any

from personafit.build import Built
from tests.build.builds import run_build

PEOPLE = "fields = []\nsimilarity = 1.0\n"


def written_config(folder: Path, people: int, *lines: str, writer: str = "careful") -> Path:
    """A config file for so many people, with these lines in its section [tasks]; nobody checks them."""
    path = folder / "build.toml"
    said = [
        "[build]",
        'name = "tasks-test"',
        'languages = ["en", "zh"]',
        "[models]",
        f'writer = "{writer if writer == "template" else f"python:tests.build.tasks.writers:{writer}"}"',
        'checker = "template"',
        f"[people]\nquota = {people}\n{PEOPLE}",
        "[tasks]",
        *lines,
    ]
    path.write_text("\n".join(said) + "\n", encoding="utf-8")
    return path


def built(path: Path, redo: str | None = None) -> Built:
    """The build of a config, beside it."""
    return run_build(path, path.parent / "out", redo)


def rows(path: Path, reason: str = "") -> list[dict[str, Any]]:
    """The objects of a JSONL file; of rejections those with a reason, if one is given."""
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [row for row in found if not reason or row["reason"] == reason]
