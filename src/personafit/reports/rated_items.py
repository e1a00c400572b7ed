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
from personafit.kinds.preference_scores import PreferenceScores
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
    raters: Mapping[str, int],
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
        one = {"rater": raters[row.rater], "view": view, "status": row.status}
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
MAKERS = ("generic", "personalized")
PAIR_ORDERS = {f"{GENERIC}{PERSONAL}": "generic first", f"{PERSONAL}{GENERIC}": "personalized first"}


def relevance_items(store: Store, scores: RelevanceScores) -> dict[str, Any]:
    """The item browser's data: an item is a list of attributes with what everybody said of each, and the raw replies."""
    pairs = _kept(scores.items)
    lists = pairs.group_by("list_name", maintain_order=True).agg(
        pl.col("item", "attribute", "relevant"), pl.col("person", "prompt").first()
    )
    names = dict.fromkeys(str(line.fingerprint) for line in scores.lines)
    raters = {name: place for place, name in enumerate(names)}
    first: dict[str, Line] = {}
    for line in scores.lines:
        first.setdefault(str(line.fingerprint), line)
    views = list(dict.fromkeys(str(line.view) for line in scores.lines))
    reasons = attribute_reasons(store, (scores.attributes[item] for item in pairs["item"]))
    said = [_said(line) for line in scores.lines]
    asks = _list_replies(store, scores, pairs, raters, views)
    texts: dict[str, int] = {}
    marks, shown, letters, about = [], [], [], []
    for _, items, attributes, golds, *_ in lists.iter_rows():
        rows = []
        for item, attribute, gold in zip(items, attributes, golds, strict=True):
            reason = reasons.get(scores.attributes[item])
            note = None if reason is None else texts.setdefault(reason, len(texts))
            cells = [[{True: "yes", False: "no"}.get(gold, "–"), False, None]]
            cells += [_pick(one.get(item), gold) for one in said]
            rows.append([texts.setdefault(attribute or "(empty)", len(texts)), note, cells])
        marks.append(rows)
        shown.append([place for text, note, _ in rows for place in (text, note) if place is not None])
        about.append(f"{len(items)} attributes, {sum(map(bool, golds))} relevant")
        letters.append([_letter(said[scores.lines.index(first[rater])], items, golds) for rater in names])
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
        columns=["attribute", scores.info["gold"], *(_line_name(line) for line in scores.lines)],
        marks=marks,
        index={
            "id": [f"{person}, {size}" for person, size in zip(lists["person"], about, strict=True)],
            "question": lists["prompt"].to_list(),
            "person": lists["person"].to_list(),
            "answers": [[] for _ in about],
            "texts": shown,
            "about": about,
            "gold": [None] * len(about),
            "facets": [],
            "verdicts": ["".join(column) for column in zip(*letters, strict=True)],
        },
    )


def _line_name(line: Line) -> str:
    return str(line.rater) if line.view == "none" else f"{line.rater}, {line.view}"


def _kept(items: pl.DataFrame) -> pl.DataFrame:
    """All pairs, or as many whole lists from the beginning as a page can hold; at least one."""
    if len(items) <= MAX_PAIRS:
        return items
    sizes = items.group_by("list_name", maintain_order=True).len()
    kept = sizes.filter((pl.col("len").cum_sum() <= MAX_PAIRS) | (pl.int_range(pl.len()) == 0))
    return items.join(kept, on="list_name", how="semi", maintain_order="left")


def _said(line: Line) -> dict[str, tuple[bool | None, float | None, str]]:
    """Per pair: yes or no (or nothing), the score, and the grade or the status where it says more."""
    found = {}
    columns = ("item", "yes", "score", "label", "status")
    for item, yes, score, label, status in line.frame.select(columns).iter_rows():
        if status is not None:
            more = label if label in GRADES else "" if status == Status.OK.value else status
            found[item] = (yes, None if score is None else float(f"{score:.4g}"), more)
    return found


def _pick(said: tuple[bool | None, float | None, str] | None, gold: bool | None) -> list[Any]:
    """A cell of the table: its text, whether it differs from people, and the score."""
    if said is None:
        return ["–", False, None]
    yes, score, more = said
    word = {True: "yes", False: "no"}.get(yes, "") if yes is not None else ""
    text = " ".join(filter(None, [word, f"({more})" if more and more != word else ""])) or "–"
    return [text, yes is not None and gold is not None and yes != gold, score]


def _letter(
    said: dict[str, tuple[bool | None, float | None, str]], items: Sequence[str], golds: Sequence[bool | None]
) -> str:
    """How one rater did on a list, see `LIST_VERDICTS`."""
    answers = [(said[item][0], gold) for item, gold in zip(items, golds, strict=True) if item in said]
    known = [(yes, gold) for yes, gold in answers if yes is not None and gold is not None]
    if not known:
        return "n"
    over, under = ((True, False) in known), ((False, True) in known)
    return "b" if over and under else "o" if over else "u" if under else "r"


