"""A run of stages: what is asked of it, how it goes through the engine with one bill for all stages, what is counted, what came of it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from personafit.engine import Lane, LaneReport, ProgressView, Runner, Summary
from personafit.stages.records import (
    FATES,
    LABELS,
    MODES,
    REFINED,
    ExtractedAttribute,
    PromptAnswer,
    StageFile,
    VerifierVerdict,
)
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


class Tally:
    """Counts while rows go by."""

    def __init__(self) -> None:
        self.people = 0
        self._extraction: Counter[str] = Counter()
        self._fates: Counter[str] = Counter()
        self._decided: Counter[str] = Counter()
        self._modes: Counter[str] = Counter()
        self._by_verifier: dict[str, Counter[str]] = {}
        self._answers: Counter[tuple[str, str]] = Counter()

    def asked_about(self, status: Status) -> None:
        """A conversation was put to the extractor."""
        self._extraction[status.value] += 1

    def row(self, row: ExtractedAttribute) -> None:
        """An attribute, in the end."""
        self._fates[row.status] += 1

    def verdicts(self, verdicts: Sequence[VerifierVerdict], decided: VerifierVerdict | None) -> None:
        """What was said of one attribute."""
        self._decided["undecided" if decided is None else decided.label] += 1
        if decided is not None and decided.label != "accepted":
            self._modes[decided.mode] += 1
        for verdict in verdicts:
            counter = self._by_verifier.setdefault(verdict.verifier or verdict.by, Counter())
            counter[verdict.label if verdict.status == Status.OK else verdict.status.value] += 1

    def answers(self, answers: Iterable[PromptAnswer]) -> Iterator[PromptAnswer]:
        """Answers on their way into a file."""
        for row in answers:
            self._answers[row.given, row.status.value] += 1
            yield row

    def counts(self) -> dict[str, Any]:
        """All counts."""
        asked = sum(self._extraction.values())
        refined = {fate: self._fates[fate] for fate in REFINED}
        return {
            "people": self.people,
            "extraction": {
                "conversations": asked,
                "coverage": self._extraction["ok"] / asked if asked else None,
                "by_status": dict(self._extraction),
            },
            "attributes": {fate: self._fates[fate] for fate in FATES},
            "verified": {
                "attributes": sum(self._decided.values()),
                **{label: self._decided[label] for label in (*LABELS, "undecided")},
                "modes": {mode: self._modes[mode] for mode in MODES if self._modes[mode]},
                "by_verifier": {name: dict(counter) for name, counter in self._by_verifier.items()},
            },
            "refined": {
                "given": sum(refined.values()),
                **refined,
            },
            "answers": {
                given: {status: count for (of, status), count in self._answers.items() if of == given}
                for given in ("generic", "personalized")
            }
            if self._answers
            else None,
        }
