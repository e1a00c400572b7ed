"""A run of stages: what is asked of it, how it goes through the engine with one bill for all stages, and what came of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from personafit.engine import Lane, LaneReport, ProgressView, Runner, Summary
from personafit.extract.records import StageFile
from personafit.store import RunRecord, Status, Store


class Ended(Exception):
    """A stage came to a stop or was interrupted; what is stored is kept, and nothing after it is begun."""


@dataclass
class Session:
    """The store and the run that stages write to, and what was spent so far."""

    store: Store
    run: RunRecord
    progress: ProgressView
    budget: float | None = None
    retry: frozenset[Status] = frozenset()
    summary: Summary = field(default_factory=Summary)

    async def carry(self, lanes: Sequence[Lane]) -> list[LaneReport]:
        """Run lanes to their end; ends the run where they did not come to one."""
        left = None if self.budget is None else max(0.0, self.budget - self.summary.cost)
        done = await Runner(self.store, self.run.id, self.progress, self.retry, left).run(lanes)
        total = self.summary
        total.lanes += done.lanes
        total.charge(done)
        total.interrupted = total.interrupted or done.interrupted
        total.last_failure = done.last_failure or total.last_failure
        if done.ended_early:
            raise Ended
        return done.lanes


RULE, FITTED = "rule", "fitted:"  # verifiers that are no models
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
    """`rule`, `fitted:DIR` or a model's spec; none given means the rule and the model itself."""
    prompts: Path | None = None
    matcher: str | None = None
    redacting: bool = True
    least_confidence: float = 0.0
    """Attributes that the extractor is less sure of are not used; the paper cuts at 0.4."""
    limit: int | None = None
    seed: int = 0
    budget: float | None = None
    retry: frozenset[Status] = frozenset()
    command: str = ""


@dataclass(frozen=True)
class StagesDone:
    """How it went; no files are written where it ended early."""

    summary: Summary
    files: StageFile
    counts: dict[str, Any] | None
    """The contents of summary.json; None where it ended early."""
