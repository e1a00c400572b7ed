"""What every page says of those who were asked, whatever they judged: how their asks ended, and what shaped them."""

from collections.abc import Sequence
from typing import Any

import orjson
import polars as pl
from sqlalchemy import select

from personafit.store import Status, Store
from personafit.store import tables as t

ERRORS_SHOWN = 3
LONGEST_ERROR = 400  # characters


def endings(rows: pl.DataFrame) -> dict[str, Any]:
    """How many asks ended how, in the order of `Status`, and the commonest sentences of what went wrong."""
    counts = dict(rows["status"].value_counts().iter_rows())
    wrong = rows.filter((pl.col("status") != Status.OK.value) & pl.col("detail").is_not_null())
    detail = pl.col("detail").str.slice(0, LONGEST_ERROR)
    errors = wrong.group_by("status", detail, maintain_order=True).len()
    return {
        "counts": [counts.get(status.value, 0) for status in Status],
        "errors": list(errors.sort("len", descending=True).head(ERRORS_SHOWN).iter_rows()),
    }


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
