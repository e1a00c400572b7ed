"""Systems' answers that a run makes anew or reuses: the number of the attempt, counts of answers, and the budget left."""

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
    """Return the number of the attempt (0 if answers were never made anew) and, if this run makes them anew, the hash of its owner.

    A run that makes its answers anew resumes its own last attempt if that was interrupted, and otherwise begins the next one. Any other
    run uses the answers of the last attempt.
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
    """Count the answers that this run made and reused, for its record.

    Of those made, `resumed` were made before an interruption; of those reused, `stale` are of systems that may have changed since.
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
    """Return the end of a line of an estimate: what the tokens cost, or that the price is unknown."""
    if price is None:
        return "; its price is unknown (add ,price=IN/OUT)"
    if tokens_in is None or tokens_out is None:
        return ""
    return f", about {(tokens_in * price[0] + tokens_out * price[1]) / 1e6:.2f} USD"


def left_of(budget: float | None, spent: Summary | None) -> float | None:
    """Return what is left of a budget."""
    return budget if budget is None or spent is None else max(0.0, budget - spent.cost)
