"""Small builds up to answers, and on to the studies."""

from pathlib import Path
from typing import Any

from tests.build.builds import lines

MODELS = "python:tests.build.answers.models:"
PEOPLE = "quota = {people}\nfields = []\nsimilarity = 1.0\n"


def write_config(
    folder: Path,
    answers: str = "",
    studies: str | None = None,
    people: int = 4,
    questions: str = "specific = 3\ngeneral = 0\nsimilarity = 1.0",
    models: str = "",
    build: str = "",
    more: str = "",
) -> Path:
    """A config for scripted models."""
    path = folder / "build.toml"
    said = [
        f"[build]\n{build}",
        f'[models]\nwriter = "{MODELS}able"\n{models}',
        f"[people]\n{PEOPLE.format(people=people)}",
        more,
        f"[questions]\n{questions}",
        f"[answers]\nwords = 30\n{answers}",
    ]
    if studies is not None:
        said.append(f"[studies]\n{studies}")
    path.write_text("\n".join(said) + "\n", encoding="utf-8")
    return path


def rows(out: Path, step: str, stream: str | None = None) -> list[dict[str, Any]]:
    """A stream of a finished step."""
    path = out / "steps" / step / f"{stream or step}.jsonl"
    return lines(path) if path.is_file() else []
