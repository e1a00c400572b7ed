"""The item browser's data of items whose parts are rated one by one: lists of attributes, and pairs of answers.

The page's browser is the one of choices; in place of who chose what it shows a table, an attribute a row and a rater a column.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from sqlalchemy import or_, select

from personafit.items.preference import GENERIC, MIDDLE, PERSONAL
from personafit.items.relevance import GRADES
from personafit.kinds.lines import Line
from personafit.kinds.preference import PreferenceScores
from personafit.kinds.relevance import RelevanceScores, attribute_reasons
from personafit.reports.browse import LEFT_OUT, SAID, cut_text, pack_browser, people_texts
from personafit.reports.written import plain
from personafit.store import RunRecord, Status, Store
from personafit.store import tables as t

MAX_REPLY = 4_000  # characters of one raw reply or reasoning
MAX_REPLIES = 20_000_000  # characters of all of them: beyond this browsers struggle to open the page
ROWS = 2_000  # read at a time: those of a long run fill more memory than there is


def raw_replies(
    store: Store,
    run: RunRecord,
    about: Mapping[str, str],
    raters: Sequence[str],
    views: Sequence[str] | None = None,
) -> dict[str, list[dict[str, Any]]]:
    """By the item of the browser, every ask about it in which something was said; `about` has the item of what was asked about."""
    ask = t.asks
    texts = (ask.c.detail, ask.c.reply, ask.c.reasoning)
    query = (
        select(ask.c.item, ask.c.rater, ask.c.view, ask.c.order, ask.c.status, *texts)
        .select_from(t.run_jobs.join(ask, ask.c.job == t.run_jobs.c.job))
        .where(t.run_jobs.c.run == run.id, or_(*(column.is_not(None) for column in texts)))
        .order_by(ask.c.item, ask.c.rater, ask.c.view, ask.c.order, ask.c.sample, ask.c.at)
    )
    left = MAX_REPLIES
    found: dict[str, list[dict[str, Any]]] = {}
    for row in (row for part in store.stream(query, ROWS) for row in part):
        if row.item not in about or row.rater not in raters or (views and row.view not in views):
            continue
        said = [cut_text(text, MAX_REPLY) for text in (row.detail, row.reply, row.reasoning)]
        left -= sum(len(text or "") for text in said)
        if left < 0:
            said = [LEFT_OUT, None, None]
        view = views.index(row.view) if views else 0
        one = {"rater": raters.index(row.rater), "view": view, "status": row.status}
        asked = {"item": row.item, "order": row.order, **one, **dict(zip(SAID, said, strict=True))}
        found.setdefault(about[row.item], []).append(asked)
    return found


MAX_PAIRS = 10_000  # attributes in lists
MOST_ITEMS = 300  # pairs of answers; their texts make up nearly all of the page
LIST_WORDS = {
    "right": "as people say",
    "wrong": "not as people say",
    "differ": "raters disagree",
    "chosen": "Who picked what",
    "cut": "",
}
LIST_VERDICTS = {
    "r": "as people say",
    "ob": "picked, but not relevant",
    "ub": "relevant, but not picked",
    "n": "no answer",
}
"""What lists are filtered by, by the letters they have: o picks too much, u misses something, b does both."""
PAIR_WORDS = {
    "right": "personalized better",
    "wrong": "generic better",
    "mixed": "neither better",
    "gold": "",
    "chosen": "Marks by attribute",
    "cut": ", from the beginning of the data",
}
YES_NO = {True: "yes", False: "no", None: ""}
MAKERS = ("generic", "personalized")
PAIR_ORDERS = {f"{GENERIC}{PERSONAL}": "generic first", f"{PERSONAL}{GENERIC}": "personalized first"}


def relevance_items(store: Store, scores: RelevanceScores) -> dict[str, Any]:
    """The item browser's data: an item is a list of attributes with what everybody said of each, and the raw replies."""
    pairs = _kept(scores.items)
    lists = pairs.group_by("list_name", maintain_order=True).agg(
        pl.col("item", "attribute", "relevant"), pl.col("person", "prompt").first()
    )
    first: dict[str, Line] = {}  # of each rater
    for line in scores.lines:
        first.setdefault(str(line.fingerprint), line)
    views = list(dict.fromkeys(str(line.view) for line in scores.lines))
    reasons = attribute_reasons(store, (scores.attributes[item] for item in pairs["item"]))
    asks = _list_replies(store, scores, pairs, list(first), views)
    said = [_picks(line) for line in scores.lines]
    texts: dict[str, int] = {}
    marks: list[list[list[Any]]] = []
    for items, attributes, golds in lists.select("item", "attribute", "relevant").iter_rows():
        rows = []
        for item, attribute, gold in zip(items, attributes, golds, strict=True):
            reason = reasons.get(scores.attributes[item])
            note = None if reason is None else texts.setdefault(reason, len(texts))
            cells = [[YES_NO[gold] or "–", False, None], *(one[item] for one in said)]
            rows.append([texts.setdefault(attribute or "(empty)", len(texts)), note, cells])
        marks.append(rows)
    about = [f"{len(golds)} attributes, {sum(map(bool, golds))} relevant" for golds in lists["relevant"]]
    named = [str(one.rater) if one.view == "none" else f"{one.rater}, {one.view}" for one in scores.lines]
    return pack_browser(
        raters=[str(line.rater) for line in first.values()],
        controls=[not line.asked_for for line in first.values()],
        views=views,
        words=LIST_WORDS,
        verdicts=LIST_VERDICTS,
        people=people_texts(store, scores.run, lists["person"]),
        texts=texts,
        asks=[asks.get(name, []) for name in lists["list_name"]],
        total=scores.items["list_name"].n_unique(),
        columns=["attribute", scores.info["gold"], *named],
        marks=marks,
        index={
            "id": [f"{person}, {size}" for person, size in zip(lists["person"], about, strict=True)],
            "question": lists["prompt"].to_list(),
            "person": lists["person"].to_list(),
            "answers": [[] for _ in about],
            "texts": [[one for row in rows for one in row[:2] if one is not None] for rows in marks],
            "about": about,
            "gold": [None] * len(about),
            "facets": [],
            "verdicts": [_list_letters(line, lists["list_name"]) for line in first.values()],
        },
    )


