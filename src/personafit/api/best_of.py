"""Best of N: the answer to a person's question that fits best according to a rater.

Candidates are read from a file or made by a system. Every candidate is compared with the same base, the one of median length,
so that any rater that chooses between two answers gives each candidate a score: its margin over the base.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from personafit._errors import UserError
from personafit._hashing import content_hash
from personafit.api.callables import Callables, Judge, Named
from personafit.api.candidates import (
    BestOfChoices,
    CandidateSet,
    choose,
    comparisons,
    questions,
    read_candidates,
)
from personafit.api.loops import run_to_end
from personafit.api.places import results_object, seed_number, whole_number
from personafit.api.planning import most_spent, statuses
from personafit.api.run import opened_store
from personafit.benchmarks import Benchmark
from personafit.benchmarks.config import RunConfig
from personafit.contexts import ContextBuilder, default_model, make_context
from personafit.engine import Bars, ProgressView, Summary
from personafit.kinds import RunPlan
from personafit.kinds.attempts import left_of
from personafit.kinds.choice import ChoiceKind
from personafit.kinds.making import let_answer
from personafit.models.spec import giving
from personafit.people import Person
from personafit.raters import Rater, make_rater
from personafit.reports.result import Result
from personafit.run import carry_out, check_judges
from personafit.store import Status, Store, run_answers


@dataclass(frozen=True)
class BestOf:
    """The options of a best-of run."""

    prompts: Path
    rater: str
    context: str = "profile"
    system: str | None = None
    system_context: str = "profile"
    count: int = 4
    temperature: float = 0.8
    control_length: bool = True
    seed: int = 0
    budget: float | None = None
    retry: frozenset[Status] = frozenset()


@dataclass(frozen=True)
class BestOfOutcome:
    """The choices, a summary of each part of the run, and the rater's fingerprint; no choices if it ended before comparing."""

    asked: BestOf
    choice: BestOfChoices | None
    summaries: list[Summary]
    fingerprint: str = ""

    def as_dict(self) -> dict[str, Any]:
        asked, choice = self.asked, self.choice
        assert choice is not None
        figure = Result.of(
            choice.same_as_longest(),
            metric="same_as_longest",
            rater=asked.rater,
            system=asked.system,
            system_context=asked.system_context if asked.system else None,
            context=asked.context,
            coverage=choice.coverage,
            fingerprint=self.fingerprint,
            note=choice.note,
        )
        return results_object("best-of", [figure])


