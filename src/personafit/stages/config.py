"""What a run of stages is asked to do, and what came of it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from personafit.engine import Summary
from personafit.stages.records import StageFile
from personafit.store import RunRecord, Status

RULE = "rule"
FITTED = "fitted:"
PEOPLE = "people:"
WORK = ".work"  # within --out, while a run is under way


@dataclass(frozen=True)
class StagesConfig:
    """Everything that was asked for on the command line."""

    conversations: Path
    model: str
    out: Path
    person: str = ""
    """Whose the log is, where it does not say."""
    prepare: str | None = None
    verifiers: list[str] = field(default_factory=list)
    """`rule`, `fitted:DIR`, `people:FILE` or a model's spec; none given means the rule and the model itself."""
    prompts: Path | None = None
    matcher: str | None = None
    redacting: bool = True
    limit: int | None = None
    seed: int = 0
    budget: float | None = None
    retry: frozenset[Status] = frozenset()
    command: str = ""


@dataclass(frozen=True)
class StagesDone:
    """How it went; no files are written where it ended early."""

    run: RunRecord
    summary: Summary
    files: StageFile
    counts: dict[str, Any] | None
    """The contents of summary.json; None where it ended early."""
