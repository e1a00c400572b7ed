"""The audit trail of a study: what was done, and every answer ever given with the server's and the browser's time."""

from typing import Any, NamedTuple

import orjson
from sqlalchemy import func, select

from personafit.labeling.studies import Studies
from personafit.labeling.votes import asked_fields
from personafit.store import study_tables as s
from personafit.store import tables as t


class Event(NamedTuple):
    """Something that was done."""

    at: float
    who: str
    what: str
    detail: dict[str, Any]


class AnswerEvent(NamedTuple):
    """An answer, a correction or an undoing, as it came in."""

    at: float
    client_time: float | None
    who: str
    page: str
    question: str
    target: str
    label: str | None
    why: str | None
    generation: int
    seconds: float


def events(studies: Studies, name: str, count: int = 200, skip: int = 0) -> tuple[list[Event], int]:
    """What was done, the newest first, and how much there is in all."""
    table = s.study_events
    mine = table.c.study == name
    query = select(table).where(mine).order_by(table.c.at.desc(), table.c.id.desc()).limit(count).offset(skip)
    with studies.engine.connect().execution_options(read_only=True) as connection:
        total = connection.execute(select(func.count()).select_from(table).where(mine)).scalar_one()
        rows = connection.execute(query).all()
    return [
        Event(row.at, row.who, row.what, orjson.loads(row.detail) if row.detail else {}) for row in rows
    ], total


def answer_events(
    studies: Studies, name: str, count: int = 200, skip: int = 0
) -> tuple[list[AnswerEvent], int]:
    """Every answer that came in, corrections and undone ones included, the newest first, and how many there are."""
    asked = {one.job: one for one in asked_fields(studies, name)}
    jobs = sorted(asked)
    columns = (t.asks.c.job, t.asks.c.id, t.asks.c.at, t.asks.c.generation, t.asks.c.seconds, t.asks.c.detail)
    found = studies.store.rows_among(select(*columns), t.asks.c.job, jobs)
    found.sort(key=lambda row: (row.at, row.generation), reverse=True)
    shown = found[skip : skip + count]
    wanted = select(t.judgments.c.ask, t.judgments.c.item, t.judgments.c.target, t.judgments.c.label)
    labels = {
        (row.ask, row.item, row.target): row.label
        for row in studies.store.rows_among(wanted, t.judgments.c.ask, [row.id for row in shown])
    }
    events = []
    for row in shown:
        one, detail = asked[row.job], orjson.loads(row.detail) if row.detail else {}
        label = labels.get((row.id, one.field.item, one.field.target))
        events.append(
            AnswerEvent(
                row.at,
                detail.get("client_time"),
                one.seat.code,
                one.page.id,
                one.field.question,
                one.field.target,
                label,
                detail.get("why"),
                row.generation,
                row.seconds,
            )
        )
    return events, len(found)
