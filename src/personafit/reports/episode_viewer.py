"""The episode viewer of the item browser: the dialogue, the calls and their changes, and where regret arose."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson
import polars as pl

from personafit.kinds.lines import Line
from personafit.reports.browse import BrowserItem, PageTexts, cut_text, pack_items
from personafit.store import RunRecord, Store
from personafit.worlds.catalogue import Offer, acceptable, utility
from personafit.worlds.episode import Call, EpisodeRecord, spoken
from personafit.worlds.ontology import BUDGET, NEEDS
from personafit.worlds.people import Fact, Tastes
from personafit.worlds.state import Change

MAX_EPISODES = 600
MAX_TEXT = 1_500  # characters of one call or message
MAX_REPLY = 400  # characters of one reply of a tool: lists of offers are long
FAULTS = {
    "leaks": "leak",
    "collateral": "collateral damage",
    "unasked_needs": "unasked need",
    "malformed": "malformed call",
    "impossible": "impossible call",
    "re_asked": "asked again",
    "spoilt": "spoilt by the user",
}
"""Faults that episodes can be filtered by."""
OUTCOMES = {"rsp": "done", "r": "done, best choice", "p": "done, regret 0.5 or more", "w": "not done"}
"""Filters of episodes: the letters they cover (see `_letter`) → label."""
WORDS = {
    "rater": "figures",
    "anybody": "all",
    "right": "done, best choice",
    "wrong": "otherwise",
    "status": "Counted",
    "chosen": "Where regret arose",
    "cut": ", those of systems and the costliest choices first",
}
BITS = 1 << len(FAULTS)  # above the bits of the faults
PARTS = ["preference", "the person", "weight", "known from", "chosen", "best choice"]


def episode_items(store: Store, run: RunRecord, lines: Sequence[Line]) -> dict[str, Any]:
    """Return the item browser's data; an item is an episode, systems come first, and within them the highest regret."""
    frames = [
        line.frame.with_columns(
            system=pl.lit(line.system),
            rank=pl.lit(line.asked_for + (line.asked_for and line.control is None)),
        )
        for line in lines
    ]
    played = pl.concat(frames, how="diagonal_relaxed").filter(pl.col("episode").is_not_null())
    kept = played.sort("rank", "regret", descending=True, maintain_order=True).head(MAX_EPISODES)
    figures = {row["episode"]: row for row in kept.iter_rows(named=True)}
    played_texts = store.texts(figures)
    episodes = [{"id": id, **orjson.loads(played_texts[id])} for id in figures]
    stored = store.texts({one["context"] for one in episodes} | {one["request"] for one in episodes})
    counted = [name for name in FAULTS if any(row[name] for row in figures.values())]
    texts, shown = PageTexts(), []
    for one in episodes:
        row, request = figures[one["id"]], orjson.loads(stored[one["request"]])
        record = EpisodeRecord.from_json(orjson.dumps(one["record"]).decode())
        told = stored.get(one["context"])
        bits = sum(1 << place for place, name in enumerate(counted) if row[name])
        shown.append(
            BrowserItem(
                id=f"{row['request']} · {row['domain']}",
                question=request["text"],
                person=one["person"],
                about=_about(row),
                verdicts=_letter(row),
                statuses=chr(BITS + bits),
                facets={
                    "system": str(row["system"]),
                    "system context": one["given"] or "–",
                    "level": row["level"],
                },
                turns=_transcript(record, one["detail"], texts),
                told=[("What the agent was told", texts.place(told))] if told else [],
                marks=[
                    [texts.place(name), None, cells] for name, cells in _choices(request, committed(record))
                ],
            )
        )
    return pack_items(
        store,
        run,
        shown,
        texts,
        ["figures"],
        contexts=[""],
        words=WORDS,
        verdicts=OUTCOMES,
        statuses=[FAULTS[name] for name in counted],
        total=len(played),
        columns=PARTS,
    )


