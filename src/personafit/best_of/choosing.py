"""From the scores of candidates to a choice per question, with length taken out of the scores, and what that did."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from personafit.best_of.candidates import CandidateSet
from personafit.statistics import Estimate, cluster_mean
from personafit.statistics.length import LengthControl, length_controlled

Scores = Mapping[str, Sequence[float | None]]
"""Per prompt the scores of its candidates; None where there is none."""


@dataclass(frozen=True)
class BestCandidate:
    """The candidate chosen for one question, with the scores of all."""

    prompt: CandidateSet
    scores: list[float | None]
    adjusted: list[float | None]
    chosen: int | None
    as_scored: int | None
    """What the scores would choose as they are."""

    @property
    def longest(self) -> int | None:
        """What choosing by length would choose; the first of equals. None where no answer could be made."""
        lengths = [len(answer) for answer in self.prompt.answers]
        return lengths.index(max(lengths)) if lengths else None

    def as_dict(self) -> dict[str, Any]:
        """The line of the output."""
        prompt = self.prompt
        candidates = zip(prompt.answers, self.scores, self.adjusted, strict=True)
        return {
            "id": prompt.id,
            "person": prompt.person,
            "question": prompt.question,
            "status": "failed" if self.chosen is None else "ok",
            "chosen": self.chosen,
            "answer": None if self.chosen is None else prompt.answers[self.chosen],
            "longest": self.longest,
            "candidates": [
                {"answer": text, "length": len(text), "score": score, "adjusted": adjusted}
                for text, score, adjusted in candidates
            ],
        }


@dataclass(frozen=True)
class BestOfChoices:
    """The candidate chosen for each question, and how the scores go with length."""

    rows: list[BestCandidate]
    control: LengthControl | None

    @property
    def coverage(self) -> float:
        """The share of candidates that have a score."""
        scored = [score is not None for row in self.rows for score in row.scores]
        return float(np.mean(scored)) if scored else 0.0

    def mean_lengths(self) -> dict[str, Estimate]:
        """Mean length, in code points, of the pool, of what is chosen, and of the longest; clustered by person and question.

        All over the same questions: those for which something was chosen.
        """
        made = [row for row in self.rows if row.chosen is not None]

        def mean(lengths: list[float]) -> Estimate:
            return _clustered(lengths, made)

        def at(places: list[int | None]) -> list[float]:
            return [
                float(len(row.prompt.answers[place or 0])) for row, place in zip(made, places, strict=True)
            ]

        return {
            "pool": mean([float(np.mean([len(answer) for answer in row.prompt.answers])) for row in made]),
            "chosen": mean(at([row.chosen for row in made])),
            "as_scored": mean(at([row.as_scored for row in made])),
            "longest": mean(at([row.longest for row in made])),
        }

    def same_as_longest(self) -> Estimate:
        """How often the choice is what choosing by length would choose, where there is a choice."""
        made = [row for row in self.rows if row.chosen is not None and len(row.prompt.answers) > 1]
        same = [float(row.chosen == row.longest) for row in made]
        return _clustered(same, made, (0.0, 1.0))


def _clustered(
    values: Sequence[float], rows: Sequence[BestCandidate], bounds: tuple[float, float] | None = None
) -> Estimate:
    """The mean over questions put by people, clustered by person and, where questions recur, by question."""
    people, questions = [row.prompt.person for row in rows], [row.prompt.question for row in rows]
    return cluster_mean(values, people, questions, bounds)


def choose(prompts: Sequence[CandidateSet], scores: Scores, control_length: bool) -> BestOfChoices:
    """The best candidate of each question; of equals the first, so that a second run chooses the same."""
    listed = [
        (prompt.id, index, score)
        for prompt in prompts
        for index, score in enumerate(scores[prompt.id])
        if score is not None
    ]
    values = [score for _, _, score in listed]
    control = None
    adjusted = dict.fromkeys(((name, index) for name, index, _ in listed), 0.0)
    adjusted |= {(name, index): score for name, index, score in listed}
    if control_length and listed:
        texts = {prompt.id: prompt.answers for prompt in prompts}
        lengths = [len(texts[name][index]) for name, index, _ in listed]
        control = length_controlled(values, lengths, [name for name, _, _ in listed])
        for (name, index, _), value in zip(listed, control.adjusted, strict=True):
            adjusted[name, index] = float(value)
    rows = []
    for prompt in prompts:
        own = list(scores[prompt.id])
        fair = [adjusted.get((prompt.id, index)) for index in range(len(own))]
        rows.append(BestCandidate(prompt, own, fair, _best(fair), _best(own)))
    return BestOfChoices(rows, control)


def _best(scores: Sequence[float | None]) -> int | None:
    known = [(score, -index) for index, score in enumerate(scores) if score is not None]
    return -max(known)[1] if known else None