def _kept(items: pl.DataFrame) -> pl.DataFrame:
    """All pairs, or as many whole lists from the beginning as a page can hold; at least one."""
    sizes = items.group_by("list_name", maintain_order=True).len()
    kept = sizes.filter((pl.col("len").cum_sum() <= MAX_PAIRS) | (pl.int_range(pl.len()) == 0))
    return items.join(kept, on="list_name", how="semi", maintain_order="left")


def _picks(line: Line) -> dict[str, list[Any]]:
    """By pair the cell of the table: yes or no with the grade or the status where it says more, whether people differ, and the score."""
    found = {}
    columns = ("item", "yes", "relevant", "score", "label", "status")
    for item, yes, relevant, score, label, status in line.frame.select(columns).iter_rows():
        more = label if label in GRADES else "" if status == Status.OK.value else status
        text = " ".join(filter(None, [YES_NO[yes], f"({more})" if more else ""])) or "–"
        differs = None not in (yes, relevant) and yes != relevant
        found[item] = [text, differs, None if score is None else float(f"{score:.4g}")]
    return found


def _list_letters(line: Line, lists: pl.Series) -> str:
    """One letter a list, see `LIST_VERDICTS`."""
    yes, relevant = pl.col("yes"), pl.col("relevant")
    over, under = (yes & ~relevant).any(), (~yes & relevant).any()
    letter = (
        pl.when(over & under).then(pl.lit("b")).when(over).then(pl.lit("o")).when(under).then(pl.lit("u"))
    )
    known = line.frame.drop_nulls(["yes", "relevant"]).group_by("list_name")
    letters = dict(known.agg(letter.otherwise(pl.lit("r"))).iter_rows())
    return "".join(letters.get(name, "n") for name in lists)


def _list_replies(
    store: Store, scores: RelevanceScores, pairs: pl.DataFrame, raters: Sequence[str], views: Sequence[str]
) -> dict[str, list[dict[str, Any]]]:
    """Raw replies by list: those about the whole of it or a part, and those about one of its attributes."""
    lists = dict(pairs.select("item", "list_name").iter_rows())
    attributes = dict(pairs.select("item", "attribute").iter_rows())
    about = {**lists, **{name: name for name in lists.values()}}
    found = raw_replies(store, scores.run, about, raters, views)
    for ask in (ask for asks in found.values() for ask in asks):
        what = attributes[ask["item"]][:80] if ask["item"] in lists else "the list"
        part = ask.pop("order")
        ask["about"] = f"{what}, part {part}" if part else what
    return found


