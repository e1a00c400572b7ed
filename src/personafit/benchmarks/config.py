"""The settings and the outcome of a run, and the naming and person selection shared by all kinds of run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from personafit._errors import UserError
from personafit._hashing import content_hash, hash_text
from personafit.engine import Summary
from personafit.store import RunRecord, Status


@dataclass
class RunConfig:
    """The settings of one run, from the command line, `evaluate` or a suite."""

    benchmark: str
    data: Path | None = None
    raters: list[str] = field(default_factory=list)
    contexts: list[str] = field(default_factory=list)
    systems: list[str] = field(default_factory=list)
    system_contexts: list[str] = field(default_factory=list)
    user: str | None = None
    options: dict[str, str] = field(default_factory=dict)
    """Options that only one kind of run has, as given by `-K NAME=VALUE`."""
    kind: str | None = None
    """The kind of item to run, if a folder has several."""
    people: str | list[str] | None = None
    """A number of people to draw, a file of ids, or the ids."""
    where: list[str] = field(default_factory=list)
    """Conditions NAME=VALUE that restrict the items to a slice."""
    limit: int | None = None
    seed: int = 0
    samples: int = 1
    budget: float | None = None
    retry: frozenset[Status] = frozenset()
    command: str | None = None
    """The command or call, stored so that the run can be repeated."""
    gate: list[str] = field(default_factory=list)
    """Conditions METRIC=X, as given by `--fail-under`."""
    fresh: bool = False
    """Whether systems make their answers again, unless their fingerprints cover their behaviour."""


@dataclass
class Finished:
    """A run with the summary of this command's work on it."""

    run: RunRecord
    summary: Summary


def chosen_people(present: Sequence[str], people: str | list[str], seed: int) -> list[str]:
    """Return the ids that `--people` selects: N people drawn by hash, the given ids, or those listed in a file."""
    if isinstance(people, str) and people.isdecimal():
        return sorted(present, key=lambda person: hash_text("users", person, str(seed)))[: int(people)]
    wanted, source = (people, "") if isinstance(people, list) else (_listed_people(people), f" {people}")
    unknown = [person for person in wanted if person not in set(present)]
    if unknown:
        raise UserError(f"--people{source}: nobody is called '{unknown[0][:80]}' in this benchmark.")
    return wanted


def _listed_people(file: str) -> list[str]:
    """Read ids from a file, one per line."""
    try:
        lines = Path(file).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UserError(f"--people {file}: neither a number nor a readable file of ids ({why}).") from error
    return [line.strip() for line in lines if line.strip()]


UNNAMED = ("notes", "command", "gate", "answers", "spent", "owner")
"""Fields of a run's record that are not part of its configuration and so not of its name."""


def run_name(benchmark: str, record: Mapping[str, Any]) -> str:
    """Return the name of a run; the same configuration and data give the same name, so repeating a command resumes."""
    parts = {name: value for name, value in record.items() if name not in ("raters", *UNNAMED)}
    raters = [rater["fingerprint"] for rater in record["raters"]]
    return f"{benchmark}-{content_hash([parts, raters])[:8]}"
