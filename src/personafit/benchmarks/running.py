"""One run from configuration to stored judgments: read, answer (if a system is tested), judge.

What a run covers is decided here and written with it; reports read it back and compute nothing but numbers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from personafit._errors import UserError
from personafit._hashing import content_hash, hash_text
from personafit.benchmarks import Benchmark, BenchmarkInfo, ingest, open_benchmark
from personafit.benchmarks.answers import AnswerRow, Answers, read_log
from personafit.benchmarks.prompts import Prompts
from personafit.contexts import People, make_context
from personafit.engine import ProgressView, Runner, Summary
from personafit.items import FIT
from personafit.models import make_model
from personafit.raters import Judging, Rater, judging_lanes, make_rater, select_items
from personafit.raters.fitted.rater import fitted_mark
from personafit.simulate import Answering
from personafit.store import RunRecord, Status, Store, gold_answers, item_rows


@dataclass
class RunConfig:
    """What the command line asks for."""

    benchmark: str
    data: Path | None = None
    log: Path | None = None
    raters: list[str] = field(default_factory=list)
    views: list[str] = field(default_factory=list)
    systems: list[str] = field(default_factory=list)
    givens: list[str] = field(default_factory=list)
    users: str | list[str] | None = None
    limit: int | None = None
    seed: int = 0
    samples: int = 1
    budget: float | None = None
    retry: frozenset[Status] = frozenset()
    command: str | None = None
    """What was typed, for whoever wants to do it again."""


@dataclass
class Finished:
    """A run after this command's work on it."""

    run: RunRecord
    summary: Summary


@dataclass
class Plan:
    """A run that is ready to be carried out: what is judged, by whom, under which name."""

    judging: Judging
    raters: list[Rater]
    info: BenchmarkInfo
    record: dict[str, Any]

    @property
    def name(self) -> str:
        """The run's name: the same configuration and data give the same name, so the same command resumes."""
        parts = {
            name: value for name, value in self.record.items() if name not in ("raters", "notes", "command")
        }
        raters = [rater["fingerprint"] for rater in self.record["raters"]]
        return f"{self.info.name}-{content_hash([parts, raters])[:8]}"

    @property
    def asks(self) -> int:
        """How many asks the raters get."""
        return sum(self.judging.count(rater) for rater in self.raters)

    async def close(self) -> None:
        """Release all raters."""
        for rater in self.raters:
            await rater.close()


async def execute(store: Store, config: RunConfig, progress: ProgressView) -> Finished:
    """Carry a run out, from wherever it stands to its end."""
    generation: Summary | None = None
    if config.benchmark == "answers":
        await _check_judges(config)
        benchmark, generation = await _answers(store, config, progress)
        if generation is not None and (
            generation.interrupted or any(lane.stopped for lane in generation.lanes)
        ):
            run = store.run(_generation_name(config))
            return Finished(run, generation)
        if generation is not None:  # the questions are chosen; whatever was made of them is judged
            config = replace(config, limit=None, users=None, budget=_rest(config.budget, generation))
    else:
        benchmark = open_benchmark(config.benchmark, config.data)
    plan = make_plan(store, config, benchmark)
    _check_budget(config.budget, plan.raters)
    try:
        run = store.begin_run(plan.name, plan.judging.dataset, plan.record, plan.asks)
        store.add_raters(rater.record for rater in plan.raters)
        runner = Runner(store, run.id, progress, config.retry, config.budget)
        summary = await runner.run(judging_lanes(plan.judging, plan.raters))
    finally:
        await plan.close()
    if not summary.interrupted and not any(lane.stopped for lane in summary.lanes):
        store.finish_run(run.name)
    if generation is not None:
        summary.cost += generation.cost
        summary.tokens_in += generation.tokens_in
        summary.tokens_out += generation.tokens_out
    return Finished(store.run(run.name), summary)


def make_plan(store: Store, config: RunConfig, benchmark: Benchmark) -> Plan:
    """Decide what a run covers; the data is read into the store on the way."""
    info = benchmark.info
    dataset = ingest(store, benchmark)
    people = People(store.people(dataset))
    views = list(dict.fromkeys(config.views or [info.view, *info.controls.views]))
    specs = list(dict.fromkeys([*config.raters, *info.controls.raters]))
    raters = [make_rater(spec) for spec in specs]
    selected = _selection(store, dataset, config)
    judging = Judging(
        store=store,
        dataset=dataset,
        people=people,
        views=[make_context(view, people, config.seed) for view in views],
        question=FIT,
        seed=config.seed,
        samples=config.samples,
        selected=selected,
    )
    record = {
        "benchmark": info.name,
        "dataset": dataset,
        "question": FIT.name,
        "instrument": FIT.fingerprint,
        "views": views,
        "seed": config.seed,
        "samples": config.samples,
        "selected": None if selected is None else sorted(selected),
        "raters": [
            {
                "fingerprint": rater.record.fingerprint,
                "name": rater.record.name,
                "kind": rater.record.kind,
                "orders": 2 if rater.order_matters else 1,
                "control": spec not in config.raters,
            }
            for spec, rater in zip(specs, raters, strict=True)
        ],
        "notes": [*benchmark.notes(), *_note_fitted(raters, people)],
        "command": config.command,
    }
    return Plan(judging, raters, info, record)


