"""Carrying a case out and taking its results, its asks with their judgments, and its job keys, in a form that can be compared.

This is the one place that knows how a run is started and read back: when that changes, change it here, and the goldens stay.
"""

import asyncio
import hashlib
import math
import sys
from collections.abc import Iterable
from contextlib import chdir
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy import select

from personafit import Store
from personafit.benchmarks import Finished
from personafit.engine import Silence
from personafit.reports.run_report import open_report
from personafit.run import execute
from personafit.store import tables as t
from tests.golden.cases import FUNCTIONS_MODULE, Case

Row = dict[str, Any]
Numbers = dict[str, dict[str, list[float | int | None]]]

CLOSE = 1e-9
VARYING = ("seconds", "at", "cost")
"""Columns of asks that differ from machine to machine or from price list to price list."""
ROUGH = ("embedding",)
"""Raters whose scores differ from machine to machine in their last digits."""


def carry_out(case: Case, store: Store, folder: Path) -> Finished:
    """Run a case on a store; its files lie in the folder."""
    folder.mkdir(exist_ok=True)
    config = case.config(folder)
    if case.benchmark == "many":  # a folder is named by its path
        assert config.data is not None
        config.benchmark, config.data = ".", None
    sys.modules.pop(FUNCTIONS_MODULE, None)  # that of another case lies in another folder
    with chdir(folder):
        return asyncio.run(execute(store, config, Silence()))


def results_of(store: Store, finished: Finished) -> Numbers:
    """Every number of a run: value, low, high, coverage, items and people, by who was told what and by metric."""
    found: Numbers = {}
    for result in open_report(store, finished.run).results:
        who = " · ".join(
            f"{name} {value}"
            for name, value in (
                ("rater", result.rater),
                ("context", result.context),
                ("system", result.system),
                ("told", result.system_context),
            )
            if value is not None
        )
        slices = ",".join(f"{name}={value}" for name, value in sorted(result.slice.items()))
        metric = f"{result.metric}[{slices}]" if slices else result.metric
        line = found.setdefault(who, {})
        same = sum(
            name.partition(" #")[0] == metric for name in line
        )  # one for each rater that it is taken over
        numbers = (result.value, result.low, result.high, result.coverage)
        line[f"{metric} #{same + 1}" if same else metric] = [*map(_rounded, numbers), result.n, result.people]
    return found


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, 12)


def asks_of(store: Store) -> dict[str, Row]:
    """Digests of the asks, their judgments and their job keys, by rater, question and context."""
    # Digests were taken when the columns were called so.
    earlier = {"context": "view", "context_id": "context"}
    asks = store.frame(select(t.asks)).drop(VARYING).rename(earlier).to_dicts()
    judgments = store.frame(select(t.judgments).where(t.judgments.c.ask != "")).to_dicts()
    names = {row["fingerprint"]: row["name"] for row in store.frame(select(t.raters)).to_dicts()}
    lanes: dict[str, list[Row]] = {}
    of_ask: dict[str, list[Row]] = {}
    for row in judgments:
        if names.get(row["rater"]) in ROUGH:
            del row["value"]
        of_ask.setdefault(row["ask"], []).append(row)
    for row in asks:
        who = f"{names.get(row['rater'], 'maker')} · {row['question']} · {row['view']}"
        lanes.setdefault(who, []).append(row)
    return {
        who: {
            "asks": len(rows),
            "judgments": sum(len(of_ask.get(row["id"], [])) for row in rows),
            "raters": sorted({row["rater"] for row in rows}),
            "statuses": {
                s: sum(row["status"] == s for row in rows) for s in sorted({r["status"] for r in rows})
            },
            "keys": digest(row["job"] for row in rows),
            "rows": digest(rows),
            "answers": digest(judged for row in rows for judged in of_ask.get(row["id"], [])),
        }
        for who, rows in sorted(lanes.items())
    }


def digest(rows: Iterable[Any]) -> str:
    """A hash of rows in whatever order they come; numbers count to twelve digits."""
    lines = sorted(orjson.dumps(_canonical(row), option=orjson.OPT_SORT_KEYS) for row in rows)
    return hashlib.sha256(b"\n".join(lines)).hexdigest()[:32]


def _canonical(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value:.12g}" if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _canonical(one) for name, one in value.items()}
    if isinstance(value, str) and value[:1] == "{":  # what a column keeps as JSON
        try:
            return _canonical(orjson.loads(value))
        except orjson.JSONDecodeError:
            return value
    return [_canonical(one) for one in value] if isinstance(value, list) else value


def differences(golden: Numbers, now: Numbers) -> list[str]:
    """Where results differ by more than 1e-9, each in a line."""
    found = []
    for who in sorted(golden.keys() | now.keys()):
        before, after = golden.get(who, {}), now.get(who, {})
        for metric in sorted(before.keys() | after.keys()):
            if not _same(before.get(metric), after.get(metric)):
                found.append(f"{who}: {metric}: {before.get(metric)} is now {after.get(metric)}")
    return found


def _same(before: list[float | int | None] | None, after: list[float | int | None] | None) -> bool:
    if before is None or after is None:
        return before is after
    return all(
        one is other
        if one is None or other is None
        else math.isclose(one, other, rel_tol=CLOSE, abs_tol=CLOSE)
        for one, other in zip(before, after, strict=True)
    )
