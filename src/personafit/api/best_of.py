"""Best of N: from several answers to one person's question, the one that a rater finds to fit best.

Candidates are read from a file or made by a system. Every candidate is compared with one and the same other, the one of middle length,
so that any rater that chooses between two answers gives each candidate a score: how far it is ahead of that one. Length is taken out of
the scores before the best is chosen.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from personafit._errors import UserError, writing
from personafit._hashing import content_hash
from personafit.api.places import results_object
from personafit.api.run import open_store
from personafit.benchmarks import ingest
from personafit.benchmarks.benchmark import Benchmark, BenchmarkInfo
from personafit.benchmarks.config import RunConfig
from personafit.benchmarks.lines import read_lines, validated
from personafit.benchmarks.rows import RowChecks, inline_person
from personafit.contexts import People, default_model, make_context, make_contexts
from personafit.engine import Bars, ProgressView, Runner, Summary, check_budget
from personafit.kinds.choice import ChoiceKind
from personafit.kinds.kind import RunPlan
from personafit.models import make_model
from personafit.people import Person
from personafit.raters import Rater, make_rater, rater_lane
from personafit.reports.result import Result
from personafit.simulate.answering import Answering
from personafit.statistics import Estimate, cluster_mean
from personafit.statistics.length import LengthControl, length_controlled
from personafit.store import Item, Product, Status, Store, run_answers


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
    """A question of a person with the candidate answers to it."""

    id: str
    person: str
    question: str
    answers: tuple[str, ...]

    @property
    def base(self) -> int:
        """The candidate that the others are compared with: the one of middle length."""
        order = sorted(range(len(self.answers)), key=lambda index: (len(self.answers[index]), index))
        return order[(len(order) - 1) // 2]

    def item_id(self, index: int) -> str:
        """The id of the comparison of a candidate with the base."""
        return f"best-of/{self.id}/{index}"


def read_candidates(path: Path) -> tuple[list[CandidateSet], dict[str, Person]]:
    """The questions of a file and everyone in it."""
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


class Candidates(Benchmark):
    """Questions of people as items that a system answers or a rater compares. There is no gold."""

    def __init__(
        self,
        name: str,
        people: Mapping[str, Person],
        items: Sequence[Item],
        products: Sequence[Product] = (),
    ) -> None:
        self.info = BenchmarkInfo(
            name=name,
            version="1",
            title="Candidate answers, to be chosen among",
            licence="the user's own",
            language=sorted({person.language for person in people.values()}),
            layout=[],
        )
        self._people, self._products, self._items = people, products, items

    def people(self) -> Iterator[Person]:
        """Everyone who asked, or may stand in as the wrong person."""
        yield from self._people.values()

    def products(self) -> Iterator[Product]:
        """The candidates; none where they are about to be made."""
        yield from self._products

    def items(self) -> Iterator[Item]:
        """The questions, or each candidate against the base."""
        yield from self._items


def questions(prompts: Sequence[CandidateSet], people: Mapping[str, Person]) -> Candidates:
    """The questions alone, for a system that is to answer them."""
    items = [
        Item(id=f"best-of/{one.id}", kind="prompt", person=one.person, prompt=one.question, products=[])
        for one in prompts
    ]
    return Candidates("best-of-questions", people, items)


def comparisons(prompts: Sequence[CandidateSet], people: Mapping[str, Person]) -> Candidates:
    """The candidates as pairs: each with its question's base."""
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
    return Candidates("best-of", people, items, products)


# -- choosing ------------------------------------------------------------------------------------------------------------------

Scores = Mapping[str, Sequence[float | None]]
"""Per prompt the scores of its candidates; None where there is none."""


@dataclass(frozen=True)
class BestCandidate:
    """The candidate chosen for one question, with the scores of all."""

    prompt: CandidateSet
    scores: list[float | None]
    adjusted: list[float | None]
    chosen: int | None

    @property
    def longest(self) -> int | None:
        """The longest answer, the first of equals; None where no answer could be made."""
        lengths = [len(answer) for answer in self.prompt.answers]
        return lengths.index(max(lengths)) if lengths else None

    def as_dict(self) -> dict[str, Any]:
        """One line of the output file."""
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

    def same_as_longest(self) -> Estimate:
        """How often the longest answer was chosen, over questions with two answers or more."""
        made = [row for row in self.rows if row.chosen is not None and len(row.prompt.answers) > 1]
        same = [float(row.chosen == row.longest) for row in made]
        people, questions = [row.prompt.person for row in made], [row.prompt.question for row in made]
        return cluster_mean(same, people, questions, (0.0, 1.0))

    @property
    def note(self) -> str | None:
        """How scores go with length, as a sentence; None where length is not controlled."""
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
        """Write a line for each question, with all scores."""
        with writing(path):
            path.write_bytes(b"".join(orjson.dumps(row.as_dict()) + b"\n" for row in self.rows))