def preference_items(store: Store, scores: PreferenceScores) -> dict[str, Any]:
    """The item browser's data: an item is a pair of answers with everybody's mark for each attribute, and the raw replies."""
    pairs = scores.units.group_by("item", maintain_order=True).agg(
        pl.col("target", "attribute", "names", "human"),
        pl.col("person", "prompt").first(),
        pl.col("generator", "given").fill_null("").first(),
    )
    pairs = pairs.head(MOST_ITEMS)
    items = {item.id: item for item in store.items(scores.run.dataset) if item.id in set(pairs["item"])}
    products = store.texts({one for item in items.values() for one in item.products[: PERSONAL + 1]})
    controls = {rater["fingerprint"]: bool(rater["control"]) for rater in scores.run.config["raters"]}
    names = {rater["fingerprint"]: rater["name"] for rater in scores.run.config["raters"]}
    names |= {str(line.fingerprint): str(line.rater) for line in scores.lines}
    frames = {str(line.fingerprint): line.frame for line in scores.lines}
    ratings = [
        {(item, target): mark for item, target, mark in frame.select("item", "target", "rating").iter_rows()}
        for frame in frames.values()
    ]
    replies = raw_replies(store, scores.run, {item: item for item in items}, list(names))
    for ask in (ask for asks in replies.values() for ask in asks):
        ask["about"] = PAIR_ORDERS.get(ask.pop("order"))
    texts: dict[str, int] = {}
    marks: list[list[list[Any]]] = []
    columns = ("item", "target", "attribute", "names", "human")
    for item, *parts in pairs.select(columns).iter_rows():
        rows = []
        for target, attribute, named, human in zip(*parts, strict=True):
            people = [human] if scores.people_are else []
            given = [
                "–" if one is None else plain(one) for one in (*people, *(r[item, target] for r in ratings))
            ]
            cells = [[one, False, None] for one in (YES_NO[named] or "–", *given)]
            rows.append([texts.setdefault(attribute, len(texts)), None, cells])
        marks.append(rows)
    answers = [
        [texts.setdefault(products[one], len(texts)) for one in items[item].products[: PERSONAL + 1]]
        for item in pairs["item"]
    ]
    facets = [
        (title, pairs[name].to_list(), values)
        for name, title in (("generator", "system"), ("given", "system context"))
        if len(values := pairs[name].unique(maintain_order=True).to_list()) > 1
    ]
    whose = [scores.people_are] if scores.people_are else []
    return pack_browser(
        raters=list(names.values()),
        controls=[controls.get(key, True) for key in names],
        views=["attributes"],
        words=PAIR_WORDS,
        facets=[{"name": title, "values": values} for title, _, values in facets],
        makers=MAKERS,
        people=people_texts(store, scores.run, pairs["person"]),
        texts=texts,
        asks=[replies.get(item, []) for item in pairs["item"]],
        total=scores.units["item"].n_unique(),
        columns=["attribute", "named", *whose, *(str(line.rater) for line in scores.lines)],
        marks=marks,
        index={
            "id": pairs["item"].to_list(),
            "question": pairs["prompt"].to_list(),
            "person": pairs["person"].to_list(),
            "answers": answers,
            "makers": [[GENERIC, PERSONAL] for _ in answers],
            "texts": [[row[0] for row in rows] for rows in marks],
            "gold": [None] * len(answers),
            "facets": [[values.index(one) for one in column] for _, column, values in facets],
            "verdicts": [_pair_letters(frames.get(key), pairs["item"]) for key in names],
        },
    )


def _pair_letters(frame: pl.DataFrame | None, items: pl.Series) -> str:
    """One letter a pair: whether the mean mark over its attributes is above the middle, below it, or at it."""
    if frame is None:
        return "n" * len(items)
    mean = pl.col("rating").mean()
    letter = pl.when(mean > MIDDLE).then(pl.lit("r")).when(mean < MIDDLE).then(pl.lit("w"))
    known = frame.drop_nulls("rating").group_by("item").agg(letter.otherwise(pl.lit("m")))
    letters = dict(known.iter_rows())
    return "".join(letters.get(item, "n") for item in items)
