"""What the page needs to look every pair up: lists, attributes, why they were believed, who said what, raw replies.

Texts that occur often are kept once. What is too much for one page is left out by fixed rules, and the page says so.
"""

from typing import Any

import polars as pl

from personafit.items.relevance import GRADES
from personafit.kinds.lines import Line
from personafit.kinds.relevance import attribute_reasons
from personafit.reporting.relevance.scores import RelevanceScores
from personafit.reporting.replies import raw_replies
from personafit.store import Status, Store

MAX_PAIRS = 10_000


def browser_data(store: Store, scores: RelevanceScores) -> dict[str, Any]:
    """All lists with their pairs; what was said stands in the order of the lines."""
    items = _kept(scores.items)
    reasons = attribute_reasons(store, (scores.attributes[item] for item in items["item"]))
    said = [_said(line) for line in scores.lines]
    replies = _replies(store, scores, {*items["item"], *items["list_name"]})
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
        "lines": [{"name": one.rater, "view": one.view, "control": one.control} for one in scores.lines],
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


def _replies(store: Store, scores: RelevanceScores, about: set[str]) -> dict[str, list[list[Any]]]:
    """Raw replies by what was asked about, an item or a list, of those shown: line, part, status, detail, reply, reasoning."""
    places = {(line.fingerprint, line.view): place for place, line in enumerate(scores.lines)}
    found: dict[str, list[list[Any]]] = {}
    for one in raw_replies(store, scores.run, about):
        if (one.rater, one.view) in places:
            place = places[one.rater, one.view]
            found.setdefault(one.item, []).append(
                [place, one.order, one.status, one.detail, one.reply, one.reasoning]
            )
    return found
