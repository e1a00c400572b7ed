"""Choices: which of several answers fits the person. Systems turn questions into choices by answering them.

A system answers each question told of the person, of nobody and of somebody else; its answer is held against the other two.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from personafit._errors import UserError
from personafit._hashing import content_hash, hash_text
from personafit.benchmarks.answers import RESERVED, TESTED_ANSWER, AnswerRow, Answers
from personafit.benchmarks.benchmark import Benchmark, Prompts, ingest
from personafit.benchmarks.config import RunConfig
from personafit.contexts import (
    ContextBuilder,
    People,
    context_fingerprint,
    default_model,
    make_context,
)
from personafit.engine import Summary
from personafit.items.choice import CHOICES, UNMADE_NOTE
from personafit.items.reading import Part, QuestionSet
from personafit.kinds.choice_scores import choice_lines, load_scores
from personafit.kinds.kind import Kind, Made, RunPlan, left_of
from personafit.kinds.lines import RunLines
from personafit.raters import Rater
from personafit.raters.rater import fitted_mark
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
        from personafit.kinds.making import let_answer

        dataset = ingest(store, benchmark)
        people = People(store.people(dataset))
        asked = replace(config, where=_of_questions(config))
        plan = RunPlan(self, store, asked, benchmark.info, dataset, people, [])
        plan.selected = self.select(plan)
        typed = list(dict.fromkeys(config.givens or ["profile"]))
        names = list(dict.fromkeys([*typed, "none", *(f"wrong:{name}" for name in typed)]))

        async def told(spec: str, *_: Any) -> tuple[list[ContextBuilder], None]:
            return [make_context(name, people, config.seed, default_model([spec])) for name in names], None

        name, record = partial(_making_name, config), {"benchmark": "answers"}
        done = await let_answer(plan, progress, name, record, len(names), told)
        if not done.answerings:
            return Made(None, done.summary, done.run, config)
        # As contexts call themselves: memory:k=3 is memory.
        called = [builder.name for builder in done.answerings[0].givens[: len(typed)]]
        tiers = benchmark.tiers() if isinstance(benchmark, Prompts) else {}
        answers = _answers(done.answerings, called, people, config, done.summary, tiers)
        of_pairs = [one for one in config.where if one not in asked.where]
        rest = left_of(config.budget, done.summary)
        judged = replace(config, limit=None, users=None, where=of_pairs, budget=rest)
        systems = {one.fingerprint: one.system.name for one in done.answerings}
        return Made(answers, done.summary, done.run, judged, done.counts, systems)

    def estimate_making(self, config: RunConfig, benchmark: Benchmark) -> list[str] | None:
        """What answering and judging would take."""
        from personafit.kinds.making import estimate_answers

        items = sum(1 for _ in benchmark.items())
        questions, givens = min(items, config.limit or items), len(config.givens or ["profile"])
        pairs = questions * 2 * givens * max(1, len(config.systems))
        asks = pairs * (len(config.views) or 3) * 2
        return estimate_answers(config, questions, 1 + 2 * givens, pairs, asks)


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
    tiers: Mapping[str, str],
) -> Answers:
    """What the systems answered, as pairs to be judged."""
    rows: list[AnswerRow] = []
    notes: list[str] = []
    for answering in answerings:
        made, missing = _answer_rows(answering, given_names, tiers)
        rows += made
        if missing:
            notes.append(f"{answering.system.name} left {missing} answers unmade (failed, refused or empty).")
    if not any(row.answer for row in rows):
        raise UserError(
            f"No answer could be made: {summary.last_failure or 'the systems answered nothing'}", code=1
        )
    return Answers(rows, dict(people), config.seed, notes)


def _answer_rows(
    answering: "Answering", given_names: Sequence[str], tiers: Mapping[str, str]
) -> tuple[list[AnswerRow], int]:
    """Rows of what the system answered, "" where it was asked and made nothing, and how many of these there are.

    What is known of a question, its tier included, is said of the answers to it too, so that a gate can name it.
    """
    rows, missing, own = [], 0, {*AnswerRow.model_fields, *RESERVED}
    for item, texts in answering.tried():
        known = {"tier": tiers[item.id]} if item.id in tiers else {}
        known |= {name: value for name, value in item.slices.items() if name not in own}
        for given in given_names:
            wanted = (given, "none", f"wrong:{given}")
            missing += sum(texts.get(name) == "" for name in wanted)
            if given not in texts:
                continue
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
                    **known,
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
