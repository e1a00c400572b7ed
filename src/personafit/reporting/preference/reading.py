"""Reading a preference run back: the units that were judged (an item and one of its attributes), and what people said of them."""

from typing import Any

import orjson
import polars as pl
from sqlalchemy import select

from personafit.items.preference import GENERIC, PERSONAL, PREFERENCE
from personafit.raters.naming import names_attribute
from personafit.store import Item, RunRecord, Status, Store, run_answers
from personafit.store import tables as t

ANSWERS = {
    "item": pl.String,
    "target": pl.String,
    "rater": pl.String,
    "question": pl.String,
    "order": pl.String,
    "sample": pl.Int64,
    "status": pl.String,
    "label": pl.String,
    "value": pl.Float64,
    "detail": pl.String,
}
PANEL = {"item": pl.String, "target": pl.String, "rater": pl.String, "voter": pl.String, "value": pl.Float64}


def unit_rows(store: Store, run: RunRecord) -> pl.DataFrame:
    """One row per item and attribute: whose it is, who wrote the answer, its lengths, and whether it names the attribute.

    An answer that was not made has neither length nor names: both are null.
    """
    selected = None if run.config["selected"] is None else set(run.config["selected"])
    items = [item for item in store.items(run.dataset) if selected is None or item.id in selected]
    rows: list[dict[str, Any]] = []
    for start in range(0, len(items), 200):
        page = items[start : start + 200]
        texts = store.texts({product for item in page for product in item.products})
        for item in page:
            rows += _units(item, texts)
    schema: dict[str, Any] = {
        **dict.fromkeys(
            ("item", "target", "person", "prompt", "group", "generator", "given", "attribute"), pl.String
        ),
        "longer": pl.Int64,
        "names": pl.Boolean,
    }
    return pl.DataFrame(rows, schema=schema)


def _units(item: Item, texts: dict[str, str]) -> list[dict[str, Any]]:
    generic, personal = texts[item.products[GENERIC]], texts[item.products[PERSONAL]]
    return [
        {
            "item": item.id,
            "target": target,
            "person": item.person,
            "prompt": item.prompt,
            "group": item.group,
            "generator": item.slices.get("generator"),
            "given": item.slices.get("given"),
            "attribute": texts[target],
            "longer": len(personal) - len(generic) if personal else None,
            "names": names_attribute(texts[target], item.prompt, generic, personal) if personal else None,
        }
        for target in dict.fromkeys(item.products[PERSONAL + 1 :])
    ]


def preference_answers(store: Store, run: RunRecord) -> pl.DataFrame:
    """Every answer about an attribute, one row per job and target; asks that failed have no target and no answer."""
    frame = run_answers(store, run.id)
    if frame.is_empty():
        return pl.DataFrame(schema=ANSWERS)
    return frame.select(pl.col(name).cast(kind) for name, kind in ANSWERS.items())


def said_before(store: Store, dataset: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The gold that came with the data, and the single votes: item, target, rater, voter (null for gold) and value."""
    judgment = t.judgments
    frame = store.frame(
        select(
            judgment.c.item,
            judgment.c.target,
            judgment.c.rater,
            judgment.c.label,
            judgment.c.value,
            judgment.c.extra,
        ).where(
            judgment.c.ask.like(f"{dataset}#%"),
            judgment.c.question == PREFERENCE,
            judgment.c.status == Status.OK.value,
        )
    )
    rows = []
    for item, target, rater, label, value, extra in frame.iter_rows():
        number = value if value is not None else float(label) if label else None
        if number is not None:
            voter = (orjson.loads(extra) if extra else {}).get("voter")
            rows.append((item, target, rater, voter, float(number)))
    every = pl.DataFrame(rows, schema=PANEL, orient="row")
    return every.filter(pl.col("voter").is_null()), every.filter(pl.col("voter").is_not_null())