def choose(prompts: Sequence[CandidateSet], scores: Scores, control_length: bool) -> BestOfChoices:
    """Choose the best candidate of each question; of equals the first, so that repeating a run gives the same choice."""
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
        rows.append(BestCandidate(prompt, own, fair, _best(fair)))
    return BestOfChoices(rows, control)


def _best(scores: Sequence[float | None]) -> int | None:
    known = [(score, -index) for index, score in enumerate(scores) if score is not None]
    return -max(known)[1] if known else None


# -- carrying it out -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BestOf:
    """The options of a best-of run."""

    prompts: Path
    rater: str
    view: str = "profile"
    system: str | None = None
    given: str = "profile"
    count: int = 4
    temperature: float = 0.8
    control_length: bool = True
    seed: int = 0
    budget: float | None = None
    retry: frozenset[Status] = frozenset()


@dataclass(frozen=True)
class BestOfOutcome:
    """The choices, how each part of the run ended, and the rater's fingerprint; no choices if it ended before comparing."""

    asked: BestOf
    choice: BestOfChoices | None
    summaries: list[Summary]
    fingerprint: str

    def as_dict(self) -> dict[str, Any]:
        """The object that `--json` prints."""
        asked, choice = self.asked, self.choice
        assert choice is not None
        figure = Result.of(
            choice.same_as_longest(),
            metric="same_as_longest",
            rater=asked.rater,
            system=asked.system,
            given=asked.given if asked.system else None,
            view=asked.view,
            coverage=choice.coverage,
            fingerprint=self.fingerprint,
            note=choice.note,
        )
        return results_object("best-of", [figure])


def best_of(
    prompts: str | Path,
    *,
    rater: str,
    context: str = "profile",
    system: str | None = None,
    system_context: str = "profile",
    samples: int = 4,
    temperature: float = 0.8,
    length_control: bool = True,
    seed: int = 0,
    budget: float | None = None,
    retry: Iterable[Status] = (),
    store: str | Path | Store | None = None,
) -> BestOfOutcome:
    """Choose the best of several answers to each question of a file by a rater; the same call resumes.

    Args:
        prompts: JSONL with `person`, `question` and `answers` on each line.
        rater: Who chooses.
        context: What the rater is told about the person.
        system: Who makes the answers, where lines have none.
        system_context: What the system is told about the person.
        samples: Number of answers the system makes to each question.
        temperature: Sampling temperature of the system.
        length_control: Whether to take out of the scores what length alone explains.
        seed: Seed of all draws.
        budget: The most this call may spend, in USD.
        retry: Re-ask what ended with one of these statuses.
        store: Where asks are kept.
    """
    asked = BestOf(
        *(Path(prompts), rater, context, system, system_context, samples, temperature, length_control, seed),
        budget=budget,
        retry=frozenset(retry),
    )
    opened, owns = open_store(store)
    try:
        with Bars() as progress:
            return asyncio.run(run_best_of(opened, asked, progress))
    finally:
        if owns:
            opened.close()


async def run_best_of(store: Store, asked: BestOf, progress: ProgressView) -> BestOfOutcome:
    """Make missing candidates, compare all, and choose the best of each question."""
    prompts, people = read_candidates(asked.prompts)
    _check(asked, prompts)
    rater = make_rater(asked.rater)  # a misspelt one is found before anything is spent on answers
    summaries: list[Summary] = []
    try:
        check_budget(asked.budget, [(rater.record.name, rater)])
        if asked.system is not None:
            prompts, made = await _sampled(store, asked, prompts, people, progress)
            summaries.append(made)
            if made.ended_early:
                return BestOfOutcome(asked, None, summaries, rater.record.fingerprint)
            if not any(prompt.answers for prompt in prompts):
                raise UserError(
                    f"No answer could be made: {made.last_failure or 'the system answered nothing'}", code=1
                )
            if asked.budget is not None:
                asked = replace(asked, budget=max(0.0, asked.budget - made.cost))
        scores, compared = await _compared(store, asked, prompts, people, rater, progress)
        summaries.append(compared)
        if scores is None:
            return BestOfOutcome(asked, None, summaries, rater.record.fingerprint)
    finally:
        await rater.close()
    return BestOfOutcome(
        asked, choose(prompts, scores, asked.control_length), summaries, rater.record.fingerprint
    )


def _check(asked: BestOf, prompts: list[CandidateSet]) -> None:
    for prompt in prompts:
        if asked.system is None and not prompt.answers:
            raise UserError(
                f"{asked.prompts}: '{prompt.id}' has no answers to choose among; list them, or let --system make them."
            )
        if asked.system is not None and prompt.answers:
            raise UserError(
                f"{asked.prompts}: '{prompt.id}' has answers already; leave out --system, or them."
            )


