"""The item browser's data: every item with its person, answers, verdicts and raw replies, compact enough to embed.

The list and the filters need columns, which are one block; texts, people and replies come in blocks of 100 or 200 that the page decodes
when they are opened or searched. Texts occur in many items, so each is stored once and referred to by its index. What does not fit on
one page is left out by fixed rules (wrong items stay, long replies are cut), and the page says so.
"""

import base64
import os
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import orjson
import polars as pl
from sqlalchemy import func, or_, select

from personafit.contexts import is_remembered
from personafit.kinds.choice import with_slices
from personafit.people import Person, render_person
from personafit.reports.totals import RunTotals
from personafit.store import RunRecord, Status, Store
from personafit.store import tables as t

LEVEL = 4  # level 6 takes 50 % longer for 3 % less
RAW = -15  # deflate without a header, as read by `DecompressionStream("deflate-raw")`


def list_blocks(values: Sequence[Any], size: int) -> list[str]:
    """Pack the values in order, `size` to a block."""
    return _packed(orjson.dumps(values[start : start + size]) for start in range(0, len(values), size))


def frame_blocks(frame: pl.DataFrame, size: int) -> list[str]:
    """Pack the rows of a frame in order as objects, `size` to a block."""
    return _packed(_array(part) for part in frame.iter_slices(size))


def _array(rows: pl.DataFrame) -> bytes:
    return b"[" + rows.write_ndjson().encode().rstrip(b"\n").replace(b"\n", b",") + b"]"


def _packed(arrays: Iterable[bytes]) -> list[str]:
    """Compress arrays in parallel threads (zlib releases the GIL)."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(_pack, arrays))


def _pack(array: bytes) -> str:
    compressor = zlib.compressobj(LEVEL, zlib.DEFLATED, RAW)
    return base64.b64encode(compressor.compress(array) + compressor.flush()).decode()


def told_by_item(store: Store, totals: RunTotals) -> dict[int, list[list[Any]]]:
    """Return, per sampled item and generated context: the context's index, its text, status, and the products it was made from."""
    contexts = {
        context: place
        for place, context in enumerate(totals.contexts)
        if is_remembered(context.removeprefix("wrong:"))
    }
    answers = totals.sample.answers
    if not contexts or answers.is_empty():
        return {}
    rows = answers.filter(pl.col("context").is_in(list(contexts))).unique(
        ["position", "context"], maintain_order=True
    )
    product = t.products.c
    query = select(t.asks.c.job, product.text, product.status, product.parents).select_from(
        t.asks.join(t.products, product.id == t.asks.c.context_id)
    )
    asks = store.rows_among(query, t.asks.c.job, rows["job"].to_list())
    made = {row.job: [row.text, row.status, orjson.loads(row.parents)] for row in asks}
    told: dict[int, list[list[Any]]] = defaultdict(list)
    for position, context, job in rows.select("position", "context", "job").iter_rows():
        if job in made:
            told[position].append([contexts[context], *made[job]])
    for entries in told.values():
        entries.sort(key=lambda entry: entry[0])
    return told


def cut_text(text: str | None, most: int) -> str | None:
    """Truncate a text to `most` characters, and say how many were cut."""
    if text is None or len(text) <= most:
        return text
    return f"{text[:most]} … ({len(text) - most:,} more characters in the store)"


MAX_REPLY = 4_000  # characters of one raw reply or reasoning
MAX_REPLIES = 40_000_000  # characters of all replies: beyond this browsers struggle to open the page
MAX_FACET = 20  # a slice with more values than this is not a filter
TEXTS, PEOPLE, ITEMS = 200, 100, 100  # per block
READ = 10_000  # asks whose replies are read per chunk

LETTERS = 256  # above the bits of statuses and of eight kinds of mark
SAID = ("detail", "reply", "reasoning")
ASKED = ("rater", "context", "order", "about", "status", *SAID)
YES_NO = {True: "yes", False: "no", None: ""}
LEFT_OUT = "left out: the page would grow too large"
NOT_FACETS = frozenset({"position", "item", "person", "prompt", "products", "gold", "not_wrong"})


