"""One run of any kind: plan it, make what is judged, let raters judge, or estimate the cost.

The plan determines what a run covers and is stored with it; reports only compute figures from what is stored. What differs between
kinds of item is in `kinds`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import fmean

from personafit._errors import UserError
from personafit.benchmarks import (
    BENCHMARKS,
    Benchmark,
    is_file,
    open_benchmark,
    open_log,
    open_questions,
)
from personafit.benchmarks.config import Finished, RunConfig
from personafit.benchmarks.spending import spending, spent_notes
from personafit.contexts import made_notes, make_contexts, makers
from personafit.contexts.making import usual_cost
from personafit.engine import Lane, ProgressView, Runner, Summary, check_budget
from personafit.items.reading import SHORT_REPLY
from personafit.kinds import Kind, RunPlan, kind_of
from personafit.kinds.attempts import count_answers, open_attempt, price_words
from personafit.models import ChatRequest
from personafit.models.purse import prompt_tokens
from personafit.raters import Rater, make_rater, rater_lane
from personafit.store import RunRecord, Store, spending_rows

SAMPLE = 200  # number of requests per rater that an estimate is based on

# Options of a run that apply to some kinds only, by their name in the configuration.
SPECIAL = {"system": "systems", "system-context": "system_contexts", "user": "user"}


async def execute(
    store: Store, config: RunConfig, progress: ProgressView, benchmark: Benchmark | None = None
) -> Finished:
    """Carry out or resume a run until it ends; its cost includes that of making what is judged."""
    benchmark = open_source(config) if benchmark is None else benchmark
    kind = kind_of(benchmark)
    refuse_unused(config, kind)
    if not _is_made(kind, benchmark, config):
        return await carry_out(plan_run(store, config, benchmark, kind), progress)
    await check_judges(config, kind)
    made = await kind.make(store, config, progress, benchmark)
    if made is None:  # the run itself makes what is judged
        return await carry_out(plan_run(store, config, benchmark, kind), progress)
    if made.benchmark is None:
        return Finished(store.run(made.run), made.summary)
    plan = plan_run(store, made.config, made.benchmark, kind)
    plan.record["answers"] = made.answers
    _note_spending(plan, store.run(made.run), made.systems)
    finished = await carry_out(plan, progress)
    if finished.run.finished is not None:  # a later attempt makes its own answers
        store.finish_run(made.run)
    finished.summary.charge(made.summary)
    return finished


def estimate(store: Store, config: RunConfig, benchmark: Benchmark | None = None) -> str:
    """Describe the plan: asks, tokens and, if prices are known, cost."""
    benchmark = open_source(config) if benchmark is None else benchmark
    kind = kind_of(benchmark)
    refuse_unused(config, kind)
    lines = kind.estimate_making(config, benchmark) if _is_made(kind, benchmark, config) else None
    if lines is None:
        plan = plan_run(store, config, benchmark, kind)
        lines = kind.estimate(plan) or _estimate(plan)
    return "\n".join(lines)


def open_source(config: RunConfig) -> Benchmark:
    """Open what is run: a log of answers, questions for systems to answer, or a benchmark by its name or folder."""
    if is_file(config.benchmark):
        return open_log(Path(config.benchmark), config.data, config.seed)
    if config.systems and (questions := open_questions(config.benchmark, config.data)) is not None:
        return questions
    return open_benchmark(config.benchmark, config.data, config.kind)


def refuse_unused(config: RunConfig, kind: Kind) -> None:
    """Raise a UserError for options that would have no effect and for missing judges, before anything is asked."""
    if config.kind not in (None, kind.name):
        raise UserError(
            f"--kind {config.kind}: the items of {config.benchmark} are of kind {kind.name}; leave it out."
        )
    for option, field in SPECIAL.items():
        asked = getattr(config, field)
        if asked and option not in kind.options:
            raise UserError(
                f"--{option} means nothing in `run {config.benchmark}`, whose items are of kind {kind.name}: leave it out."
                + (f" {ELSEWHERE}" if option == "system" else "")
            )
    if config.benchmark == "answers" and not config.raters:
        raise UserError(
            "Nobody judges the answers: name a judge with --rater (raters=), such as openai:MODEL; for the free rules alone, which "
            "cannot tell whether an answer fits, say --rater rule:overlap."
        )
    for name, value in config.options.items():
        if name not in kind.own_options:
            known = ", ".join(kind.own_options)
            raise UserError(
                f"-K {name}={value}: {kind.name} items have no option '{name}'; "
                + (
                    f"there {'is' if len(kind.own_options) == 1 else 'are'} {known}."
                    if known
                    else "they have none of their own."
                )
            )
        if value not in kind.own_options[name]:
            raise UserError(f"-K {name}={value}: there are {', '.join(kind.own_options[name])}.")


STEPS = {"dialogue": "turns", "episode": "steps"}
"""Name of the systems' asks in kinds whose systems do not give answers."""
ELSEWHERE = (
    "`run answers --system` judges what systems answer, `run personalens --system` the dialogues they hold."
)


