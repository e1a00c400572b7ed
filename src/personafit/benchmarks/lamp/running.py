"""`personafit run lamp-writing`: systems write what people wrote, told of them, of nobody and of somebody else.

Nobody judges: what was written is held against the person's own words when the run is read back, so measuring again costs nothing.
"""

from dataclasses import dataclass
from typing import Any

from personafit._errors import UserError
from personafit.benchmarks import ingest, open_benchmark
from personafit.benchmarks.config import Finished, RunConfig, run_name
from personafit.benchmarks.lamp.writing import NAME
from personafit.benchmarks.plans import close_run
from personafit.benchmarks.running import selection
from personafit.contexts import (
    ContextBuilder,
    People,
    default_model,
    made_notes,
    make_context,
    make_contexts,
    makers,
)
from personafit.engine import ProgressView, Runner, Summary, check_budget
from personafit.models import make_model
from personafit.simulate import Answering
from personafit.simulate.answer_job import QUESTION
from personafit.statistics.rouge import INSTRUMENT
from personafit.store import RaterRecord, Store

TEXT_TOKENS = 25  # of a headline, a title, a subject or a tweet

# Options of a run that would do nothing here.
UNUSED = {"rater": "raters", "view": "views"}


@dataclass
class Plan:
    """A run that is ready to be carried out."""

    answerings: list[Answering]
    contexts: list[ContextBuilder]
    """What all the systems are told, each its own."""
    people: People
    record: dict[str, Any]

    @property
    def name(self) -> str:
        """The run's name."""
        return run_name(NAME, self.record)

    @property
    def texts(self) -> int:
        """How many texts are to be written."""
        return sum(answering.count for answering in self.answerings)

    async def close(self) -> None:
        """Release the systems."""
        for answering in self.answerings:
            await answering.system.close()


async def execute(store: Store, config: RunConfig, progress: ProgressView) -> Finished:
    """Let every system write every text; without a system only what needs no writing is measured."""
    plan = _plan(store, config)
    try:
        check_budget(config.budget, [(one.system.name, one.system) for one in plan.answerings])
        check_budget(config.budget, [(maker.model.name, maker.model) for maker in makers(plan.contexts)])
        run = store.begin_run(plan.name, plan.record["dataset"], plan.record, plan.texts)
        store.add_raters(
            RaterRecord(
                fingerprint=one.fingerprint, name=one.system.name, kind="system", settings=one.system.settings
            )
            for one in plan.answerings
        )
        if not plan.answerings:
            return close_run(store, run.name, Summary())
        runner = Runner(store, run.id, progress, config.retry, config.budget)
        made = await make_contexts(plan.contexts, store, plan.people, plan.answerings[0].items, runner)
        if made is not None:
            if made.interrupted or any(lane.stopped for lane in made.lanes):
                return close_run(store, run.name, made)
            notes = [*plan.record["notes"], *made_notes(store, run.id, plan.contexts)]
            store.begin_run(plan.name, plan.record["dataset"], plan.record | {"notes": notes}, plan.texts)
        summary = await runner.run([answering.lane() for answering in plan.answerings])
    finally:
        await plan.close()
    return close_run(store, run.name, summary)


def estimate(store: Store, config: RunConfig) -> str:
    """What writing them would take."""
    plan = _plan(store, config)
    lines = [f"{NAME}: {plan.texts:,} texts would be written; those already stored are not written again."]
    for one in plan.answerings:
        line = f"  {one.system.name}: {one.count:,} texts, about {one.count * TEXT_TOKENS:,} tokens out"
        if one.system.price is None:
            line += "; its price is unknown (add ,price=IN/OUT)"
        lines.append(f"{line}.")
    return "\n".join(lines)


def _plan(store: Store, config: RunConfig) -> Plan:
    for option, field in UNUSED.items():
        if getattr(config, field):
            raise UserError(
                f"--{option} means nothing in `run {NAME}`: texts are held against what people wrote; leave it out."
            )
    if config.samples != 1:
        raise UserError(f"--samples means nothing in `run {NAME}`: every text is written once; leave it out.")
    benchmark = open_benchmark(NAME, config.data)
    dataset = ingest(store, benchmark)
    people = People(store.people(dataset))
    selected = selection(store, dataset, config)
    typed = config.givens or [benchmark.info.view]
    every = list(dict.fromkeys([*typed, "none", *(f"wrong:{name}" for name in typed)]))
    answerings, contexts = [], []
    for spec in config.systems:
        told = [make_context(name, people, config.seed, default_model([spec])) for name in every]
        contexts += told
        answerings.append(Answering(store, dataset, people, make_model(spec), told, selected))
    # As contexts call themselves: memory:k=3 is memory.
    names = [made.name for made in contexts[: len(every)]] or every
    record = {
        "benchmark": NAME,
        "kind": "writing",
        "dataset": dataset,
        "question": QUESTION,
        "instrument": INSTRUMENT,
        "systems": [{"name": one.system.name, "fingerprint": one.fingerprint} for one in answerings],
        "givens": names[: len(typed)] if answerings else [],
        "contexts": names if answerings else [],
        "raters": [],
        "views": [],
        "seed": config.seed,
        "samples": 1,
        "selected": None if selected is None else sorted(selected),
        "notes": benchmark.notes(),
        "command": config.command,
    }
    return Plan(answerings, contexts, people, record)
