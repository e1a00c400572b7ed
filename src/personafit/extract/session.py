"""A run of stages: what is asked of it, how it goes through the engine with one bill for all stages, what is counted, what came of it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from personafit.engine import Lane, LaneReport, ProgressView, Runner, Summary
from personafit.extract.records import FATES, LABELS, MODES, REFINED, StageFile, VerifierVerdict
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


RULE, FITTED, PEOPLE = "rule", "fitted:", "people:"  # verifiers that are no models
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

    summary: Summary
    files: StageFile
    counts: dict[str, Any] | None
    """The contents of summary.json; None where it ended early."""


class Tally:
    """Counts while rows go by."""

    def __init__(self) -> None:
        self.people = 0
        self.extraction: Counter[str] = Counter()
        """Conversations that were put to the extractor, by status."""
        self.fates: Counter[str] = Counter()
        self.answers: Counter[tuple[str, str]] = Counter()
        """By what the model was given, and status."""
        self._decided: Counter[str] = Counter()
        self._modes: Counter[str] = Counter()
        self._by_verifier: dict[str, Counter[str]] = {}

    def verdicts(self, verdicts: Sequence[VerifierVerdict], decided: VerifierVerdict | None) -> None:
        """Count what was said of one attribute."""
        self._decided["undecided" if decided is None else decided.label] += 1
        if decided is not None and decided.label != "accepted":
            self._modes[decided.mode] += 1
        for verdict in verdicts:
            counter = self._by_verifier.setdefault(verdict.verifier or verdict.by, Counter())
            counter[verdict.label if verdict.status == Status.OK else verdict.status.value] += 1

    def counts(self) -> dict[str, Any]:
        """All counts."""
        asked = sum(self.extraction.values())
        refined = {fate: self.fates[fate] for fate in REFINED}
        answers: dict[str, dict[str, int]] = {"generic": {}, "personalized": {}}
        for (given, status), count in self.answers.items():
            answers[given][status] = count
        return {
            "people": self.people,
            "extraction": {
                "conversations": asked,
                "coverage": self.extraction["ok"] / asked if asked else None,
                "by_status": dict(self.extraction),
            },
            "attributes": {fate: self.fates[fate] for fate in FATES},
            "verified": {
                "attributes": sum(self._decided.values()),
                **{label: self._decided[label] for label in (*LABELS, "undecided")},
                "modes": {mode: self._modes[mode] for mode in MODES if self._modes[mode]},
                "by_verifier": {name: dict(counter) for name, counter in self._by_verifier.items()},
            },
            "refined": {"given": sum(refined.values()), **refined},
            "answers": answers if self.answers else None,
        }
