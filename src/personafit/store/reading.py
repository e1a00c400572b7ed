"""Reading a run: one row per planned job with its last ask and that ask's last parse, at once or in pages; and exporting frames."""

import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
import polars as pl
from sqlalchemy import ColumnElement, FromClause, Row, Select, and_, func, literal, select

from personafit._errors import UserError
from personafit.store import tables as t
from personafit.store.records import Status
from personafit.store.store import RunRecord, Store

ENDED_AT_ONCE = 500  # rows, whose texts may be long
SPENDING = ("tokens_in", "tokens_out", "tokens_reasoning", "cost", "seconds")


def run_answers(store: Store, run: int) -> pl.DataFrame:
    """Return every job of a run that was tried: item, rater, context, order, sample, status, label, value, costs.

    A job with no final answer appears as `failed`; a final answer wins over failures, a later generation over an
    earlier one, and a later parse of the same reply over an earlier one. An ask about a list, or about several targets,
    has a row for each.
    """
    ask, judgment = t.asks, t.judgments
    query = (
        select(
            ask.c.job,
            ask.c.id.label("ask"),
            ask.c.generation,
            func.coalesce(judgment.c.item, ask.c.item).label("item"),
            ask.c.question,
            ask.c.rater,
            ask.c.context,
            ask.c.context_id,
            ask.c.order,
            ask.c.sample,
            ask.c.status.label("ask_status"),
            ask.c.detail,
            ask.c.at,
            *(ask.c[name] for name in SPENDING),
            judgment.c.target,
            judgment.c.parse,
            judgment.c.status,
            judgment.c.label,
            judgment.c.value,
        )
        .select_from(
            t.run_jobs.join(ask, ask.c.job == t.run_jobs.c.job).outerjoin(
                judgment, judgment.c.ask == ask.c.id
            )
        )
        .where(t.run_jobs.c.run == run)
        .order_by(t.run_jobs.c.job)  # as they are stored
    )
    frame = store.frame(query).with_columns(
        pl.col("status").fill_null(pl.col("ask_status")),
        pl.col("target").fill_null(""),
        pl.col("parse").fill_null(0),
    )
    tried_once = frame["job"].n_unique() == len(frame)
    if not tried_once:  # otherwise there is nothing to choose from, and a long run need not be sorted
        final = pl.col("ask_status") != Status.FAILED
        ranked = frame.sort("job", final, "generation", "at", "parse")
        # No row of a superseded ask counts, not even for targets that the later ask left out.
        counts = ranked.filter(pl.col("ask") == pl.col("ask").last().over("job"))
        frame = counts.unique(["job", "item", "target"], keep="last", maintain_order=True)
    return frame.drop("ask_status")


def spending_rows(store: Store, run: int, raters: Mapping[str, str]) -> pl.DataFrame:
    """Return system, system_context, seconds and cost of the final successful asks of a run by any of `raters`.

    `raters` maps fingerprints to names. The choice among several tries is left to the database: a long run makes far more asks than
    `run_answers` should hold in memory.
    """
    ask = t.asks.c
    latest = func.row_number().over(partition_by=ask.job, order_by=(ask.generation.desc(), ask.at.desc()))
    ended = (
        select(ask.job, ask.rater, ask.context, ask.seconds, ask.cost, ask.status, latest.label("place"))
        .select_from(t.run_jobs.join(t.asks, ask.job == t.run_jobs.c.job))
        .where(t.run_jobs.c.run == run, ask.status != Status.FAILED.value)
        .subquery()
    )
    query = (
        select(ended.c.rater, ended.c.context, ended.c.seconds, ended.c.cost)
        .where(ended.c.place == 1, ended.c.status == Status.OK.value, ended.c.rater.in_(list(raters)))
        .order_by(ended.c.job)
    )
    schema = {
        "system": pl.Categorical(),
        "system_context": pl.Categorical(),
        "seconds": pl.Float64(),
        "cost": pl.Float64(),
    }
    pages = list(store.frames(query, schema, ANSWERS))
    found = pl.concat(pages) if pages else pl.DataFrame(schema=schema)
    return found.with_columns(pl.col("system").replace_strict(raters, return_dtype=pl.Categorical))


def ended_products(store: Store, run: int, prefix: str, questions: Collection[str]) -> Iterator[Row[Any]]:
    """Yield the products that asks of a run wrote under their own id and a prefix, with the ask's status and time, failed ones too."""
    ended: ColumnElement[str] = literal(prefix).concat(t.asks.c.id)
    query = (
        select(t.asks.c.status, t.asks.c.at, t.products.c.id, t.products.c.text)
        .select_from(
            t.run_jobs.join(t.asks, t.asks.c.job == t.run_jobs.c.job).join(
                t.products, t.products.c.id == ended
            )
        )
        .where(t.run_jobs.c.run == run, t.asks.c.question.in_(list(questions)))
    )
    for rows in store.stream(query, ENDED_AT_ONCE):
        yield from rows


