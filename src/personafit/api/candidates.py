"""Candidate answers to questions: read from a file, compared in pairs, and the best chosen by length-controlled scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from personafit._errors import UserError
from personafit.api.places import write_lines
from personafit.benchmarks.benchmark import BenchmarkInfo, HeldBenchmark
from personafit.benchmarks.lines import read_lines, validated
from personafit.benchmarks.rows import RowChecks, inline_person
from personafit.people import Person
from personafit.statistics import Estimate, cluster_mean
from personafit.statistics.length import LengthControl, length_controlled
from personafit.store import Item, Product


class CandidateRow(BaseModel):
    """One line of the input file."""

    model_config = ConfigDict(extra="forbid")

    id: str | None = Field(None, min_length=1, description="Your own key; default is the line number.")
    person: dict[str, Any] = Field(description="Who asked: an 'id' and whatever is known of the person.")
    question: str = Field(min_length=1, description="What the person asked.")
    answers: list[str] = Field(
        default_factory=list, description="The candidates; none where --system makes them."
    )


@dataclass(frozen=True)
class CandidateSet:
    """A person's question with its candidate answers."""

    id: str
    person: str
    question: str
    answers: tuple[str, ...]

    @property
    def base(self) -> int:
        """Return the index of the candidate that the others are compared with: the one of median length."""
        order = sorted(range(len(self.answers)), key=lambda index: (len(self.answers[index]), index))
        return order[(len(order) - 1) // 2]

    def item_id(self, index: int) -> str:
        """Return the id of the comparison of a candidate with the base."""
        return f"best-of/{self.id}/{index}"


def read_candidates(path: Path) -> tuple[list[CandidateSet], dict[str, Person]]:
    """Read the questions of a file and all people in it."""
    checks, prompts = RowChecks(path), []
    for number, raw in read_lines(path, checks.faults.append):
        with checks.noted():
            row = validated(CandidateRow, raw, path, number)
            if not row.question.strip():
                checks.add(number, "question", "is empty.")
            for place, answer in enumerate(row.answers):
                if not answer.strip():
                    checks.add(number, f"answers.{place}", "is empty.")
            person = inline_person(row.person, path, number)
            checks.meet(number, person)
            checks.is_new(number, row.id or str(number), number)  # questions may recur: each gets its answer
            prompts.append(CandidateSet(row.id or str(number), person.id, row.question, tuple(row.answers)))
    checks.refuse()
    if not prompts:
        raise UserError(f"{path} holds no questions.")
    return prompts, checks.people


def _benchmark(
    name: str, people: Mapping[str, Person], items: Sequence[Item], products: Sequence[Product] = ()
) -> HeldBenchmark:
    """Return questions of people as items that a system answers or a rater compares. There is no gold."""
    info = BenchmarkInfo(
        name=name,
        version="1",
        title="Candidate answers, to be chosen among",
        licence="the user's own",
        language=sorted({person.language for person in people.values()}),
        layout=[],
    )
    return HeldBenchmark(info, people.values(), items, products)


def questions(prompts: Sequence[CandidateSet], people: Mapping[str, Person]) -> HeldBenchmark:
    """Return a benchmark of the questions alone, for a system to answer."""
    items = [
        Item(id=f"best-of/{one.id}", kind="prompt", person=one.person, prompt=one.question, products=[])
        for one in prompts
    ]
    return _benchmark("best-of-questions", people, items)


def comparisons(prompts: Sequence[CandidateSet], people: Mapping[str, Person]) -> HeldBenchmark:
    """Return a benchmark of pairs: each candidate with its question's base."""
    products, items = [], []
    for one in prompts:
        made = [Product(kind="answer", text=answer, about=one.person) for answer in one.answers]
        products += made
        items += [
            Item(
                id=one.item_id(index),
                person=one.person,
                prompt=one.question,
                products=[made[one.base].id, product.id],
            )
            for index, product in enumerate(made)
            if index != one.base
        ]
    return _benchmark("best-of", people, items, products)


# -- choosing ------------------------------------------------------------------------------------------------------------------

Scores = Mapping[str, Sequence[float | None]]
"""Scores of the candidates per prompt; None for a candidate without a score."""


@dataclass(frozen=True)
class BestCandidate:
    """The candidate chosen for one question, with the scores of all."""

    prompt: CandidateSet
    scores: list[float | None]
    adjusted: list[float | None]
    chosen: int | None

    @property
    def longest(self) -> int | None:
        """Return the index of the longest answer, the first of equals; None if no answer could be made."""
        lengths = [len(answer) for answer in self.prompt.answers]
        return lengths.index(max(lengths)) if lengths else None

    def as_dict(self) -> dict[str, Any]:
        """Return one line of the output file."""
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
    """The candidate chosen for each question, and how the scores correlate with length."""

    rows: list[BestCandidate]
    control: LengthControl | None

    @property
    def coverage(self) -> float:
        """Return the share of candidates that have a score."""
        scored = [score is not None for row in self.rows for score in row.scores]
        return float(np.mean(scored)) if scored else 0.0

    def same_as_longest(self) -> Estimate:
        """Estimate how often the longest answer was chosen, over questions with two answers or more."""
        made = [row for row in self.rows if row.chosen is not None and len(row.prompt.answers) > 1]
        same = [float(row.chosen == row.longest) for row in made]
        people, questions = [row.prompt.person for row in made], [row.prompt.question for row in made]
        return cluster_mean(same, people, questions, (0.0, 1.0))

    @property
    def note(self) -> str | None:
        """Describe how scores correlate with length; None if length is not controlled."""
        control = self.control
        if control is None:
            return None
        if control.slope is None:
            return "Too few questions to tell how scores go with length: they are taken as they are."
        explained = 100 * (control.explained or 0.0)
        return (
            f"Within a question, twice the length goes with {control.slope:+.3g} points of score "
            f"({explained:.1f} % of their variance); that is taken out."
        )

    def write(self, path: Path) -> None:
        write_lines(path, (row.as_dict() for row in self.rows))


def choose(prompts: Sequence[CandidateSet], scores: Scores, control_length: bool) -> BestOfChoices:
    """Choose the best candidate of each question; of equals the first, so that a repeated run gives the same choice."""
    listed = [
        (prompt.id, index, score)
        for prompt in prompts
        for index, score in enumerate(scores[prompt.id])
        if score is not None
    ]
    control = None
    adjusted = {(name, index): score for name, index, score in listed}
    if control_length and listed:
        texts = {prompt.id: prompt.answers for prompt in prompts}
        lengths = [len(texts[name][index]) for name, index, _ in listed]
        control = length_controlled([score for *_, score in listed], lengths, [name for name, _, _ in listed])
        for (name, index, _), value in zip(listed, control.adjusted, strict=True):
            adjusted[name, index] = float(value)
    rows = []
    for prompt in prompts:
        own = list(scores[prompt.id])
        fair = [adjusted.get((prompt.id, index)) for index in range(len(own))]
        known = [(score, -index) for index, score in enumerate(fair) if score is not None]
        rows.append(BestCandidate(prompt, own, fair, -max(known)[1] if known else None))
    return BestOfChoices(rows, control)