def browser_data(store: Store, totals: RunTotals) -> dict[str, Any]:
    """Return all data the page needs to list, filter, search and show items; verdicts are under the headline context."""
    rows = with_slices(totals.sample.items)
    facets = _facets(rows)
    products = [orjson.loads(text) for text in rows["products"]]
    places = {product: place for place, product in enumerate(_unique(products))}
    people = people_texts(store, totals.run, sorted(set(rows["person"])))
    texts = store.texts(places)
    told = told_by_item(store, totals)
    statuses = _statuses(totals)
    index = {
        "id": rows["item"].to_list(),
        "question": rows["prompt"].to_list(),
        "person": rows["person"].to_list(),
        "answers": [[places[product] for product in pair] for pair in products],
        "gold": rows["gold"].to_list(),
        "facets": [_coded(rows[name], values) for name, values in facets],
        "verdicts": _verdicts(totals, rows["position"]),
        "statuses": _endings(totals, rows["position"], statuses),
    }
    return pack_browser(
        index=index,
        people=people,
        texts=[texts.get(product, "") for product in places],
        asks=_asks(store, totals, rows),
        told=[told.get(place, []) for place in rows["position"]] if told else [],
        raters=[rater["name"] for rater in totals.raters],
        controls=[bool(rater["control"]) for rater in totals.raters],
        contexts=totals.contexts,
        context=totals.contexts.index(totals.headline_context),
        facets=[{"name": name, "values": values} for name, values in facets],
        statuses=statuses,
        total=totals.items,
    )


