"""Counts of everything that happened, for summary.json and the terminal; shares are of what was answered, with coverage beside."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from personafit.stages.records import (
    FATES,
    LABELS,
    MODES,
    REFINED,
    ExtractedAttribute,
    PromptAnswer,
    VerifierVerdict,
)
from personafit.store import Status


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