def _list_replies(
    store: Store, scores: RelevanceScores, pairs: pl.DataFrame, raters: dict[str, int], views: Sequence[str]
) -> dict[str, list[dict[str, Any]]]:
    """Raw replies by list: those about the whole of it or a part, and those about one of its attributes."""
    lists = dict(pairs.select("item", "list_name").iter_rows())
    attributes = dict(pairs.select("item", "attribute").iter_rows())
    found = raw_replies(
        store, scores.run, {**lists, **{name: name for name in lists.values()}}, raters, views
    )
    for ask in (ask for asks in found.values() for ask in asks):
        what = attributes[ask["item"]][:80] if ask["item"] in lists else "the list"
        part = ask.pop("order")
        ask["about"] = f"{what}, part {part}" if part else what
    return found


def preference_items(store: Store, scores: PreferenceScores) -> dict[str, Any]:
    """The item browser's data: an item is a pair of answers with everybody's mark for each attribute, and the raw replies."""
    wanted = scores.units["item"].unique(maintain_order=True).head(MOST_ITEMS)
    units = scores.units.filter(pl.col("item").is_in(wanted.implode())).with_columns(
        system=pl.col("generator").fill_null(""), given=pl.col("given").fill_null("")
    )
    pairs = units.group_by("item", maintain_order=True).agg(
        pl.col("target", "attribute", "names", "human"), pl.col("person", "prompt", "system", "given").first()
    )
    kept = set(wanted)
    items = {item.id: item for item in store.items(scores.run.dataset) if item.id in kept}
    products = store.texts({one for item in items.values() for one in item.products[: PERSONAL + 1]})
    raters = {rater["fingerprint"]: rater for rater in scores.run.config["raters"]}
    names = {key: rater["name"] for key, rater in raters.items()}
    names |= {str(line.fingerprint): str(line.rater) for line in scores.lines}
    places = {name: place for place, name in enumerate(names)}
    lines = {str(line.fingerprint): _marks(line) for line in scores.lines}
    replies = raw_replies(store, scores.run, {item: item for item in kept}, places)
    for ask in (ask for asks in replies.values() for ask in asks):
        ask["about"] = PAIR_ORDERS.get(ask.pop("order"))
    texts: dict[str, int] = {}
    marks, shown, answers = [], [], []
    for item, targets, attributes, named, human, *_ in pairs.iter_rows():
        rows = []
        for target, attribute, names_it, people in zip(targets, attributes, named, human, strict=True):
            said = ["–" if names_it is None else "yes" if names_it else "no"]
            said += [_mark(people)] if scores.people_are else []
            said += [_mark(lines[str(line.fingerprint)].get((item, target))) for line in scores.lines]
            rows.append([texts.setdefault(attribute, len(texts)), None, [[one, False, None] for one in said]])
        marks.append(rows)
        shown.append([row[0] for row in rows])
        pair = [products[items[item].products[place]] for place in (GENERIC, PERSONAL)]
        answers.append([texts.setdefault(text, len(texts)) for text in pair])
    facets = [
        (title, pairs[name].to_list(), values)
        for name, title in (("system", "system"), ("given", "system context"))
        if len(values := pairs[name].unique(maintain_order=True).to_list()) > 1
    ]
    whose = [scores.people_are] if scores.people_are else []
    return pack_browser(
        raters=list(names.values()),
        controls=[bool(raters[key]["control"]) if key in raters else True for key in names],
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
            "texts": shown,
            "gold": [None] * len(answers),
            "facets": [[values.index(one) for one in column] for _, column, values in facets],
            "verdicts": [_preferred(lines.get(key, {}), pairs) for key in names],
        },
    )


def _marks(line: Line) -> dict[tuple[str, str], float | None]:
    return {
        (item, target): mark
        for item, target, mark in line.frame.select("item", "target", "rating").iter_rows()
    }


def _mark(value: float | None) -> str:
    return "–" if value is None else plain(value)


def _preferred(marks: dict[tuple[str, str], float | None], pairs: pl.DataFrame) -> str:
    """One letter a pair: whether the mean mark over its attributes is above the middle, below it, or at it."""
    letters = []
    for item, targets in pairs.select("item", "target").iter_rows():
        known = [mark for target in targets if (mark := marks.get((item, target))) is not None]
        mean = sum(known) / len(known) if known else None
        letters.append("n" if mean is None else "r" if mean > MIDDLE else "w" if mean < MIDDLE else "m")
    return "".join(letters)