def _letter(row: Mapping[str, Any]) -> str:
    """Return a letter for success and the quality of the choice."""
    if not row["success"]:
        return "w"
    return "r" if row["regret"] <= 0.001 else "p" if row["regret"] >= 0.5 else "s"


def _about(row: Mapping[str, Any]) -> str:
    done = f"{'done' if row['success'] else 'not done'}, regret {row['regret']:.2f}"
    return " · ".join([done, *(label for name, label in FAULTS.items() if row[name])])


def _transcript(record: EpisodeRecord, detail: str | None, texts: PageTexts) -> dict[str, Any]:
    """Return the agent's actions and the replies, with the changes made by each call."""

    def place(text: str, most: int = MAX_TEXT) -> int:
        return texts.place(cut_text(text, most) or "–")

    said: list[list[Any]] = []
    for turn in record.turns:
        action, tags = turn.action, [turn.fault] if turn.fault else []
        if turn.by_user:
            said.append(["Agent to the user", "assistant", place(spoken(action) or ""), [], tags, ""])
            said.append(["Simulated user", "user", place(turn.reply), [], [], ""])
            continue
        if isinstance(action, Call):
            said.append(
                [action.name or "unreadable call", "assistant", place(action.arguments), [], tags, ""]
            )
            changes = [_change(one) for one in turn.changes]
            said.append(["Reply", "tool", place(turn.reply, MAX_REPLY), [], changes, ""])
    why = f". {detail}" if detail else ""
    return {"turns": said, "ended": f"Ended by: {record.stop}{why}", "notes": []}


def _change(change: Change) -> str:
    """Format a change of the state: its sign, table and entry."""
    sign = "+" if change.before is None else "−" if change.after is None else "±"
    entry = change.after or change.before
    assert entry is not None
    shown = (str(value) for value in entry.shown().values() if not isinstance(value, dict))
    return cut_text(f"{sign} {change.table}: {', '.join(shown)}", MAX_TEXT) or ""


def committed(record: EpisodeRecord) -> list[str]:
    """Return the ids of the offers committed at the end."""
    offers: dict[str, str] = {}
    for change in (change for turn in record.turns for change in turn.changes):
        if change.after is not None and change.after.offer is not None:
            offers[change.after.id] = change.after.offer
        elif change.before is not None:
            offers.pop(change.before.id, None)
    return list(offers.values())


def _choices(request: Mapping[str, Any], chosen: Sequence[str]) -> Iterator[tuple[str, list[list[Any]]]]:
    """Yield, per domain, the person's preferences beside the chosen and the best offer, as table cells."""
    offers = {one[0]: _offer(*one) for one in request["offers"]}
    facts = [Fact(*one) for one in request["facts"]]
    for goal, place in zip(request["goals"], request["best"], strict=True):
        domain, best = goal["domain"], offers[place]
        got = next((offers[one] for one in chosen if one in offers and offers[one].domain == domain), None)
        named = [f"{one.name} ({one.id}, {one.price})" if one else "nothing" for one in (got, best)]
        yield domain, [[text, False, None] for text in ("", "", "", *named)]
        for fact in (fact for fact in facts if fact.domain == domain):
            cells = [", ".join(fact.values), str(fact.weight) if fact.weight else "must", fact.place]
            yield (
                fact.topic,
                [
                    *([text, False, None] for text in cells),
                    [_value(got, fact.topic), not _met(got, fact), None],
                    [_value(best, fact.topic), False, None],
                ],
            )


def _offer(*stored: Any) -> Offer:
    *fields, suits = stored
    return Offer(*[*fields, frozenset(suits)])


def _value(offer: Offer | None, topic: str) -> str:
    if offer is None:
        return "–"
    found = {**offer.values, BUDGET: str(offer.price), NEEDS: ", ".join(sorted(offer.suits))}
    return found.get(topic) or "–"


def _met(offer: Offer | None, fact: Fact) -> bool:
    alone = Tastes({fact.key: fact})
    return offer is not None and acceptable(offer, alone) and (fact.hard or utility(offer, alone) == 1.0)
