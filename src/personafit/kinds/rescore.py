"""Parsing stored replies again with the current parser, for any kind: new judgments, no new asks, no cost.

Only replies that were parsed as text are parsed again; answers taken from log-probabilities of options need no parser. Replies are
streamed, since those of a long run may not fit into memory.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

from sqlalchemy import Row, select

from personafit._errors import UserError
from personafit.items.reading import PartAnswer, Shown
from personafit.kinds import find_kind
from personafit.models import ChatReply
from personafit.store import Judgment, RunRecord, Status, Store
from personafit.store import tables as t

BATCH = 2000


def rescore(store: Store, run: RunRecord) -> tuple[int, int]:
    """Parse every reply of a run again; returns how many were parsed and how many changed their judgments."""
    kind = find_kind(str(run.config.get("kind", "choice")))
    if not kind.judged:
        raise UserError(f"{run.name}: nobody judged here, so there are no replies to read again.")
    shown_again = kind.shown_again(store, run)
    read, changed = 0, 0
    waiting: list[Judgment] = []
    for rows in _asks(store, run):
        shown = shown_again(rows)
        if shown is None:
            continue
        before = {
            (row.judged, row.target): row
            for row in rows
            if row.judged is not None and row.status != Status.SKIPPED
        }
        now = _answers(rows[0], shown)
        if any(_from_scores(row, now) for row in before.values()):
            continue
        read += 1
        said = {name: (Status(row.status), row.label) for name, row in before.items()}
        if said == {_name(one): (one.status or Status.OK, one.label) for one in now}:
            continue
        changed += 1
        parse = 1 + max((row.parse for row in before.values()), default=-1)
        waiting += [_judgment(rows[0], one, parse) for one in now]
        if len(waiting) >= BATCH:
            store.add_judgments(waiting)
            waiting = []
    store.add_judgments(waiting)
    return read, changed


def _answers(ask: Row[Any], shown: Shown) -> list[PartAnswer]:
    """Return the current parser's answers from a reply; parts it leaves out are unparsed."""
    reading = shown.question.read(ChatReply(text=ask.reply), shown)
    found = {_name(one): one for one in reading.answers} if reading is not None else {}
    return [
        found.get((part.item, part.target)) or PartAnswer(part, status=Status.UNPARSED)
        for part in shown.parts
    ]


def _from_scores(row: Row[Any], now: Sequence[PartAnswer]) -> bool:
    """Return whether an answer was taken from the scores of options: it has a value that no parser returns."""
    if row.extra is not None:
        return True
    whole = row.value is None or float(row.value).is_integer()
    return row.status == Status.OK and not whole and all(one.scores == () for one in now)


def _name(answer: PartAnswer) -> tuple[str, str]:
    return answer.part.item, answer.part.target


def _judgment(ask: Row[Any], answer: PartAnswer, parse: int) -> Judgment:
    return Judgment(
        ask=ask.id,
        item=answer.part.item,
        question=ask.question,
        rater=ask.rater,
        target=answer.part.target,
        parse=parse,
        status=answer.status or Status.OK,
        label=answer.label,
        value=answer.value,
    )


def _asks(store: Store, run: RunRecord) -> Iterator[list[Row[Any]]]:
    """Yield every ask to a model in the run that has a reply, as one row for each judgment."""
    ask, judgment = t.asks.c, t.judgments.c
    models = [one["fingerprint"] for one in run.config["raters"] if one["kind"] in ("llm", "replay")]
    query = (
        select(
            ask.id, ask.item, ask.question, ask.rater, ask.context, ask.order, ask.reply,
            judgment.item.label("judged"), judgment.target, judgment.parse, judgment.status, judgment.label,
            judgment.value, judgment.extra,
        )
        .select_from(
            t.run_jobs.join(t.asks, ask.job == t.run_jobs.c.job).outerjoin(t.judgments, judgment.ask == ask.id)
        )
        .where(
            t.run_jobs.c.run == run.id,
            ask.rater.in_(models),
            ask.reply.is_not(None),
            ask.status.in_((Status.OK, Status.UNPARSED)),
        )
        .order_by(t.run_jobs.c.job, ask.id, judgment.parse)
    )  # fmt: skip
    rows = (row for part in store.stream(query, BATCH) for row in part)
    for _, readings in groupby(rows, key=attrgetter("id")):
        yield list(readings)
