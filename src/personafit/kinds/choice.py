"""Choices: which of several answers fits the person. Systems turn questions into choices by answering them.

A system answers each question told of the person, of nobody and of somebody else; its answer is held against the other two.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from personafit._errors import UserError
from personafit._hashing import content_hash, hash_text
from personafit.benchmarks.answers import TESTED_ANSWER, AnswerRow, Answers
from personafit.benchmarks.benchmark import Benchmark, ingest
from personafit.benchmarks.config import RunConfig
from personafit.contexts import (
    ContextBuilder,
    People,
    context_fingerprint,
    default_model,
    make_context,
    make_contexts,
    makers,
)
from personafit.engine import Runner, Summary, check_budget
from personafit.items.choice import CHOICES, UNMADE_NOTE
from personafit.items.reading import Part, QuestionSet
from personafit.kinds.choice_scores import choice_lines, load_scores
from personafit.kinds.kind import Kind, Made, RunPlan, count_answers, left_of, open_attempt
from personafit.kinds.lines import RunLines
from personafit.models import make_model
from personafit.raters import Rater
from personafit.raters.fitted.rater import fitted_mark
from personafit.store import MET, UNMADE, Item, RunRecord, Store, gold_answers, item_rows

if TYPE_CHECKING:
    from personafit.engine import ProgressView
    from personafit.simulate import Answering

OF_PAIRS = ("against", "expect", "given", "system")
"""What --where can say of pairs of answers; all else is said of the questions, before any is answered."""


class ChoiceKind(Kind):
    """Which answer fits the person."""

    name = "choice"
    asks: ClassVar[QuestionSet] = CHOICES
    made_from: ClassVar[str | None] = "prompt"
    options: ClassVar[frozenset[str]] = frozenset({"system", "system-context"})
    strata: ClassVar[tuple[str, ...]] = ("half", "tier", "against", "expect")

    def lines(self, store: Store, run: RunRecord) -> RunLines:
        """A run read back: a line for every rater, context and system whose answers were judged."""
        return choice_lines(load_scores(store, run))

    bars: ClassVar[tuple[str, ...]] = (
        "accuracy",
        "accuracy_debiased",
        "consistency",
        "lift",
        "restraint",
        "win_rate",
        "win_rate_debiased",
    )

    def rows(self, plan: RunPlan) -> pl.DataFrame:
        """The items with their tiers."""
        return rows_with_tiers(plan.store, plan.dataset)

    def part(self, item: Item) -> Part:
        """The item; where an answer was not made, what follows from that."""
        unmade = item.slices.get(UNMADE)
        if unmade is None:
            return Part(item.id, content=item.hash)
        if unmade == TESTED_ANSWER:
            return Part(item.id, content=item.hash, note=UNMADE_NOTE)
        why = f"there is no {unmade} answer to compare with: nobody was asked"
        return Part(item.id, content=item.hash, skip=why)

    def facts(self, plan: RunPlan) -> dict[str, Any]:
        """The instrument, and what shaped the contexts."""
        found = {name: value for name, value in super().facts(plan).items() if name != "kind"}
        if alone := _without_wrong(plan):
            found["without_wrong"] = alone
        if prints := {one.name: print for one in plan.builders if (print := context_fingerprint(one))}:
            found["contexts"] = prints
        return found

    def notes(self, plan: RunPlan, benchmark: Benchmark) -> Iterator[str]:
        """Raters that met the people in training, and items that have no wrong person."""
        yield from _note_fitted(plan.raters, plan)
        if alone := _without_wrong(plan):
            yield (
                f"{alone:,} items are of people whose language and script nobody shares: they are not judged under "
                "the wrong person, and leave the lift over it."
            )

    async def make(
        self, store: Store, config: RunConfig, progress: "ProgressView", benchmark: Benchmark
    ) -> Made | None:
        """Let every system answer every question, told of the person, of nobody, and of somebody else."""
        from personafit.simulate import Answering

        dataset = ingest(store, benchmark)
        people = People(store.people(dataset))
        asked = replace(config, where=_of_questions(config))
        selected = self.select(RunPlan(self, store, asked, benchmark.info, dataset, people, []))
        typed = config.givens or ["profile"]
        names = list(dict.fromkeys([*typed, "none", *(f"wrong:{name}" for name in typed)]))
        models = [make_model(spec) for spec in config.systems]
        check_budget(config.budget, [(model.name, model) for model in models])
        attempt, owner = open_attempt(store, config, models, partial(_making_name, config))
        name = _making_name(config, attempt)
        givens: list[list[ContextBuilder]] = [
            [make_context(name, people, config.seed, default_model([spec])) for name in names]
            for spec in config.systems
        ]
        every = [given for told in givens for given in told]
        check_budget(config.budget, [(maker.model.name, maker.model) for maker in makers(every)])
        called = {name: given.name for name, given in zip(names, givens[0], strict=True)}
        answerings = [
            Answering(store, dataset, people, model, each, selected, name if attempt else "")
            for model, each in zip(models, givens, strict=True)
        ]
        try:
            record = {
                "benchmark": "answers",
                "systems": config.systems,
                "stage": "answering",
                "owner": owner,
            }
            asks = sum(answering.count for answering in answerings)
            run = store.begin_run(name, dataset, record, asks)
            runner = Runner(store, run.id, progress, config.retry, config.budget)
            told = await make_contexts(every, store, people, answerings[0].items, runner)
            if told is not None and told.ended_early:
                return Made(None, told, run.name, config)
            summary = await runner.run([answering.lane() for answering in answerings])
        finally:
            for model in models:
                await model.close()
        if summary.ended_early:
            return Made(None, summary, run.name, config)
        # As contexts call themselves: memory:k=3 is memory.
        answers = _answers(answerings, [called[name] for name in typed], people, config, summary)
        of_pairs = [one for one in config.where if one not in asked.where]
        rest = left_of(config.budget, summary)
        judged = replace(config, limit=None, users=None, where=of_pairs, budget=rest)
        unmade = sum(answering.unmade() for answering in answerings)
        counts = count_answers(summary.lanes[-len(models) :], models, config.fresh, unmade)
        return Made(answers, summary, run.name, judged, counts)

    def estimate_making(self, config: RunConfig, benchmark: Benchmark) -> list[str] | None:
        """What answering and judging would take."""
        from personafit.simulate.answering import USUAL_TOKENS

        items = sum(1 for _ in benchmark.items())
        questions = min(items, config.limit or items)
        givens = len(config.givens or ["profile"])
        lines = []
        for spec in config.systems:
            model = make_model(spec)
            calls = questions * (1 + 2 * givens)
            line = f"{model.name}: {calls:,} answers, about {calls * USUAL_TOKENS:,} tokens out"
            if model.price is not None:
                line += f", about {calls * USUAL_TOKENS * model.price[1] / 1e6:.2f} USD"
            lines.append(f"{line}.")
        pairs = questions * 2 * givens * max(1, len(config.systems))
        contexts = len(config.views) or 3
        lines.append(f"Each judge that sees an order: {pairs * contexts * 2:,} asks over {pairs:,} pairs.")
        return lines


def rows_with_tiers(store: Store, dataset: str) -> pl.DataFrame:
    """The items of a data set with their tiers."""
    gold = gold_answers(store, dataset, store.dataset_info(dataset)["gold"])
    return item_rows(store, dataset).join(gold.select("item", "tier"), on="item", how="left")


def _without_wrong(plan: RunPlan) -> int:
    """How many items have nobody who could stand in for their person, where a context asks for that."""
    if not any(name.startswith("wrong:") for name in plan.contexts) or not plan.people.alone:
        return 0
    rows = item_rows(plan.store, plan.dataset).filter(pl.col("person").is_in(list(plan.people.alone)))
    if plan.selected is None:
        return len(rows)
    return len(rows.filter(pl.col("item").is_in(list(plan.selected))))


def _note_fitted(raters: Sequence[Rater], plan: RunPlan) -> Iterator[str]:
    """A rater on the people it was fitted on shows memory, not skill: say so beside its score (`RunRecord.met_people`)."""
    if not any(rater.fitted_on for rater in raters):
        return
    people = set(plan.people) if plan.selected is None else {item.person for item in plan.items()}
    marks = {fitted_mark(person) for person in people}
    for rater in raters:
        met = len(marks & rater.fitted_on)
        if met:
            yield f"{rater.record.name}{MET}{met:,} of the people here: its score on them is no evidence."


def _answers(
    answerings: "Sequence[Answering]",
    given_names: Sequence[str],
    people: People,
    config: RunConfig,
    summary: Summary,
) -> Answers:
    """What the systems answered, as pairs to be judged."""
    rows: list[AnswerRow] = []
    notes: list[str] = []
    for answering in answerings:
        made, missing = _answer_rows(answering, given_names)
        rows += made
        if missing:
            notes.append(f"{answering.system.name} left {missing} answers unmade (failed, refused or empty).")
    if not any(row.answer for row in rows):
        raise UserError(
            f"No answer could be made: {summary.last_failure or 'the systems answered nothing'}", code=1
        )
    return Answers(rows, dict(people), config.seed, notes)


def _answer_rows(answering: "Answering", given_names: Sequence[str]) -> tuple[list[AnswerRow], int]:
    """Rows of what the system answered, "" where it was asked and made nothing, and how many of these there are."""
    rows, missing, spent = [], 0, answering.spent()
    for item, texts in answering.tried():
        for given in given_names:
            wanted = (given, "none", f"wrong:{given}")
            missing += sum(texts.get(name) == "" for name in wanted)
            if given not in texts:
                continue
            seconds, cost = spent.get((item.id, given), (None, None))
            rows.append(
                AnswerRow(
                    id=f"{hash_text(answering.system.name)[:6]}/{given}/{item.id}",
                    person=item.person,
                    question=item.prompt,
                    answer=texts[given],
                    generic=texts.get("none"),
                    wrong=texts.get(f"wrong:{given}"),
                    expect="generic" if item.slices.get("expect") == "generic" else "personal",
                    system=answering.system.name,
                    given=given,
                    seconds=seconds,
                    cost=cost,
                )
            )
    return rows, missing


def _of_questions(config: RunConfig) -> list[str]:
    """What --where says of the questions; a log of answers has none apart."""
    return [condition for condition in config.where if condition.partition("=")[0] not in OF_PAIRS]


def _making_name(config: RunConfig, attempt: int) -> str:
    """What the run that makes the answers is called."""
    parts = [config.systems, config.givens, str(config.data), config.users, config.limit, config.seed]
    parts += [_of_questions(config)] if _of_questions(config) else []
    parts += [attempt] if attempt else []
    return f"answering-{content_hash(parts)[:8]}"