def pack_browser(
    *,
    index: dict[str, list[Any]],
    people: Mapping[str, str],
    texts: Iterable[str],
    asks: pl.DataFrame | Sequence[Sequence[Mapping[str, Any]]],
    told: Sequence[Any] = (),
    marks: Sequence[Any] | None = None,
    turns: Sequence[Mapping[str, Any]] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Assemble the data that a page's item browser reads.

    Args:
        index: Columns of the list: id, question, person (by name), facets, verdicts, and answers, gold, texts, about, makers or statuses.
        people: Person → profile text, in the order of their indices.
        texts: Every text once, in the order of their indices.
        asks: The asks of each item, as a row of lists or a list of asks.
        told: What was told about each item, see `BrowserItem`, as are the next two.
        marks: The rated parts of each item.
        turns: The transcript of each item.
        more: raters, controls, contexts, total, and facets, statuses, words, columns (headings of `marks`), verdicts or makers.
    """
    places = {person: place for place, person in enumerate(people)}
    nothing = {"answers": [[] for _ in index["id"]], "gold": [None] * len(index["id"]), "statuses": []}
    coded = {**nothing, **index, "person": [places[person] for person in index["person"]]}
    if isinstance(asks, pl.DataFrame):
        asked = frame_blocks(asks, ITEMS)
    else:
        valued = ["value"] if any("value" in ask for own in asks for ask in own) else []
        names = [*ASKED, *valued]
        asked = list_blocks([{name: [ask.get(name) for ask in own] for name in names} for own in asks], ITEMS)
    return {
        "context": 0,
        "facets": [],
        "statuses": [],
        "people": list(people),
        "items": len(index["id"]),
        "sizes": {
            "texts": TEXTS,
            "people": PEOPLE,
            **dict.fromkeys(("asks", "told", "marks", "turns"), ITEMS),
        },
        "blocks": {
            "index": list_blocks([coded], 1),
            "texts": list_blocks(list(texts), TEXTS),
            "people": list_blocks(list(people.values()), PEOPLE),
            "asks": asked,
            "told": list_blocks(told, ITEMS) if any(told) else [],
            **({} if marks is None else {"marks": list_blocks(marks, ITEMS)}),
            **({} if turns is None else {"turns": list_blocks(turns, ITEMS)}),
        },
        **more,
    }


def _facets(rows: pl.DataFrame) -> list[tuple[str, list[str]]]:
    """Return the slices worth filtering by and their values, tier and half first."""
    names = sorted(set(rows.columns) - NOT_FACETS, key=lambda name: (name != "tier", name != "half", name))
    facets = [(name, rows[name].drop_nulls().unique(maintain_order=True).to_list()) for name in names]
    return [(name, values) for name, values in facets if 2 <= len(values) <= MAX_FACET]


def _coded(column: pl.Series, values: list[str]) -> list[int]:
    """Return the index of each value among `values`, −1 if missing."""
    places: dict[str | None, int] = {value: place for place, value in enumerate(values)}
    return [places.get(value, -1) for value in column]


def _verdicts(totals: RunTotals, positions: pl.Series) -> list[str]:
    """Return a string per rater with a letter per item: right, wrong, mixed (tied, or split by the order), or none if unanswered."""
    letters = (
        pl.when(pl.col("accuracy").is_null())
        .then(pl.lit("n"))
        .when(pl.col("accuracy") == 1)
        .then(pl.lit("r"))
        .when(pl.col("accuracy") == 0)
        .then(pl.lit("w"))
        .otherwise(pl.lit("m"))
    )
    shown = positions.to_frame()
    found = []
    for rater in totals.raters:
        scores = totals.sample.scores.filter(pl.col("rater") == rater["fingerprint"])
        ours = shown.join(scores, on="position", how="left", maintain_order="left")
        found.append("".join(ours.select(letters).to_series()))
    return found


def _statuses(totals: RunTotals) -> list[str]:
    """Return the statuses of asks about the shown items, in the usual order."""
    answers = totals.sample.answers
    met = set() if answers.is_empty() else set(answers["status"].unique())
    return [status.value for status in Status if status.value in met]


def _endings(totals: RunTotals, positions: pl.Series, statuses: list[str]) -> list[str]:
    """Return a string per rater with a character per item, whose lowest bits are the statuses of its asks in any context."""
    if len(statuses) < 2:
        return []
    bits = pl.col("status").replace_strict({status: 1 << place for place, status in enumerate(statuses)})
    ended = totals.sample.answers.group_by("position", "rater").agg(
        bits.cast(pl.Int64).bitwise_or().alias("bits")
    )
    shown = positions.to_frame()
    found = []
    for rater in totals.raters:
        own = ended.filter(pl.col("rater") == rater["fingerprint"])
        ours = shown.join(own, on="position", how="left", maintain_order="left")["bits"].fill_null(0)
        found.append("".join(chr(LETTERS + number) for number in ours))
    return found


def _unique(groups: Iterable[list[str]]) -> dict[str, None]:
    return dict.fromkeys(product for group in groups for product in group)


def people_texts(store: Store, run: RunRecord, wanted: Iterable[str]) -> dict[str, str]:
    """Return the profile text of each of these people."""
    people = store.people(run.dataset)
    return {
        person: profile_text(people[person]) if person in people else "" for person in dict.fromkeys(wanted)
    }


def profile_text(person: Person) -> str:
    """Return everything known of a person, including parts that a context may leave out."""
    parts = [render_person(person)]
    for heading, lines in (
        ("Memories", [memory.text for memory in person.memories]),
        ("Attributes", [attribute.text for attribute in person.attributes]),
        ("Summaries", [f"{topic}: {text}" for topic, text in person.summaries.items()]),
    ):
        if lines:
            parts.append("\n".join([f"{heading}:", *(f"  {line}" for line in lines)]))
    return "\n".join(part for part in parts if part)


def _asks(store: Store, totals: RunTotals, rows: pl.DataFrame) -> pl.DataFrame:
    """Return a row per item with a list per column: rater, context, order, status, label, margin and any texts of each ask."""
    raters = {rater["fingerprint"]: place for place, rater in enumerate(totals.raters)}
    contexts = {context: place for place, context in enumerate(totals.contexts)}
    answers = totals.sample.answers
    if answers.is_empty():
        return pl.DataFrame([{"rater": []}] * len(rows), schema={"rater": pl.List(pl.Int64)})
    asks = (
        answers.filter(pl.col("rater").is_in(list(raters)), pl.col("context").is_in(list(contexts)))
        .with_columns(
            pl.col("rater").replace_strict(raters, return_dtype=pl.Int64),
            pl.col("context").replace_strict(contexts, return_dtype=pl.Int64),
            pl.col("value").round_sig_figs(4),
            _cut("detail"),
        )
        .sort("position", "rater", "context", "sample", "order")
    )
    asks = _with_replies(store, totals, asks)
    said = [name for name in SAID if asks[name].null_count() < len(asks)]
    kept = asks.select("position", "rater", "context", "order", "status", "label", "value", *said)
    lists = kept.group_by("position", maintain_order=True).agg(pl.all())
    whole = rows.select("position").join(lists, on="position", how="left", maintain_order="left")
    return whole.drop("position").with_columns(pl.all().fill_null([]))


def _with_replies(store: Store, totals: RunTotals, asks: pl.DataFrame) -> pl.DataFrame:
    """Add replies to the asks as long as the page has room; the rest get a remark instead.

    If they do not all fit, lengths are read first, so that no more texts are loaded than are shown.
    """
    ask, names = t.asks.c, ("reply", "reasoning")
    columns, room = [ask[name] for name in names], MAX_REPLIES - int(_size(asks, "detail").sum())
    replies = []
    for part in _read(store, totals, asks["job"], columns, pl.String):
        room -= int(_size(part, *names).sum())
        if room <= 0:
            break
        replies.append(part.with_columns(map(_cut, names)))
    else:
        return asks.join(pl.concat(replies), on="ask", how="left", maintain_order="left")
    measured = _read(store, totals, asks["job"], [func.length(column) for column in columns], pl.Int64)
    lengths = asks.select("ask").join(pl.concat(measured), on="ask", how="left", maintain_order="left")
    size = (
        _size(asks, "detail")
        + lengths.select(pl.sum_horizontal(pl.col(names).clip(0, MAX_REPLY))).to_series()
    )
    asks = asks.with_columns(fits=(size.cum_sum() < MAX_REPLIES) | (size == 0))
    shown = asks.filter("fits")
    texts = _read(store, totals, shown["job"], columns, pl.String)
    cut = (part.join(shown, on="ask", how="semi").with_columns(map(_cut, names)) for part in texts)
    detail = pl.when("fits").then("detail").otherwise(pl.lit(LEFT_OUT)).alias("detail")
    return asks.join(pl.concat(cut), on="ask", how="left", maintain_order="left").with_columns(detail)


def _size(rows: pl.DataFrame, *names: str) -> pl.Series:
    """Return the number of characters shown of each row's texts."""
    lengths = (pl.col(name).str.len_chars().clip(0, MAX_REPLY).cast(pl.Int64) for name in names)
    return rows.select(pl.sum_horizontal(*lengths).fill_null(0)).to_series()


def _read(
    store: Store, totals: RunTotals, jobs: pl.Series, columns: Sequence[Any], dtype: type[pl.DataType]
) -> Iterator[pl.DataFrame]:
    """Yield two columns, for reply and reasoning, of the asks of these jobs that have either."""
    ask, schema = t.asks.c, dict[str, type[pl.DataType]](ask=pl.String, reply=dtype, reasoning=dtype)
    query = select(ask.id, *columns).where(or_(ask.reply.is_not(None), ask.reasoning.is_not(None)))
    yield pl.DataFrame(schema=schema)
    if totals.pages is not None:  # all asks of the run in stored order: faster than looking up each
        of_run = t.run_jobs.join(t.asks, ask.job == t.run_jobs.c.job)
        whole = query.select_from(of_run).where(t.run_jobs.c.run == totals.run.id)
        yield from store.frames(whole, schema, READ)
        return
    for start in range(0, len(jobs), READ):
        rows = store.rows_among(query, ask.job, sorted(jobs[start : start + READ]))
        yield pl.DataFrame(map(tuple, rows), schema=schema, orient="row")


def _cut(name: str) -> pl.Expr:
    text = pl.col(name).cast(pl.String)
    more = (text.str.len_chars() - MAX_REPLY).cast(pl.String)
    cut = pl.format("{} … ({} more characters in the store)", text.str.slice(0, MAX_REPLY), more)
    return pl.when(text.str.len_chars() > MAX_REPLY).then(cut).otherwise(text).alias(name)


# -- kinds whose items have parts ------------------------------------------------------------------------------------


class PageTexts(dict[str, int]):
    """Every text of a page once, with its index."""

    def place(self, text: str) -> int:
        """Return the index of a text, which is added if it is new."""
        return self.setdefault(text, len(self))


@dataclass(kw_only=True)
class BrowserItem:
    """One item as the browser shows it; its texts are given by their index."""

    id: str
    question: str
    person: str
    verdicts: str
    """A letter per rater."""
    about: str | None = None
    """The line below the question in the list; by default counts of the verdicts."""
    facets: Mapping[str, str] = field(default_factory=dict)
    answers: Sequence[int] = ()
    makers: Sequence[int] = ()
    gold: str | None = None
    statuses: str = ""
    """A character per rater, whose lowest bits are what was counted."""
    asks: Sequence[Mapping[str, Any]] = ()
    """Asks with some of the keys in `ASKED`."""
    told: Sequence[Sequence[Any]] = ()
    """Titles with the index of a text; or a context's index, its text, status and sources."""
    marks: Sequence[Sequence[Any]] | None = None
    """Rows of parts that are rated one by one: index of the text, index of a note, and cells of text, whether it is highlighted, and
    score."""
    turns: Mapping[str, Any] | None = None
    """A transcript: `turns` (speaker, role, index of the text, marks as start, end, kind, label, tags, thought), `ended` and `notes`."""

    @property
    def searched(self) -> list[int]:
        """The texts to search besides the answers."""
        told = [place for title, place, *_ in self.told if isinstance(title, str)]
        said = [turn[2] for turn in self.turns["turns"]] if self.turns else []
        return [*told, *said, *(one for row in self.marks or () for one in row[:2] if one is not None)]


def pack_items(
    store: Store,
    run: RunRecord,
    items: Sequence[BrowserItem],
    texts: PageTexts,
    raters: Sequence[str],
    longest_profile: int | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Return the data of a browser of these items; `more` are further keys of `pack_browser`, such as `total` and `words`."""
    people = people_texts(store, run, [one.person for one in items])
    if longest_profile is not None:
        people = {person: cut_text(text, longest_profile) or "" for person, text in people.items()}
    columns: dict[str, list[str]] = {}
    for one in items:
        for name, value in one.facets.items():
            columns.setdefault(name, []).append(value)
    values = {name: [*dict.fromkeys(column)] for name, column in columns.items()}
    facets = [name for name in columns if len(values[name]) > 1]
    index: dict[str, list[Any]] = {
        "id": [one.id for one in items],
        "question": [one.question for one in items],
        "person": [one.person for one in items],
        "answers": [one.answers for one in items],
        "gold": [one.gold for one in items],
        "facets": [[values[name].index(value) for value in columns[name]] for name in facets],
        "verdicts": ["".join(one.verdicts[place] for one in items) for place in range(len(raters))],
    }
    for name in ("about", "makers", "searched"):
        if any(getattr(one, name) for one in items):
            index["texts" if name == "searched" else name] = [getattr(one, name) for one in items]
    if any(one.statuses for one in items):
        index["statuses"] = ["".join(one.statuses[place] for one in items) for place in range(len(raters))]
    parts = {
        name: [getattr(one, name) for one in items]
        for name in ("marks", "turns")
        if any(getattr(one, name) is not None for one in items)
    }
    return pack_browser(
        index=index,
        people=people,
        texts=texts,
        asks=[one.asks for one in items],
        told=[one.told for one in items],
        raters=raters,
        facets=[{"name": name, "values": values[name]} for name in facets],
        **{"controls": [False] * len(raters)} | parts | more,
    )


def raw_replies(
    store: Store,
    run: RunRecord,
    about: Mapping[str, str],
    raters: Sequence[str],
    contexts: Sequence[str] | None = None,
) -> dict[str, list[dict[str, Any]]]:
    """Return the asks with any text by the browser's item; `about` maps the item asked about to that item."""
    ask = t.asks
    texts = (ask.c.detail, ask.c.reply, ask.c.reasoning)
    query = (
        select(ask.c.item, ask.c.question, ask.c.rater, ask.c.context, ask.c.order, ask.c.status, *texts)
        .select_from(t.run_jobs.join(ask, ask.c.job == t.run_jobs.c.job))
        .where(t.run_jobs.c.run == run.id, or_(*(column.is_not(None) for column in texts)))
        .order_by(ask.c.item, ask.c.rater, ask.c.context, ask.c.order, ask.c.sample, ask.c.at)
    )
    left = MAX_REPLIES
    found: dict[str, list[dict[str, Any]]] = {}
    for row in (row for part in store.stream(query, READ) for row in part):
        if row.item not in about or row.rater not in raters or (contexts and row.context not in contexts):
            continue
        said = [cut_text(text, MAX_REPLY) for text in (row.detail, row.reply, row.reasoning)]
        left -= sum(len(text or "") for text in said)
        if left < 0:
            said = [LEFT_OUT, None, None]
        context = contexts.index(row.context) if contexts else 0
        one = {"rater": raters.index(row.rater), "context": context, "status": row.status}
        asked = {"item": row.item, "question": row.question, "order": row.order, **one}
        asked |= zip(SAID, said, strict=True)
        found.setdefault(about[row.item], []).append(asked)
    return found
