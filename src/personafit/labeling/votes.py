"""The votes of a study as they stand: one row for each field that has an answer, whoever reads it and whatever for.

Corrections count once, as made last; what was undone is absent; raters who were excluded are left out until they are taken in again.
Agreement, exports, gold and the researcher's pages all read votes here, so that none of them can count differently.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import orjson
import polars as pl
from sqlalchemy import select

from personafit.labeling.answers import Given, job_key, standing_answers
from personafit.labeling.forms import LabelForm
from personafit.labeling.places import extra_fields
from personafit.labeling.records import Arrangement, Field, Page, RaterState, Role
from personafit.labeling.studies import ADJUDICATED, Seat, Studies, rater_kind
from personafit.store import tables as s
from personafit.store import tables as t

DECIDING = -1  # the seat of who decides, which is none of the plan's
LISTED = "listed"

VOTES = {
    "page": pl.String,
    "role": pl.String,
    "person": pl.String,
    "item": pl.String,
    "question": pl.String,
    "target": pl.String,
    "rater": pl.String,
    "kind": pl.String,
    "label": pl.String,
    "value": pl.Float64,
    "status": pl.String,
    "why": pl.String,
    "text": pl.String,
    "note": pl.String,
    "order": pl.String,
    "seconds": pl.Float64,
    "at": pl.Float64,
    "client_time": pl.Float64,
    "perspective": pl.String,
    "generation": pl.Int64,
}


class FieldJob(NamedTuple):
    """One field of one page of one rater, and the job its answer is under."""

    seat: Seat
    page: Page
    field: Field
    job: str


def study_votes(
    studies: Studies, name: str, roles: Sequence[Role] = (Role.ITEM,), excluded: bool = False
) -> pl.DataFrame:
    """The standing votes of a study, in the order of its pages; `rater` is the pseudonym.

    `label` is null where a rater could not tell (status `skipped`) and for texts, which stand in `text`.
    """
    form = studies.form(name)
    return _frame(studies, name, _places(studies, name, roles, excluded, form.fields))


def study_remarks(studies: Studies, name: str) -> pl.DataFrame:
    """Flags and notes about whole pages, of everybody, as votes are shown."""
    return _frame(
        studies, name, _places(studies, name, tuple(Role), True, lambda page, _how: extra_fields(page))
    )


def asked_fields(studies: Studies, name: str) -> list[FieldJob]:
    """Everything that anybody is or was asked in a study: questions, flags, notes and decisions, excluded raters too."""
    form = studies.form(name)
    planned = _places(
        studies, name, tuple(Role), True, lambda page, how: [*form.fields(page, how), *extra_fields(page)]
    )
    return [*planned, *_decisions(studies, name)]


def adjudicated_votes(studies: Studies, name: str) -> pl.DataFrame:
    """What was decided about disputed items."""
    return _frame(studies, name, _decisions(studies, name))


def adjudicator(study: str) -> Seat:
    """The researcher as one who decides: no seat of the plan."""
    return Seat(
        study, DECIDING, ADJUDICATED, ADJUDICATED, None, RaterState.ACTIVE, None, {}, None, None, None
    )


def _decisions(studies: Studies, name: str) -> list[FieldJob]:
    judge, form = adjudicator(name), studies.form(name)
    return [
        FieldJob(judge, page, field, job_key(name, page.id, field, judge.rater))
        for page in studies.pages(name, (Role.ITEM,))
        for field in form.fields(page, Arrangement.stored(page))
    ]


def _places(
    studies: Studies,
    name: str,
    roles: Sequence[Role],
    excluded: bool,
    fields: Callable[[Page, Arrangement], Sequence[Field]],
) -> Iterator[FieldJob]:
    pages = {page.id: page for page in studies.pages(name, roles)}
    order = {page: number for number, page in enumerate(pages)}
    left_out = {RaterState.ERASED} if excluded else {RaterState.ERASED, RaterState.EXCLUDED}
    seats = {seat.seat: seat for seat in studies.seats(name) if seat.state not in left_out}
    planned = [one for one in studies.assigned(name) if one.page in pages and one.seat in seats]
    for one in sorted(planned, key=lambda one: (order[one.page], one.seat)):
        seat, page = seats[one.seat], pages[one.page]
        for field in fields(page, one.arrangement):
            yield FieldJob(seat, page, field, job_key(name, page.id, field, seat.rater))


def _frame(studies: Studies, name: str, places: Iterable[FieldJob]) -> pl.DataFrame:
    listed = list(places)
    config = studies.study(name).config
    given = standing_answers(studies.store, [place.job for place in listed])
    rows = [
        _row(place, one, rater_kind(place.seat, config.simulated), config.perspective)
        for place in listed
        if (one := given.get(place.job)) is not None
    ]
    return pl.DataFrame(rows, schema=VOTES, orient="row")


def _row(place: FieldJob, given: Given, kind: str, perspective: str) -> dict[str, Any]:
    page, field, detail = place.page, place.field, given.detail
    return {
        "page": page.id,
        "role": str(page.role),
        "person": page.person,
        "item": field.item,
        "question": field.question,
        "target": field.target,
        "rater": place.seat.code,
        "kind": kind,
        "label": given.label,
        "value": given.value,
        "status": str(given.status),
        "why": detail.get("why"),
        "text": detail.get("text"),
        "note": detail.get("note"),
        "order": given.order,
        "seconds": given.seconds,
        "at": given.at,
        "client_time": detail.get("client_time"),
        # Votes made elsewhere bring their own.
        "perspective": detail.get("perspective", perspective),
        "generation": given.generation,
    }


def events(studies: Studies, name: str, count: int, skip: int = 0) -> tuple[list[dict[str, Any]], int]:
    """What was done in a study, when and by whom, the newest first, and how much there is in all."""
    table = s.study_events
    query = select(table).where(table.c.study == name).order_by(table.c.at.desc(), table.c.id.desc())
    rows = studies.store.rows(query)
    shown = rows[skip : skip + count]
    return [{**row._mapping, "detail": orjson.loads(row.detail) if row.detail else {}} for row in shown], len(
        rows
    )


def answer_events(studies: Studies, name: str, count: int, skip: int = 0) -> tuple[list[dict[str, Any]], int]:
    """Every answer that came in, corrections and undone ones included, the newest first, and how many there are."""
    asked = {one.job: one for one in asked_fields(studies, name)}
    columns = (t.asks.c.job, t.asks.c.id, t.asks.c.at, t.asks.c.generation, t.asks.c.seconds, t.asks.c.detail)
    found = studies.store.rows_among(select(*columns), t.asks.c.job, sorted(asked))
    found.sort(key=lambda row: (row.at, row.generation), reverse=True)
    shown = found[skip : skip + count]
    wanted = select(t.judgments.c.ask, t.judgments.c.item, t.judgments.c.target, t.judgments.c.label)
    labels = {
        (row.ask, row.item, row.target): row.label
        for row in studies.store.rows_among(wanted, t.judgments.c.ask, [row.id for row in shown])
    }
    came = []
    for row in shown:
        one, detail = asked[row.job], orjson.loads(row.detail) if row.detail else {}
        came.append(
            {
                **row._mapping,
                "client_time": detail.get("client_time"),
                "who": one.seat.code,
                "page": one.page.id,
                "question": one.field.question,
                "target": one.field.target,
                "label": labels.get((row.id, one.field.item, one.field.target)),
                "why": detail.get("why"),
            }
        )
    return came, len(found)


def stored_page(form: LabelForm, page: Page) -> dict[str, Any]:
    """The texts of a page by name; entries of a list that is asked about stand under `listed`."""
    order = Arrangement.stored(page)
    shown = {name: value for name, value in form.shown(page, order).items() if value and name != "evidence"}
    listed = [field.text for field in form.fields(page, order) if field.place is not None]
    return shown | ({LISTED: listed} if listed else {})
