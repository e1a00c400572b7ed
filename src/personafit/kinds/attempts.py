"""Answers that systems make anew for a run, or that it reuses: which attempt it is, what was made, and what is left to spend."""

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from personafit._hashing import content_hash
from personafit.benchmarks.config import RunConfig
from personafit.engine import LaneReport, Summary
from personafit.models import Model, is_fixed
from personafit.store import Store


def open_attempt(
    store: Store, config: RunConfig, systems: Sequence[Model], name: Callable[[int], str]
) -> tuple[int, str | None]:
    """Which attempt at a run this is, and whose it is where its answers are made anew; 0 where they never were.

    A run that makes them anew goes on with its own last attempt if that was interrupted, and else begins the next one. Any other
    run uses those of the last attempt.
    """
    if all(map(is_fixed, systems)):
        return 0, None
    runs = {run.name: run for run in store.runs()}
    last = next(number for number in count(0) if name(number + 1) not in runs)
    if not config.fresh:
        return last, None
    owner = content_hash([config.raters, config.contexts, config.samples, config.where])
    run = runs.get(name(last)) if last else None
    own = run is not None and run.finished is None and run.config.get("owner") == owner
    return last if own else last + 1, owner


def count_answers(
    lanes: Sequence[LaneReport], systems: Sequence[Model], fresh: bool, unmade: int = 0
) -> dict[str, Any]:
    """How many answers this run made and how many it reused, as its record says it.

    `resumed` of those made were made before an interruption; `stale` of those reused are of systems that may have changed since.
    """
    made = reused = resumed = stale = 0
    for lane, system in zip(lanes, systems, strict=True):
        made += lane.finished
        if is_fixed(system):
            reused += lane.reused
        elif fresh:
            resumed += lane.reused
        else:
            stale += lane.reused
    empty = max(0, unmade - sum(lane.failed for lane in lanes))
    return {
        "made": max(0, made + resumed - empty),
        "reused": reused + stale,
        "resumed": resumed,
        "stale": stale,
    }


def price_words(
    price: tuple[float, float] | None, tokens_in: float | None = None, tokens_out: float | None = None
) -> str:
    """The end of a line of an estimate: what the tokens cost, or that the price is unknown."""
    if price is None:
        return "; its price is unknown (add ,price=IN/OUT)"
    if tokens_in is None or tokens_out is None:
        return ""
    return f", about {(tokens_in * price[0] + tokens_out * price[1]) / 1e6:.2f} USD"


def left_of(budget: float | None, spent: Summary | None) -> float | None:
    """What of a budget is left."""
    return budget if budget is None or spent is None else max(0.0, budget - spent.cost)
