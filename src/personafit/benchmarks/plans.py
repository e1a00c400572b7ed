"""A planned run, whatever its raters judge: its name, what it would take, carrying it out, and how it is closed."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, Protocol, TypeVar

import polars as pl

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.benchmarks.benchmark import BenchmarkInfo
from personafit.benchmarks.config import Finished, RunConfig, chosen_people, run_name
from personafit.engine import Lane, ProgressView, Runner, Summary, check_budget
from personafit.models import ChatRequest
from personafit.models.tokens import prompt_tokens
from personafit.raters.rater import AnyRater
from personafit.store import MET, Store

SAMPLE = 200  # requests looked at per rater for an estimate

Who = TypeVar("Who", bound=AnyRater)
Who_contra = TypeVar("Who_contra", bound=AnyRater, contravariant=True)


class Judges(Protocol[Who_contra]):
    """What is to be judged and how: everything that decides which jobs there are."""

    @property
    def dataset(self) -> str:
        """The data set it is about."""

    def count(self, rater: Who_contra, /) -> int:
        """How many asks a rater gets."""


Judged = TypeVar("Judged", bound=Judges[Any])


@dataclass
class RunPlan(Generic[Judged, Who]):
    """A run that is ready to be carried out: what is judged, by whom, under which name."""

    judging: Judged
    raters: list[Who]
    info: BenchmarkInfo
    record: dict[str, Any]

    @property
    def name(self) -> str:
        """The run's name."""
        return run_name(self.info.name, self.record)

    @property
    def asks(self) -> int:
        """How many asks the raters get."""
        return sum(self.judging.count(rater) for rater in self.raters)

    async def close(self) -> None:
        """Release all raters."""
        for rater in self.raters:
            await rater.close()


async def run_lanes(
    store: Store,
    config: RunConfig,
    progress: ProgressView,
    plan: RunPlan[Judged, Who],
    make_lanes: Callable[[Judged, Sequence[Who]], list[Lane]],
) -> Finished:
    """Carry a plan out, each rater in its lane."""
    try:
        check_budget(config.budget, [(rater.record.name, rater) for rater in plan.raters])
        lanes = make_lanes(plan.judging, plan.raters)
        asks = sum(lane.total for lane in lanes)
        run = store.begin_run(plan.name, plan.judging.dataset, plan.record, asks)
        store.add_raters(rater.record for rater in plan.raters)
        summary = await Runner(store, run.id, progress, config.retry, config.budget).run(lanes)
    finally:
        await plan.close()
    return close_run(store, run.name, summary)


def close_run(store: Store, name: str, summary: Summary) -> Finished:
    """Mark a run as finished where nothing ended it early."""
    if not summary.ended_early:
        store.finish_run(name)
    return Finished(store.run(name), summary)


async def check_judges(config: RunConfig, make: Callable[[str], AnyRater]) -> None:
    """Find a misspelt or unpriced judge before anything is spent on answers."""
    judges = [make(spec) for spec in config.raters]
    try:
        check_budget(config.budget, [(judge.record.name, judge) for judge in judges])
    finally:
        for judge in judges:
            await judge.close()


def estimate_asks(
    plan: RunPlan[Judged, Who],
    requests: Callable[[Who], Iterable[ChatRequest | None]],
    unit: Callable[[Who], str] = lambda _: "asks",
    long_replies: bool = False,
) -> list[str]:
    """What the raters would be asked and what that would cost; `requests` are the calls one of them would make."""
    counts = [plan.judging.count(rater) for rater in plan.raters]
    lines = [
        f"{plan.info.name}: {sum(counts):,} asks would be made; those already stored are not asked again."
    ]
    for rater, count in zip(plan.raters, counts, strict=True):
        sample = [request for request in islice(requests(rater), SAMPLE) if request is not None]
        lines.append(_line(rater, f"{count:,} {unit(rater)}", count, sample, long_replies))
    return lines


def _line(rater: AnyRater, asked: str, count: int, sample: Sequence[ChatRequest], long_replies: bool) -> str:
    line = f"  {rater.record.name}: {asked}"
    if not sample:
        return f"{line}, no model call."
    tokens = count * sum(prompt_tokens(request.messages) for request in sample) / len(sample)
    # A choice is a token; a long reply is taken to be half as long as it may be.
    out = count * sum(request.max_tokens for request in sample) / len(sample) / 2 if long_replies else count
    line += f", about {tokens:,.0f} tokens in and {out:,.0f}{'' if long_replies else ' or more'} out"
    if rater.price is None:
        return f"{line}; its price is unknown (add ,price=IN/OUT)."
    return f"{line}, about {(tokens * rater.price[0] + out * rater.price[1]) / 1e6:.2f} USD."


def note_fitted_prompts(raters: Iterable[AnyRater], prompts: Iterable[str]) -> Iterator[str]:
    """A rater on the prompts it was fitted on shows memory, not skill: say so beside its score."""
    different = set(prompts)
    for rater in raters:
        met = sum(hash_text(prompt) in getattr(rater, "fitted_on", ()) for prompt in different)
        if met:
            yield (
                f"{rater.record.name}{MET}{met:,} of the {len(different):,} prompts here: its score on them is "
                "no evidence."
            )


def rows_of_users(rows: pl.DataFrame, config: RunConfig) -> pl.DataFrame:
    """The rows about the people that --users means; all where it is not given."""
    if config.users is None:
        return rows
    present = sorted(set(rows["person"]))
    rows = rows.filter(pl.col("person").is_in(chosen_people(present, config.users, config.seed)))
    if rows.is_empty():
        raise UserError(f"--users {config.users} leaves nobody to judge for.")
    return rows


def rows_where(rows: pl.DataFrame, config: RunConfig) -> pl.DataFrame:
    """The rows of the slices that --where means; all where it is not given."""
    for condition in config.where:
        name, _, value = condition.partition("=")
        names = [column for column in rows.columns if column not in ("item", "person", "prompt", "grp")]
        if name not in names:
            there = f"write NAME=VALUE with one of {', '.join(names)}" if names else "they have no slices"
            raise UserError(f"--where {condition}: items have no '{name}'; {there}.")
        rows = rows.filter(pl.col(name).cast(pl.String) == value)
        if rows.is_empty():
            raise UserError(f"--where {condition}: no item that is left has that; check the value.")
    return rows
