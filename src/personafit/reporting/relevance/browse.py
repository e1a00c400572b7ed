"""What the page needs to look every pair up: lists, attributes, why they were believed, who said what, raw replies.

Texts that occur often are kept once. What is too much for one page is left out by fixed rules, and the page says so.
"""

from typing import Any

import polars as pl
from sqlalchemy import or_, select

from personafit.items.relevance import GRADES
from personafit.raters.relevance import attribute_reasons
from personafit.reporting.relevance.scores import Line, RelevanceScores
from personafit.store import Status, Store
from personafit.store import tables as t

MAX_PAIRS = 10_000
MAX_REPLY = 4_000  # characters of one raw reply or reasoning
MAX_REPLIES = 20_000_000  # characters of all of them: beyond this browsers struggle to open the page


def browser_data(store: Store, scores: RelevanceScores) -> dict[str, Any]:
    """All lists with their pairs; what was said stands in the order of the lines."""
    items = _kept(scores.items)
    reasons = attribute_reasons(store, (scores.attributes[item] for item in items["item"]))
    said = [_said(line) for line in scores.lines]
    replies = _replies(store, scores)
    texts: dict[str, int] = {}
    lists = []
    for (name,), rows in items.group_by(["list_name"], maintain_order=True):
        pairs = []
        for row in rows.iter_rows(named=True):
            reason = reasons.get(scores.attributes[row["item"]])
            pairs.append(
                {
                    "id": row["item"],
                    "text": texts.setdefault(row["attribute"], len(texts)),
                    "reason": None if reason is None else texts.setdefault(reason, len(texts)),
                    "gold": row["relevant"],
                    "said": [one.get(row["item"]) for one in said],
                    "replies": replies.get(row["item"], []),
                }
            )
        prompt = texts.setdefault(rows["prompt"][0], len(texts))
        lists.append(
            {
                "person": rows["person"][0],
                "prompt": prompt,
                "pairs": pairs,
                "replies": replies.get(str(name), []),
            }
        )
    return {
        "lines": [{"name": one.name, "view": one.view, "control": one.control} for one in scores.lines],
        "gold": scores.info["gold"],
        "texts": list(texts),
        "lists": lists,
        "pairs": len(items),
        "total": len(scores.items),
    }


def _kept(items: pl.DataFrame) -> pl.DataFrame:
    """All pairs, or as many whole lists from the beginning as a page can hold; at least one."""
    if len(items) <= MAX_PAIRS:
        return items
    sizes = items.group_by("list_name", maintain_order=True).len()
    kept = sizes.filter((pl.col("len").cum_sum() <= MAX_PAIRS) | (pl.int_range(pl.len()) == 0))
    return items.join(kept, on="list_name", how="semi", maintain_order="left")


def _said(line: Line) -> dict[str, list[Any]]:
    """Per pair: yes or no (or nothing), the score, and the grade or the status where it says more."""
    found = {}
    columns = ("item", "yes", "score", "label", "status")
    for item, yes, score, label, status in line.frame.select(columns).iter_rows():
        if status is None:
            continue
        more = label if label in GRADES else (status if status != Status.OK.value else None)
        found[item] = [yes, None if score is None else float(f"{score:.4g}"), more]
    return found


def _replies(store: Store, scores: RelevanceScores) -> dict[str, list[list[Any]]]:
    """Raw replies by what was asked about, an item or a list: line, part, status, detail, reply, reasoning."""
    places = {(line.fingerprint, line.view): place for place, line in enumerate(scores.lines)}
    ask = t.asks
    texts = (ask.c.detail, ask.c.reply, ask.c.reasoning)
    frame = store.frame(
        select(ask.c.item, ask.c.rater, ask.c.view, ask.c.order, ask.c.status, *texts)
        .select_from(t.run_jobs.join(ask, ask.c.job == t.run_jobs.c.job))
        .where(t.run_jobs.c.run == scores.run.id, or_(*(column.is_not(None) for column in texts)))
        .order_by(ask.c.item, ask.c.rater, ask.c.view, ask.c.order, ask.c.sample, ask.c.at)
    )
    found: dict[str, list[list[Any]]] = {}
    left = MAX_REPLIES
    for item, rater, view, part, status, *said in frame.iter_rows():
        if (rater, view) not in places:
            continue
        short = [_cut(text) for text in said]
        left -= sum(len(text or "") for text in short)
        if left < 0:
            short = ["left out: the page would grow too large", None, None]
        found.setdefault(item, []).append([places[rater, view], part, status, *short])
    return found


def _cut(text: str | None) -> str | None:
    if text is None or len(text) <= MAX_REPLY:
        return text
    return f"{text[:MAX_REPLY]} … ({len(text) - MAX_REPLY:,} more characters in the store)"