def _is_made(kind: Kind, benchmark: Benchmark, config: RunConfig) -> bool:
    """Return whether systems first have to turn the items into items of the kind."""
    if not config.systems:
        if config.system_contexts and kind.made_from == "prompt" and kind.judged:
            raise UserError(
                "--system-context says what a system is told about the person: name the system with --system SPEC."
            )
        return False
    first = next(iter(benchmark.items()), None)
    if first is None or kind.made_from is None or first.kind == kind.made_from:
        return True
    raise UserError(
        f"--system means nothing in `run {config.benchmark}`: its answers are there already. {ELSEWHERE}"
    )


async def check_judges(config: RunConfig, kind: Kind) -> None:
    """Detect a misspelt or unpriced judge before anything is spent on answers."""
    judges = [make_rater(spec, kind.asks) for spec in config.raters if kind.judged]
    try:
        check_budget(config.budget, [(judge.record.name, judge) for judge in judges])
    finally:
        for judge in judges:
            await judge.close()


def plan_run(store: Store, config: RunConfig, benchmark: Benchmark, kind: Kind) -> RunPlan:
    """Plan a run; the data is ingested into the store on the way."""
    plan = RunPlan.of(kind, store, config, benchmark, kind.contexts(config, benchmark.info))
    left_out = _add_raters(plan)
    plan.selected = kind.select(plan)
    kind.prepare(plan, benchmark)
    plan.record = {
        "benchmark": benchmark.info.name,
        "dataset": plan.dataset,
        "views": plan.contexts,
        "seed": config.seed,
        "samples": config.samples,
        "selected": None if plan.selected is None else sorted(plan.selected),
        "raters": [
            {
                "fingerprint": rater.record.fingerprint,
                "name": rater.record.name,
                "kind": rater.record.kind,
                **kind.rater_facts(plan, rater),
                "control": not asked_for,
            }
            for rater, asked_for in zip(plan.raters, plan.asked_for, strict=True)
        ],
        "notes": [*_same_name(config), *benchmark.notes(), *left_out, *kind.notes(plan, benchmark)],
        "command": config.command,
    } | kind.facts(plan)
    if config.gate:
        plan.record["gate"] = config.gate
    if (spent := getattr(benchmark, "spent", None)) is not None:
        plan.record["spent"] = spending(spent)
    attempt, owner = open_attempt(
        store,
        config,
        plan.systems,
        lambda number: replace(plan, record=plan.record | {"attempt": number}).name,
    )
    if attempt:
        plan.record |= {"attempt": attempt, "owner": owner}
        plan.attempt = plan.name
    return plan


def _same_name(config: RunConfig) -> list[str]:
    """Return a note if both a benchmark and a local folder have the name."""
    name = config.benchmark
    if name not in BENCHMARKS or not Path(name).is_dir():
        return []
    return [
        f"This is the benchmark {name}, not the folder of that name here; `run ./{name}` runs the folder."
    ]


def _add_raters(plan: RunPlan) -> list[str]:
    """Add the raters asked for and the controls; returns notes on controls left out because they cannot be created."""
    kind, left_out = plan.kind, []
    if not kind.judged:
        return []
    controls = kind.controls or plan.info.controls
    asked = plan.config.raters or kind.default_raters()
    for spec in dict.fromkeys([*asked, *controls.raters]):
        try:
            rater = make_rater(spec, kind.asks, plan.people)
        except UserError as error:
            if spec in asked:
                raise
            left_out.append(f"The control {spec} is left out. {error}")
            continue
        if any(one.record.fingerprint == rater.record.fingerprint for one in plan.raters):
            continue  # the same rater under another name, such as embedding:use beside embedding
        plan.raters.append(rater)
        plan.asked_for.append(spec in asked)
    return left_out


