"""`personafit run injection`: the raters choose on every version of every choice, and what is left out is left out whole."""

from dataclasses import replace

import polars as pl

from personafit._errors import UserError
from personafit.benchmarks.config import Finished, RunConfig, chosen_people
from personafit.benchmarks.estimate import estimate_plan
from personafit.benchmarks.injection.items import ATTACKED, PLACEBO, Injection
from personafit.benchmarks.running import Plan, carry_out, make_plan
from personafit.engine import ProgressView
from personafit.raters import select_items
from personafit.store import Item, Store


async def execute(store: Store, config: RunConfig, progress: ProgressView) -> Finished:
    """Judge the versions."""
    return await carry_out(store, config, progress, _plan(store, config))


def estimate(store: Store, config: RunConfig) -> str:
    """What judging them would take."""
    return estimate_plan(_plan(store, config))


def _plan(store: Store, config: RunConfig) -> Plan:
    if config.data is not None:
        raise UserError("run injection makes its own data from the starter set: leave --data out.")
    benchmark = Injection()
    plan = make_plan(store, replace(config, limit=None, users=None), benchmark)
    plan.record["kind"] = "injection"
    if config.limit is None and config.users is None:
        return plan
    left = plan.judging.selected  # by --where
    selected = _selected([item for item in benchmark.items() if left is None or item.id in left], config)
    plan.judging = replace(plan.judging, selected=selected)
    plan.record["selected"] = sorted(selected)
    return plan


def _selected(items: list[Item], config: RunConfig) -> frozenset[str]:
    """So many attacked choices, spread over attacks and places, each with its placebo and the choice as it was."""
    if config.users is not None:
        kept = set(chosen_people(sorted({item.slices["of"] for item in items}), config.users, config.seed))
        items = [item for item in items if item.slices["of"] in kept]
    attacked = [item for item in items if item.slices["version"] == ATTACKED]
    if config.limit is not None:
        rows = pl.DataFrame({"item": [item.id for item in attacked], **_strata(attacked)})
        drawn = select_items(rows, config.limit, config.seed)
        attacked = [item for item in attacked if item.id in drawn]
    if not attacked:
        raise UserError("--users and --where leave no attacked choice to judge.")
    with_placebo = {name for item in attacked for name in (item.id, f"{item.id}/{PLACEBO}")}
    return frozenset(with_placebo | {item.slices["base"] for item in attacked})


def _strata(items: list[Item]) -> dict[str, list[str]]:
    return {name: [item.slices[name] for item in items] for name in ("attack", "language")}
