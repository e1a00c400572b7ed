"""Reading stored replies again with today's parser: new judgments, no new asks, nothing spent.

Only replies that were parsed as text are read again; choices read from letter scores need no parser.
"""

from sqlalchemy import select

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
    query = (
        select(
            t.asks.c.id,
            t.asks.c.item,
            t.asks.c.question,
            t.asks.c.rater,
            t.asks.c.order,
            t.asks.c.reply,
            t.judgments.c.parse,
            t.judgments.c.status,
            t.judgments.c.label,
        )
        .select_from(
            t.run_jobs.join(t.asks, t.asks.c.job == t.run_jobs.c.job).join(
                t.judgments, t.judgments.c.ask == t.asks.c.id
            )
        )
        .where(
            t.run_jobs.c.run == run.id,
            t.asks.c.order != "",
            t.asks.c.reply.is_not(None),
            t.asks.c.status.in_((Status.OK, Status.UNPARSED)),
            t.judgments.c.extra.is_(None),
        )
    )
    frame = store.frame(query)
    if frame.is_empty():
        return 0, 0
    latest = frame.sort("parse").unique("id", keep="last", maintain_order=True)
    changed: list[Judgment] = []
    for row in latest.iter_rows(named=True):
        order = order_places(row["order"])
        question = QUESTIONS[row["question"]]
        letter = question.parse(row["reply"], len(order))
        status, label, value = Status.UNPARSED, None, None
        if letter is not None:
            chosen = order[question.letters(len(order)).index(letter)]
            status = Status.OK
            label, value = choice_of([1.0 if index == chosen else 0.0 for index in range(len(order))])
        if (status, label) != (row["status"], row["label"]):
            changed.append(
                Judgment(
                    ask=row["id"],
                    item=row["item"],
                    question=row["question"],
                    rater=row["rater"],
                    parse=row["parse"] + 1,
                    status=status,
                    label=label,
                    value=value,
                )
            )
    for start in range(0, len(changed), BATCH):
        store.add_judgments(changed[start : start + BATCH])
    return len(latest), len(changed)
