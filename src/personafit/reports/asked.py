"""How the asks of a run ended, and what shaped those who were asked."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import orjson
import polars as pl
from sqlalchemy import select

from personafit.reports.pieces import Errors, Grid, Section, count_row
from personafit.store import RunRecord, Status, Store, run_answers
from personafit.store import tables as t

ERRORS_SHOWN = 3
LONGEST_ERROR = 400  # characters
LONGEST_EXAMPLE = 160


class Endings(NamedTuple):
    """How many asks ended how, in the order of `Status`, and the commonest sentences of what went wrong."""

    counts: list[int]
    errors: list[tuple[str, str, int]]


def endings(answers: pl.DataFrame, **where: str) -> Endings:
    """How the asks ended whose columns have these values."""
    if answers.is_empty():
        return Endings([0] * len(Status), [])
    rows = answers.filter(**where)
    counts = dict(rows["status"].value_counts().iter_rows())
    wrong = rows.filter((pl.col("status") != Status.OK.value) & pl.col("detail").is_not_null())
    detail = pl.col("detail").cast(pl.String).str.slice(0, LONGEST_ERROR)
    errors = wrong.group_by("status", detail, maintain_order=True).len()
    return Endings(
        [counts.get(status.value, 0) for status in Status],
        list(errors.sort("len", descending=True).head(ERRORS_SHOWN).iter_rows()),
    )


def lost_asks(store: Store, run: RunRecord) -> str:
    """How many asks of a run's raters ended without an answer, and one reply as an example; empty where none did."""
    raters = [rater["fingerprint"] for rater in run.config["raters"]]
    answers = run_answers(store, run.id)
    lost = answers.filter(pl.col("rater").is_in(raters) & (pl.col("status") != Status.OK.value)).unique(
        "ask", maintain_order=True
    )
    if lost.is_empty():
        return ""
    counts = dict(lost["status"].value_counts().iter_rows())
    listed = ", ".join(f"{counts[one.value]:,} {one.value}" for one in Status if one.value in counts)
    replied = lost.filter(pl.col("status").is_in([Status.UNPARSED.value, Status.REFUSED.value]))
    if replied.is_empty():  # why asks failed is said where they failed
        return listed
    status, example = replied["status"][0], replied["ask"][0]
    reply = store.frame(select(t.asks.c.reply).where(t.asks.c.id == example))["reply"][0]
    return f"{listed}; a reply that was {status}: {_quoted(reply)}"


def _quoted(text: str | None) -> str:
    plain = " ".join(str(text or "").split())
    return f"'{plain if len(plain) <= LONGEST_EXAMPLE else plain[:LONGEST_EXAMPLE] + '…'}'"


def asks_section(
    ended: Iterable[tuple[Sequence[str], Endings, int | None]],
    counted: str,
    heads: Sequence[str] = ("rater",),
) -> Section:
    """How asks ended, and the commonest sentences of what went wrong.

    Args:
        ended: The names of each row, how its asks ended, and how many were planned where that is known.
        counted: What is counted, as the table's caption.
        heads: The headings of the names.
    """
    rows, errors, told = [], [], False
    for names, (counts, wrong), planned in ended:
        told = told or planned is not None
        missing = [] if planned is None else [max(0, planned - sum(counts))]
        rows.append(count_row(names, [*counts, *missing]))
        if wrong:
            errors.append(Errors(" · ".join(names), wrong))
    columns = [*(status.value for status in Status), *(["not yet asked"] if told else [])]
    lead = "A failure is never counted as an answer and never dropped: it lowers coverage."
    return Section("Asks", [Grid("How asks ended", counted, heads, columns, rows), *errors], lead)


def shown_settings(store: Store) -> dict[str, dict[str, str]]:
    """Everything that shaped each rater or system, by fingerprint."""
    frame = store.frame(select(t.raters.c.fingerprint, t.raters.c.settings))
    return {
        fingerprint: {key: _shown(value) for key, value in orjson.loads(text).items()}
        for fingerprint, text in frame.iter_rows()
    }


def _shown(value: object) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