def best_of(
    prompts: str | Path,
    *,
    rater: Judge,
    context: str = "profile",
    system: Named | None = None,
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
        rater: The rater that chooses: a spec or a callable, as `evaluate` takes them.
        context: What the rater is told about the person.
        system: The system that makes the answers, for lines that have none: a spec or a callable.
        system_context: What the system is told about the person.
        samples: Number of answers the system makes to each question.
        temperature: Sampling temperature of the system.
        length_control: Whether to remove from the scores what length alone explains.
        seed: Seed of all draws.
        budget: The most this call may spend, in USD.
        retry: Re-ask what ended with one of these statuses.
        store: The store of the asks.
    """
    callables = Callables()
    raters, systems = callables.specs(rater, "raters"), callables.specs(system, "systems")
    if len(raters) != 1 or len(systems) > 1:
        raise UserError("best_of takes one rater, and one system or none.")
    asked = BestOf(
        Path(prompts),
        raters[0],
        context,
        systems[0] if systems else None,
        system_context,
        whole_number("samples", samples),
        _temperature(temperature),
        length_control,
        seed_number(seed),
        budget=None if budget is None else most_spent(budget),
        retry=statuses(retry),
    )
    with giving(callables.given), opened_store(store) as opened, Bars() as progress:
        return run_to_end(lambda: run_best_of(opened, asked, progress))


def _temperature(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise UserError(f"temperature={value!r:.60}: give a number of at least 0, such as 0.8.")
    return float(value)


async def run_best_of(store: Store, asked: BestOf, progress: ProgressView) -> BestOfOutcome:
    """Make missing candidates, compare all, and choose the best of each question."""
    prompts, people = read_candidates(asked.prompts)
    _check(asked, prompts)
    config = RunConfig("best-of", raters=[asked.rater], budget=asked.budget)
    await check_judges(config, ChoiceKind())  # a misspelt spec is found before anything is spent on answers
    summaries: list[Summary] = []
    if asked.system is not None:
        prompts, made = await _sampled(store, asked, prompts, people, progress)
        summaries.append(made)
        if made.ended_early:
            return BestOfOutcome(asked, None, summaries)
        asked = replace(asked, budget=left_of(asked.budget, made))
    plan = _plan(store, asked, comparisons(prompts, people), config)
    context = make_context(asked.context, plan.people, asked.seed, default_model([asked.rater]))
    rater = make_rater(asked.rater)
    plan.contexts, plan.builders, plan.raters = [context.name], [context], [rater]
    plan.record = {
        "benchmark": "best-of",
        "kind": "best-of",
        "dataset": plan.dataset,
        "view": asked.context,
        "seed": asked.seed,
        "raters": [{"fingerprint": rater.record.fingerprint, "name": rater.record.name}],
        "notes": [],
    }
    finished = await carry_out(plan, progress)
    summaries.append(finished.summary)
    if all(lane.name != rater.record.name for lane in finished.summary.lanes):  # its context was not made
        return BestOfOutcome(asked, None, summaries)
    scores = dict(_scores(store, finished.run.id, prompts, rater))
    choice = choose(prompts, scores, asked.control_length)
    return BestOfOutcome(asked, choice, summaries, rater.record.fingerprint)


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


def _plan(store: Store, asked: BestOf, benchmark: Benchmark, config: RunConfig) -> RunPlan:
    """Return the plan of one part of the work."""
    config = replace(config, seed=asked.seed, budget=asked.budget, retry=asked.retry)
    return RunPlan.of(ChoiceKind(), store, config, benchmark)


async def _sampled(
    store: Store,
    asked: BestOf,
    prompts: list[CandidateSet],
    people: dict[str, Person],
    progress: ProgressView,
) -> tuple[list[CandidateSet], Summary]:
    """Return the questions with the answers that the system made."""
    config = RunConfig("best-of", systems=[str(asked.system)])
    plan = _plan(store, asked, questions(prompts, people), config)

    async def told(spec: str, *_: Any) -> tuple[list[ContextBuilder], None]:
        return [make_context(asked.system_context, plan.people, asked.seed, default_model([spec]))], None

    def name(attempt: int) -> str:
        parts = [plan.dataset, asked.system, asked.system_context, asked.seed, asked.temperature, attempt]
        return f"best-of-answering-{content_hash(parts)[:8]}"

    record = {"benchmark": "best-of", "kind": "best-of"}
    done = await let_answer(plan, progress, name, record, 1, told, asked.count, asked.temperature)
    answers = (row for one in done.answerings for row in one.answers())
    made = {item.id: tuple(dict.fromkeys(texts.values())) for item, texts in answers}
    if done.answerings:
        done.refuse_nothing(text for texts in made.values() for text in texts)
    return [replace(prompt, answers=made.get(f"best-of/{prompt.id}", ())) for prompt in prompts], done.summary


def _scores(
    store: Store, run: int, prompts: list[CandidateSet], rater: Rater
) -> Iterator[tuple[str, list[float | None]]]:
    """Yield each prompt's id and the scores of its candidates: a reward model's own, or else their margins over the base."""
    answers = run_answers(store, run)
    parts = answers.filter(pl.col("target") == "").partition_by("item", as_dict=True)
    asked = {str(item): rows.to_dicts() for (item,), rows in parts.items()}
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