async def carry_out(plan: RunPlan, progress: ProgressView) -> Finished:
    """Make what the run itself makes, then let every rater judge, each in its lane."""
    store, config = plan.store, plan.config
    try:
        check_budget(config.budget, plan.priced())
        check_budget(config.budget, [(maker.model.name, maker.model) for maker in makers(plan.builders)])
        run = plan.run = store.begin_run(plan.name, plan.dataset, plan.record, plan.asks)
        store.add_raters([*(rater.record for rater in plan.raters), *plan.speakers])
        runner = Runner(store, run.id, progress, config.retry, config.budget)
        summary = await make_contexts(plan.builders, store, plan.people, plan.items, runner)
        if summary is not None:
            if summary.ended_early:
                return close_run(store, run.name, summary)
            plan.record["notes"] += made_notes(store, run.id, plan.builders)
            store.begin_run(plan.name, plan.dataset, plan.record, plan.asks)
        if plan.making:
            summary = await runner.run([lane() for lane in plan.making])
            # One failed system does not keep the others from being judged.
            if summary.interrupted or all(lane.stopped for lane in summary.lanes):
                return close_run(store, run.name, summary)
            lanes = summary.lanes[-len(plan.making) :]
            lanes = lanes[: len(plan.systems)]  # the kind's own controls may follow
            plan.record["answers"] = count_answers(lanes, plan.systems, config.fresh) if lanes else {}
            _note_spending(
                plan, run, {one["fingerprint"]: one["name"] for one in plan.record.get("systems", [])}
            )
            store.begin_run(plan.name, plan.dataset, plan.record, run.planned)
        if plan.raters:
            summary = await runner.run(rating_lanes(plan))
    finally:
        await plan.close()
    return close_run(store, run.name, summary or Summary())


def rating_lanes(plan: RunPlan) -> list[Lane]:
    """Return one lane per rater, over everything the rater is to be shown."""
    kind = plan.kind
    return [rater_lane(rater, kind.shown(plan, rater), kind.count(plan, rater)) for rater in plan.raters]


def _note_spending(plan: RunPlan, run: RunRecord, systems: Mapping[str, str]) -> None:
    """Record the systems' tokens and cost; `systems` maps the fingerprints of their asks to their names."""
    rows = spending_rows(plan.store, run.id, systems)
    plan.record["spent"] = spending(rows)
    plan.record["notes"] += spent_notes(rows, STEPS.get(plan.kind.name, "answers"))


def close_run(store: Store, name: str, summary: Summary) -> Finished:
    """Mark a run as finished unless something ended it early."""
    if not summary.ended_early:
        store.finish_run(name)
    return Finished(store.run(name), summary)


def _estimate(plan: RunPlan) -> list[str]:
    """Return lines that estimate the raters' asks and their cost, and the calls that make their contexts."""
    kind = plan.kind
    counts = [kind.count(plan, rater) for rater in plan.raters]
    lines = [
        f"{plan.info.name}: {sum(counts):,} asks would be made; those already stored are not asked again."
    ]
    for rater, count in zip(plan.raters, counts, strict=True):
        lines.append(_line(rater, count, _requests(plan, rater)))
    for maker in makers(plan.builders):
        items = list(plan.items())
        calls = len({item.person for item in items}) if maker.per_person else len(items)
        price = maker.model.price
        money = "" if price is None else f", about {calls * usual_cost(price):.2f} USD"
        lines.append(f"  {maker.model.name}: {calls:,} or more calls to make {maker.name}{money}.")
    return lines


def _requests(plan: RunPlan, rater: Rater) -> list[ChatRequest]:
    """Return the first calls that a rater would make."""
    shown = islice(plan.kind.shown(plan, rater), SAMPLE)
    return [request for one in shown if (request := rater.request(one)) is not None]


def _line(rater: Rater, count: int, sample: Sequence[ChatRequest]) -> str:
    line = f"  {rater.record.name}: {count:,} asks"
    if not sample:
        return f"{line}, no model call."
    tokens = count * fmean(prompt_tokens(request.messages) for request in sample)
    # A short reply counts as one token, a long one as half of its maximum.
    out = count * fmean(one.max_tokens / 2 if one.max_tokens > SHORT_REPLY else 1 for one in sample)
    money = price_words(rater.price, tokens, out)
    return f"{line}, about {tokens:,.0f} tokens in and {out:,.0f} or more out{money}."
