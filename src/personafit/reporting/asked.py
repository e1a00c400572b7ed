"""What every report says of those who were asked, whatever they judged: how their asks ended, and what shaped them."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import orjson
import polars as pl
from sqlalchemy import select

from personafit.reporting.pieces import (
    Cell,
    Errors,
    Grid,
    Instrument,
    Participant,
    Piece,
    Prose,
    Row,
    Section,
)
from personafit.store import RunRecord, Status, Store
from personafit.store import tables as t

ERRORS_SHOWN = 3
LONGEST_ERROR = 400  # characters


def endings(rows: pl.DataFrame) -> dict[str, Any]:
    """How many asks ended how, in the order of `Status`, and the commonest sentences of what went wrong."""
    counts = dict(rows["status"].value_counts().iter_rows())
    wrong = rows.filter((pl.col("status") != Status.OK.value) & pl.col("detail").is_not_null())
    detail = pl.col("detail").cast(pl.String).str.slice(0, LONGEST_ERROR)
    errors = wrong.group_by("status", detail, maintain_order=True).len()
    return {
        "counts": [counts.get(status.value, 0) for status in Status],
        "errors": list(errors.sort("len", descending=True).head(ERRORS_SHOWN).iter_rows()),
    }


def coverage_warnings(run: RunRecord, bar: float, asked: int, answered: int) -> list[Piece]:
    """A warning where a run is not finished, or where too little of what was asked was answered."""
    if run.finished is None:
        text = (
            f"This run is not finished: {answered:,} of {asked:,} planned answers are there. The same command goes on from there, and "
            "all numbers may still move."
        )
        return [Prose(text, "warning")]
    if asked and answered / asked < bar:
        text = (
            f"Coverage is {100 * answered / asked:.1f} %, below the bar of {100 * bar:.0f} %: what is missing may not be like what is "
            "there. The section Asks says how asks ended."
        )
        return [Prose(text, "warning")]
    return []


def asks_section(
    raters: Sequence[dict[str, Any]], answers: pl.DataFrame, planned: Mapping[str, int], counted: str
) -> Section:
    """How the asks of each rater ended, and the commonest sentences of what went wrong.

    Args:
        raters: The raters of the run's record.
        answers: What was answered: rater, status and detail.
        planned: Fingerprint to the number of answers planned, where those not yet asked are to be counted.
        counted: What is counted, as the table's caption.
    """
    rows, errors = [], []
    for rater in raters:
        ended = endings(answers.filter(pl.col("rater") == rater["fingerprint"]))
        counts = list(ended["counts"])
        if planned:
            counts.append(planned[rater["fingerprint"]] - sum(counts))
        rows.append(Row([rater["name"]], [Cell(f"{count:,}", sort=float(count)) for count in counts]))
        if ended["errors"]:
            errors.append(Errors(rater["name"], ended["errors"]))
    columns = [*(status.value for status in Status), *(["not yet asked"] if planned else [])]
    lead = "A failure is never counted as an answer and never dropped: it lowers coverage."
    return Section("Asks", [Grid("How asks ended", counted, ["rater"], columns, rows), *errors], lead)


def rater_instrument(
    store: Store,
    run: RunRecord,
    info: Mapping[str, Any],
    facts: Mapping[str, str],
    more: Sequence[Mapping[str, str]],
    asked: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
) -> Instrument:
    """How a run with raters was made; `facts` are those of its kind, `more` are those of each rater besides its settings."""
    members = [
        Participant(
            one["name"], f"{one['kind']}, {one['role']}", one["fingerprint"], {**own, **one["settings"]}
        )
        for one, own in zip(rater_facts(store, run.config["raters"]), more, strict=True)
    ]
    told = {
        "run": run.name,
        "started": when(run.started),
        "finished": "not finished" if run.finished is None else when(run.finished),
        "data set": run.dataset,
        "benchmark": str(info["description"]).strip(),
        "benchmark version": info["version"],
        "licence of the data": info["licence"],
        "seed, samples per ask": f"{run.config['seed']}, {run.config['samples']}",
        **facts,
    }
    kept = {name: value for name, value in told.items() if value}
    return Instrument(run.config.get("command"), kept, members, asked, notes)


def when(seconds: float) -> str:
    """A moment for people."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def stored_settings(store: Store) -> dict[str, dict[str, Any]]:
    """Everything that shaped each rater, by fingerprint."""
    frame = store.frame(select(t.raters.c.fingerprint, t.raters.c.settings))
    return {fingerprint: orjson.loads(text) for fingerprint, text in frame.iter_rows()}


def shown_settings(store: Store) -> dict[str, dict[str, str]]:
    """The same in words."""
    return {
        fingerprint: {key: _shown(value) for key, value in settings.items()}
        for fingerprint, settings in stored_settings(store).items()
    }


def rater_facts(store: Store, raters: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Who judged, why, and everything that shaped them."""
    settings = shown_settings(store)
    return [
        {
            "name": rater["name"],
            "kind": rater["kind"],
            "role": "control" if rater["control"] else "asked for",
            "fingerprint": rater["fingerprint"],
            "settings": settings.get(rater["fingerprint"], {}),
        }
        for rater in raters
    ]


def _shown(value: object) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