def _note_fitted(raters: Sequence[Rater], people: People) -> Iterator[str]:
    """A rater on the people it was fitted on shows memory, not skill: say so beside its score."""
    marks = {fitted_mark(person) for person in people}
    for rater in raters:
        met = len(marks & getattr(rater, "fitted_on", frozenset()))
        if met:
            yield f"{rater.record.name} was fitted on {met:,} of the people here: its score on them is no evidence."


def _selection(store: Store, dataset: str, config: RunConfig) -> frozenset[str] | None:
    if config.limit is None and config.users is None:
        return None
    gold = gold_answers(store, dataset, store.dataset_info(dataset)["gold"])
    rows = item_rows(store, dataset).join(gold.select("item", "tier"), on="item", how="left")
    if config.users is not None:
        rows = rows.filter(pl.col("person").is_in(_chosen_people(rows, config.users, config.seed)))
        if rows.is_empty():
            raise UserError(f"--users {config.users} leaves nobody to judge for.")
    if config.limit is None:
        return frozenset(rows["item"])
    strata = [name for name in ("half", "tier", "against", "expect") if name in rows.columns]
    return select_items(rows.select("item", *strata), config.limit, config.seed)


def _chosen_people(rows: pl.DataFrame, users: str | list[str], seed: int) -> list[str]:
    present = sorted(set(rows["person"]))
    if isinstance(users, list):
        return users
    if users.isdecimal():
        return sorted(present, key=lambda person: hash_text("users", person, str(seed)))[: int(users)]
    try:
        wanted = [
            line.strip() for line in Path(users).read_text(encoding="utf-8").splitlines() if line.strip()
        ]
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"--users {users}: neither a number nor a readable file of ids ({error}).") from error
    unknown = [person for person in wanted if person not in set(present)]
    if unknown:
        raise UserError(f"--users {users}: nobody is called '{unknown[0]}' in this benchmark.")
    return wanted


def _rest(budget: float | None, spent: Summary) -> float | None:
    return None if budget is None else max(0.0, budget - spent.cost)


async def _check_judges(config: RunConfig) -> None:
    """A misspelt or unpriced judge is found before anything is spent on answers."""
    judges = [make_rater(spec) for spec in config.raters]
    try:
        _check_budget(config.budget, judges)
    finally:
        for judge in judges:
            await judge.close()


def _check_budget(budget: float | None, raters: Sequence[Rater]) -> None:
    for rater in raters:
        if budget is not None and rater.price is None:
            raise UserError(
                f"--budget needs to know what {rater.record.name} costs: add its price in USD per million tokens, "
                f"as in {rater.record.name},price=0.40/1.60."
            )


# -- a team's own answers -------------------------------------------------------------------------------------------


async def _answers(
    store: Store, config: RunConfig, progress: ProgressView
) -> tuple[Benchmark, Summary | None]:
    if (config.log is None) == (not config.systems):
        raise UserError("run answers needs either --log FILE with answers, or --system SPEC to make them.")
    if config.log is not None:
        people = {}
        if config.data is not None:
            people = {person.id: person for person in open_benchmark(str(config.data)).people()}
        rows, everyone = read_log(config.log, people)
        return Answers(rows, everyone, config.seed), None
    return await _make_answers(store, config, progress)


async def _make_answers(store: Store, config: RunConfig, progress: ProgressView) -> tuple[Benchmark, Summary]:
    """Let every system answer every question, told of the person, of nobody, and of somebody else."""
    prompts = Prompts(open_benchmark(str(config.data) if config.data else "starter"))
    dataset = ingest(store, prompts)
    people = People(store.people(dataset))
    selected = None
    if config.limit is not None or config.users is not None:
        selected = _selection(store, dataset, config)
    given_names = config.givens or ["profile"]
    contexts = list(dict.fromkeys([*given_names, "none", *(f"wrong:{name}" for name in given_names)]))
    models = [make_model(spec) for spec in config.systems]
    for model in models:
        if config.budget is not None and model.price is None:
            raise UserError(
                f"--budget needs to know what {model.name} costs: add ,price=IN/OUT (USD per million tokens)."
            )
    answerings = [
        Answering(
            store, dataset, people, model, [make_context(n, people, config.seed) for n in contexts], selected
        )
        for model in models
    ]
    try:
        lanes = [answering.lane() for answering in answerings]
        record = {"benchmark": "answers", "systems": config.systems, "stage": "answering"}
        run = store.begin_run(_generation_name(config), dataset, record, sum(lane.total for lane in lanes))
        runner = Runner(store, run.id, progress, config.retry, config.budget)
        summary = await runner.run(lanes)
    finally:
        for model in models:
            await model.close()
    rows, notes = [], []
    for answering in answerings:
        made, missing = _answer_rows(answering, given_names)
        rows += made
        if missing:
            notes.append(f"{answering.system.name} left {missing} answers unmade (failed, refused or empty).")
    if not rows and not summary.interrupted and not any(lane.stopped for lane in summary.lanes):
        raise UserError(
            f"No answer could be made: {summary.last_failure or 'the systems answered nothing'}", code=1
        )
    return Answers(rows, dict(people), config.seed, notes), summary


def _answer_rows(answering: Answering, given_names: list[str]) -> tuple[list[AnswerRow], int]:
    rows, missing = [], 0
    for item, texts in answering.answers():
        for given in given_names:
            wanted = (given, "none", f"wrong:{given}")
            missing += sum(name not in texts for name in wanted)
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
                )
            )
    return rows, missing


def _generation_name(config: RunConfig) -> str:
    parts = [config.systems, config.givens, str(config.data), config.users, config.limit, config.seed]
    return f"answering-{content_hash(parts)[:8]}"