def gold_answers(store: Store, dataset: str, rater: str | None = None) -> pl.DataFrame:
    """Return the gold of a data set: item, rater, label, value and tier."""
    conditions: list[ColumnElement[bool]] = [t.judgments.c.ask.like(f"{dataset}#%")]
    if rater:
        conditions.append(t.judgments.c.rater == rater)
    frame = store.frame(
        select(
            t.judgments.c.item,
            t.judgments.c.rater.label("gold_rater"),
            t.judgments.c.label.label("gold"),
            t.judgments.c.value.label("gold_value"),
            t.judgments.c.extra,
        ).where(and_(*conditions))
    )
    return _with_tier(frame)


def slice_column(name: str) -> str:
    """Return the column of a slice; stored items, folders and layouts may say `given` for what a system was told."""
    return "system_context" if name == "given" else name


def read_slices(stored: str) -> dict[str, str]:
    """Return an item's stored slices by column."""
    return {slice_column(name): value for name, value in orjson.loads(stored).items()}


def item_rows(store: Store, dataset: str) -> pl.DataFrame:
    """Return the items of a data set: id, person, prompt, group and each slice as a column."""
    frame = store.frame(
        select(
            t.items.c.id.label("item"), t.items.c.person, t.items.c.prompt, t.items.c.grp, t.items.c.slices
        )
        .where(t.items.c.dataset == dataset)
        .order_by(t.items.c.position)
    )
    slices = [read_slices(value) for value in frame["slices"]]
    # A slice must not overwrite a column, such as `item`.
    names = sorted({name for row in slices for name in row} - set(frame.columns))
    columns = [pl.Series(name, [row.get(name) for row in slices], dtype=pl.String) for name in names]
    return frame.drop("slices").with_columns(columns)


def run_items(store: Store, run: RunRecord) -> pl.DataFrame:
    """Return `item_rows` of a run's data set, without the items the run did not select."""
    items, selected = item_rows(store, run.dataset), run.config.get("selected")
    return items if selected is None else items.filter(pl.col("item").is_in(selected))


ITEMS = 4_000
ANSWERS_A_PAGE = 400_000  # with many answers per item, a page has fewer items
ANSWERS = 10_000
ASKS_AT_ONCE, ITEMS_AT_ONCE = 400_000, 40_000  # largest run read as one page: some 100 MB

_ITEM = {
    "position": pl.Int64,
    "item": pl.String,
    "person": pl.String,
    "prompt": pl.String,
    "products": pl.String,
    "slices": pl.String,
    "gold": pl.String,
    "extra": pl.String,
}
_SAID = {
    "job": pl.String,
    "ask": pl.String,
    "generation": pl.Int64,
    "rater": pl.String,
    "context": pl.String,
    "order": pl.String,
    "sample": pl.Int64,
    "ask_status": pl.String,
    "detail": pl.String,
    "at": pl.Float64,
    "parse": pl.Int64,
    "status": pl.String,
    "label": pl.String,
    "value": pl.Float64,
}
_ANSWER = {"position": pl.Int64} | _SAID


def run_pages(
    store: Store, run: RunRecord, gold: str, by: str = "person"
) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Yield pages of items (with gold and tier), each with its answers; pages are ordered by `person` or `prompt`.

    Items that the run did not select are left out. Of several tries or parses only the one that counts is returned, as in
    `run_answers`; products and slices remain JSON strings. The answers of a page are in no particular order.
    """
    column, position = t.items.c[by], t.items.c.position
    ordered = _items(run, gold).order_by(column, position)
    count = store.count_items(run.dataset)
    if run.planned <= ASKS_AT_ONCE and count <= ITEMS_AT_ONCE:
        yield _at_once(store, run, store.frame(ordered, _ITEM))
        return
    # Concatenating "" keeps the order but rules out the index: the answers are then sorted once, instead of being looked up
    # item by item, which is what SQLite would choose.
    query = _answers(run).order_by(column.concat(""), position)
    answers = store.frames(query, _ANSWER, ANSWERS)
    ahead = pl.DataFrame(schema=_ANSWER)
    per_item = run.planned // max(1, count)
    size = max(1, min(ITEMS, ANSWERS_A_PAGE // max(1, per_item)))
    for page in store.frames(ordered, _ITEM, size):
        # Both have the same order: once an answer is about an item of a later page, this page is complete.
        while ahead.is_empty() or ahead["position"][-1] in page["position"]:
            more = next(answers, None)
            if more is None:
                break
            ahead = pl.concat([ahead, more])
        here = pl.col("position").is_in(page["position"].implode())
        ours, ahead = ahead.filter(here), ahead.filter(~here)
        yield _selected(run, _with_tier(page)), _that_count(ours)


def _at_once(store: Store, run: RunRecord, items: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the only page of a run of moderate size, with answers ordered by job, as they are stored."""
    found = store.frame(_stored_answers(run).order_by(t.run_jobs.c.job), {"item": pl.String} | _SAID)
    answers = found.join(items.select("item", "position"), on="item", maintain_order="left")
    return _selected(run, _with_tier(items)), _that_count(answers.select("position", *_SAID))


