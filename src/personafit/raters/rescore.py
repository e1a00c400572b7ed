"""Reading stored replies again with today's parser: new judgments, no new asks, nothing spent.

Only replies that were parsed as text are read again; choices read from letter scores need no parser. Replies are read as they
come and let go, since those of a long run fill more memory than there is.
"""

from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter
from typing import Any

from sqlalchemy import Row, and_, select

from personafit._errors import UserError
from personafit.items import QUESTIONS, order_places
from personafit.raters.rater import choice_of
from personafit.store import Judgment, RunRecord, Status, Store
from personafit.store import tables as t

BATCH = 2000


def rescore(store: Store, run: RunRecord) -> tuple[int, int]:
    """Read every parsed reply of a run again; returns how many were read and how many now say something else."""
    if (kind := run.config.get("kind", "choice")) != "choice":
        raise UserError(f"{run.name} is a {kind} run; rescore reads runs in which raters chose answers.")
    read, changed = 0, 0
    waiting: list[Judgment] = []
    for row in _last_readings(store, run):
        read += 1
        status, label, value = _reading(row)
        if (status, label) == (row.status, row.label):
            continue
        changed += 1
        waiting.append(
            Judgment(
                ask=row.id,
                item=row.item,
                question=row.question,
                rater=row.rater,
                parse=row.parse + 1,
                status=status,
                label=label,
                value=value,
            )
        )
        if len(waiting) == BATCH:
            store.add_judgments(waiting)
            waiting = []
    store.add_judgments(waiting)
    return read, changed


def _reading(row: Row[Any]) -> tuple[Status, str | None, float | None]:
    """What today's parser makes of a reply."""
    order = order_places(row.order)
    question = QUESTIONS[row.question]
    letter = question.parse(row.reply, len(order))
    if letter is None:
        return Status.UNPARSED, None, None
    chosen = order[question.letters(len(order)).index(letter)]
    return Status.OK, *choice_of([1.0 if index == chosen else 0.0 for index in range(len(order))])


def _last_readings(store: Store, run: RunRecord) -> Iterator[Row[Any]]:
    """Every reply of the run that was parsed, with its last reading; the order is that of the keys, which needs no sorting."""
    ask, judgment = t.asks.c, t.judgments.c
    of_ask = and_(judgment.ask == ask.id, judgment.item == ask.item, judgment.target == "")
    query = (
        select(
            ask.id, ask.item, ask.question, ask.rater, ask.order, ask.reply,
            judgment.parse, judgment.status, judgment.label,
        )
        .select_from(t.run_jobs.join(t.asks, ask.job == t.run_jobs.c.job).join(t.judgments, of_ask))
        .where(
            t.run_jobs.c.run == run.id,
            ask.order != "",
            ask.reply.is_not(None),
            ask.status.in_((Status.OK, Status.UNPARSED)),
            judgment.extra.is_(None),
        )
        .order_by(t.run_jobs.c.job, ask.id, judgment.parse)
    )  # fmt: skip
    rows = (row for part in store.stream(query, BATCH) for row in part)
    for _, readings in groupby(rows, key=attrgetter("id")):
        yield list(readings)[-1]
