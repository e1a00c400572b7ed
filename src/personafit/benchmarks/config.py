"""What a run was asked for and how it ended, and what all kinds of run check before they begin."""

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
    """The settings of one run, as the command line, `evaluate` and suites give them."""

    benchmark: str
    data: Path | None = None
    raters: list[str] = field(default_factory=list)
    contexts: list[str] = field(default_factory=list)
    systems: list[str] = field(default_factory=list)
    system_contexts: list[str] = field(default_factory=list)
    user: str | None = None
    options: dict[str, str] = field(default_factory=dict)
    """Options of one kind only, as `-K NAME=VALUE` gives them."""
    kind: str | None = None
    """Which kind of item is run, where a folder holds several."""
    people: str | list[str] | None = None
    """A number of people to draw, a file of ids, or the ids."""
    where: list[str] = field(default_factory=list)
    """NAME=VALUE: only items of this slice."""
    limit: int | None = None
    seed: int = 0
    samples: int = 1
    budget: float | None = None
    retry: frozenset[Status] = frozenset()
    command: str | None = None
    """The command or call, stored so that the run can be repeated."""
    gate: list[str] = field(default_factory=list)
    """METRIC=X, as `--fail-under` gives them."""
    fresh: bool = False
    """Whether systems make their answers anew, unless their fingerprints cover what they do."""


@dataclass
class Finished:
    """A run and the summary of what this command did for it."""

    run: RunRecord
    summary: Summary


def chosen_people(present: Sequence[str], people: str | list[str], seed: int) -> list[str]:
    """The ids that `--people` selects: N people drawn by hash, those given, or those that a file lists."""
    if isinstance(people, str) and people.isdecimal():
        return sorted(present, key=lambda person: hash_text("users", person, str(seed)))[: int(people)]
    wanted, source = (people, "") if isinstance(people, list) else (_listed_people(people), f" {people}")
    unknown = [person for person in wanted if person not in set(present)]
    if unknown:
        raise UserError(f"--people{source}: nobody is called '{unknown[0][:80]}' in this benchmark.")
    return wanted


def _listed_people(file: str) -> list[str]:
    """The ids that a file lists, one a line."""
    try:
        lines = Path(file).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UserError(f"--people {file}: neither a number nor a readable file of ids ({why}).") from error
    return [line.strip() for line in lines if line.strip()]


UNNAMED = ("notes", "command", "gate", "answers", "spent", "owner")
"""What a run's record says beside its configuration, and so is no part of its name."""


def run_name(benchmark: str, record: Mapping[str, Any]) -> str:
    """A run's name: the same configuration and data give the same name, so the same command resumes."""
    parts = {name: value for name, value in record.items() if name not in ("raters", *UNNAMED)}
    raters = [rater["fingerprint"] for rater in record["raters"]]
    return f"{benchmark}-{content_hash([parts, raters])[:8]}"