def _selected(run: RunRecord, items: pl.DataFrame) -> pl.DataFrame:
    """Drop the items the run did not select."""
    if run.config["selected"] is None:
        return items
    selected = frozenset(run.config["selected"])
    return items.filter(pl.Series([item in selected for item in items["item"]], dtype=pl.Boolean))


def any_prompt_recurs(store: Store, dataset: str) -> bool:
    """Return whether two people of the data set share a prompt."""
    items = t.items.c
    query = (
        select(items.prompt)
        .where(items.dataset == dataset)
        .group_by(items.prompt)
        .having(func.min(items.person) != func.max(items.person))
        .limit(1)
    )
    return bool(len(store.frame(query)))


def _items(run: RunRecord, gold: str) -> Select[Any]:
    items, label = t.items, t.judgments
    of_gold = and_(label.c.ask == f"{run.dataset}#{gold}", label.c.item == items.c.id)
    columns = (items.c[name] for name in ("position", "id", "person", "prompt", "products", "slices"))
    return (
        select(*columns, label.c.label, label.c.extra)
        .select_from(items.outerjoin(label, of_gold))
        .where(items.c.dataset == run.dataset)
    )


def _answers(run: RunRecord) -> Select[Any]:
    items = t.items
    of_item = and_(items.c.dataset == run.dataset, items.c.id == t.asks.c.item)
    return _stored_answers(run, items.c.position, t.asks.join(items, of_item))


def _stored_answers(
    run: RunRecord, about: ColumnElement[Any] = t.asks.c.item, asks: FromClause = t.asks
) -> Select[Any]:
    """Return the query of all tries of a run, with all parses of each, and the column `about`."""
    ask, judgment = t.asks, t.judgments
    of_ask = and_(judgment.c.ask == ask.c.id, judgment.c.item == ask.c.item, judgment.c.target == "")
    asked = ("job", "id", "generation", "rater", "context", "order", "sample", "status", "detail", "at")
    return (
        select(
            about,
            *(ask.c[name] for name in asked),
            *(judgment.c[name] for name in ("parse", "status", "label", "value")),
        )
        .select_from(t.run_jobs.join(asks, ask.c.job == t.run_jobs.c.job).outerjoin(judgment, of_ask))
        .where(t.run_jobs.c.run == run.id, ask.c.question == run.config["question"])
    )


def _that_count(answers: pl.DataFrame) -> pl.DataFrame:
    """Keep one row per job: a final answer wins over failures, a later try or parse over an earlier one."""
    filled = answers.with_columns(pl.col("status").fill_null(pl.col("ask_status")))
    if filled["job"].n_unique() == len(filled):
        return filled
    final = pl.col("ask_status") != Status.FAILED.value
    ranked = filled.sort("job", final, "generation", "at", pl.col("parse").fill_null(0))
    return ranked.unique("job", keep="last", maintain_order=True)


def _with_tier(page: pl.DataFrame) -> pl.DataFrame:
    tiers = [(orjson.loads(extra) if extra else {}).get("tier") for extra in page["extra"]]
    return page.drop("extra").with_columns(pl.Series("tier", tiers, dtype=pl.String))


ENDINGS = (".jsonl", ".csv", ".parquet")

# Spreadsheets ignore leading white space and invisible characters, and treat full-width signs like ASCII ones.
FORMULA = r"^[\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠]|^[\t\r\n]"


def export_frame(frame: pl.DataFrame, path: Path) -> None:
    """Write a frame to a file; an existing file is replaced only once the new one is complete."""
    if path.suffix not in ENDINGS:
        raise UserError(f"{path}: the file's ending says the format; use one of {', '.join(ENDINGS)}.")
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    if path.suffix == ".jsonl":
        frame.write_ndjson(partial)
    elif path.suffix == ".csv":
        without_formulas(frame).write_csv(partial)
    else:
        frame.write_parquet(partial)
    os.replace(partial, path)


def without_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    """Prefix texts that a spreadsheet would run as a formula with an apostrophe, as OWASP recommends."""
    columns = []
    for name, dtype in frame.schema.items():
        column = pl.col(name)
        if dtype == pl.String:
            risky = column.str.contains(FORMULA)
            column = pl.when(risky).then(pl.lit("'") + column).otherwise(column).alias(name)
        columns.append(column)
    return frame.select(columns)