async def _sampled(
    store: Store,
    asked: BestOf,
    prompts: list[CandidateSet],
    people: dict[str, Person],
    progress: ProgressView,
) -> tuple[list[CandidateSet], Summary]:
    """The questions with the answers that the system made."""
    assert asked.system is not None
    dataset = ingest(store, questions(prompts, people))
    everyone = People(store.people(dataset))
    model = make_model(asked.system)
    try:
        check_budget(asked.budget, [(model.name, model)])
        given = make_context(asked.given, everyone, asked.seed, default_model([asked.system]))
        sampling = Answering(
            store,
            dataset,
            everyone,
            model,
            [given],
            samples=asked.count,
            temperature=asked.temperature,
        )
        name = (
            f"best-of-answering-{content_hash([dataset, sampling.fingerprint, asked.given, asked.seed])[:8]}"
        )
        record = {"benchmark": "best-of", "kind": "best-of", "systems": [asked.system], "stage": "answering"}
        run = store.begin_run(name, dataset, record, store.count_items(dataset) * asked.count)
        runner = Runner(store, run.id, progress, asked.retry, asked.budget)
        told = await make_contexts([given], store, everyone, lambda: store.items(dataset), runner)
        if told is not None and told.ended_early:
            return prompts, told
        summary = await runner.run([sampling.lane()])
    finally:
        await model.close()
    made = {item.id: tuple(dict.fromkeys(texts.values())) for item, texts in sampling.answers()}
    return [replace(prompt, answers=made.get(f"best-of/{prompt.id}", ())) for prompt in prompts], summary


async def _compared(
    store: Store,
    asked: BestOf,
    prompts: list[CandidateSet],
    people: dict[str, Person],
    rater: Rater,
    progress: ProgressView,
) -> tuple[Scores | None, Summary]:
    """The scores of all candidates; None where it ended before any was compared."""
    benchmark = comparisons(prompts, people)
    dataset = ingest(store, benchmark)
    everyone = People(store.people(dataset))
    view = make_context(asked.view, everyone, asked.seed, default_model([asked.rater]))
    kind = ChoiceKind()
    config = RunConfig("best-of", raters=[asked.rater], seed=asked.seed)
    plan = RunPlan(kind, store, config, benchmark.info, dataset, everyone, [view.name], builders=[view])
    record = {
        "benchmark": "best-of",
        "kind": "best-of",
        "dataset": dataset,
        "view": asked.view,
        "seed": asked.seed,
        "raters": [{"fingerprint": rater.record.fingerprint, "name": rater.record.name}],
    }
    run = store.begin_run(f"best-of-{content_hash(record)[:8]}", dataset, record, kind.count(plan, rater))
    store.add_raters([rater.record])
    runner = Runner(store, run.id, progress, asked.retry, asked.budget)
    told = await make_contexts([view], store, everyone, plan.items, runner)
    if told is not None and told.ended_early:
        return None, told
    summary = await runner.run([rater_lane(rater, kind.shown(plan, rater), kind.count(plan, rater))])
    return dict(_scores(store, run.id, prompts, rater)), summary


def _scores(
    store: Store, run: int, prompts: list[CandidateSet], rater: Rater
) -> Iterator[tuple[str, list[float | None]]]:
    """Per prompt the scores of its candidates: a reward model's own, or else how far each is ahead of the base."""
    answers = run_answers(store, run)
    asked = _by_item(answers.filter(pl.col("target") == ""))
    replies = store.replies(answers["job"]) if rater.record.kind == "reward" and asked else {}
    orders = 2 if rater.order_matters else 1
    for prompt in prompts:
        scores: list[float | None] = [None] * len(prompt.answers)
        if not scores:  # no answer could be made
            yield prompt.id, scores
            continue
        ahead: dict[int, float] = {}
        for index in range(len(scores)):
            rows = asked.get(prompt.item_id(index), [])
            if index == prompt.base or any(
                row["status"] != Status.OK or row["value"] is None for row in rows
            ):
                continue
            own = [orjson.loads(reply) for row in rows if (reply := replies.get(row["ask"], (None,))[0])]
            if own:
                scores[prompt.base], scores[index] = own[0]
            elif len(rows) == orders:
                ahead[index] = -sum(row["value"] for row in rows) / len(rows)
        level = (
            scores[prompt.base] or 0.0
        )  # of a reward model only those without a reply: word for word the base
        for index, lead in ahead.items():
            scores[index] = level + lead
        if len(scores) == 1 or ahead:
            scores[prompt.base] = level
        yield prompt.id, scores


def _by_item(answers: pl.DataFrame) -> dict[str, list[dict[str, Any]]]:
    return {str(rows[0]["item"]): rows for rows in (part.to_dicts() for part in answers.partition_by("item"))}
