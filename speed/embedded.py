"""Embedded choices with prefix reuse, in the product's order of work, against the same asks with `cache=off`.

Work goes by person, the prompt begins with the person, and the model keeps what it has read of the last prompt. Five
people of the starter set are judged on all their items in both orders; each person is one round.
"""

import asyncio
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from personafit.benchmarks import starter
from personafit.benchmarks.config import RunConfig
from personafit.engine import Runner, Silence
from personafit.kinds import RunPlan, kind_of
from personafit.raters import Rater, make_rater
from personafit.run import plan_run, rating_lanes
from personafit.store import Store, run_answers
from speed.table import Measurement, paired

PEOPLE = 5
SPEED_BAR = 2.5
CLEAR = 0.1  # margins: llama.cpp's sums differ a little with what was read before, and near ties may flip


def measure() -> list[Measurement]:
    """Judge person after person, with and without reuse in turn."""
    return asyncio.run(_measure())


async def _measure() -> list[Measurement]:
    benchmark = starter()
    first, *people = [person.id for person in benchmark.people() if person.language == "en"][: PEOPLE + 1]
    raters = {"on": make_rater("embedded"), "off": make_rater("embedded,cache=off")}
    rates: dict[str, list[float]] = {name: [] for name in raters}
    answers: dict[str, list[pl.DataFrame]] = {name: [] for name in raters}
    with TemporaryDirectory() as folder, Store(Path(folder) / "store.sqlite") as store:

        def about(person: str) -> RunPlan:
            config = RunConfig("starter", contexts=["profile"], people=[person])
            return plan_run(store, config, benchmark, kind_of(benchmark))

        for rater in raters.values():  # loads the weights; on somebody else, whose prefix helps nobody later
            plan = about(first)
            await rater.rate(next(plan.kind.shown(plan, rater)))
        for number, person in enumerate(people, 1):
            for name in ("on", "off") if number % 2 else ("off", "on"):
                rate, made = await _judge(store, about(person), raters[name], f"{person}-{name}")
                rates[name].append(rate)
                answers[name].append(made)
            print(
                f"embedded, round {number} of {PEOPLE}: with reuse {rates['on'][-1]:.2f}, "
                f"without {rates['off'][-1]:.2f} asks/s",
                flush=True,
            )
    for rater in raters.values():
        await rater.close()
    return [
        paired("embedded choices", "the same, cache=off", "asks/s", rates["on"], rates["off"], SPEED_BAR),
        _same_verdicts(pl.concat(answers["on"]), pl.concat(answers["off"])),
    ]


async def _judge(store: Store, plan: RunPlan, rater: Rater, name: str) -> tuple[float, pl.DataFrame]:
    plan.raters = [rater]
    asks = plan.asks
    run = store.begin_run(name, plan.dataset, {}, asks)
    start = time.perf_counter()
    summary = await Runner(store, run.id, Silence()).run(rating_lanes(plan))
    took = time.perf_counter() - start
    assert summary.lanes[0].finished == asks
    return asks / took, run_answers(store, run.id).select("item", "order", "label", "value")


def _same_verdicts(reused: pl.DataFrame, fresh: pl.DataFrame) -> Measurement:
    both = reused.join(fresh, on=["item", "order"], suffix="_fresh", validate="1:1")
    assert len(both) == len(reused) == len(fresh)
    clear = both.filter((pl.col("value").abs() > CLEAR) & (pl.col("value_fresh").abs() > CLEAR))
    same = clear.filter(pl.col("label") == pl.col("label_fresh"))
    apart = (both["value"] - both["value_fresh"]).abs().to_numpy()
    flipped = int((both["label"] != both["label_fresh"]).sum())
    print(
        f"embedded: {len(clear)} of {len(both)} margins exceed {CLEAR} in both; margins are {apart.mean():.3f} apart "
        f"in the mean and {apart.max():.3f} at most; {flipped} verdicts differ in all"
    )
    share = len(same) / len(clear) if len(clear) else 0.0
    return Measurement(
        "verdicts of clear margin", "the same, cache=off", "alike", len(same), len(clear), share, 1.0
    )
