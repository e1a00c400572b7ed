"""The votes of a study as they stand: one row for each field that has an answer, whoever reads it and whatever for.

Corrections count once, as made last; what was undone is absent; raters who were excluded are left out until they are taken in again.
Agreement, exports, gold and the researcher's pages all read votes here, so that none of them can count differently.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import orjson
import polars as pl
from sqlalchemy import select

from personafit.label.answers import job_key, standing_answers
from personafit.label.forms import LabelForm
from personafit.label.places import extra_fields
from personafit.label.records import Arrangement, Field, Page, RaterState, Role
from personafit.label.studies import ADJUDICATED, Studies, rater_kind
from personafit.store import tables as t

DECIDING = -1  # the seat of who decides, which is none of the plan's
UNIT = ["item", "question", "target"]
"""What a vote is about."""

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

STORED = ("label", "value", "status", "order", "seconds", "at", "generation")


class FieldJob(NamedTuple):
    """One field of one page of one rater, and the job its answer is under."""

    rater: str
    """The pseudonym."""
    kind: str
    page: Page
    field: Field
    job: str


class LabelCounts(NamedTuple):
    """The labels that one thing was given, counted."""

    counts: dict[str, int]
    """The most frequent first."""
    majority: str | None
    """None where two labels are as frequent, or there is none."""
    share: float | None
    """Of the most frequent label."""


def tally(labels: Iterable[str | None]) -> LabelCounts:
    """Count labels; those that are None are none."""
    counts = Counter(label for label in labels if label is not None).most_common()
    if not counts:
        return LabelCounts({}, None, None)
    tied = len(counts) > 1 and counts[0][1] == counts[1][1]
    share = counts[0][1] / sum(count for _, count in counts)
    return LabelCounts(dict(counts), None if tied else counts[0][0], share)


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
    places = _places(studies, name, tuple(Role), True, lambda page, _how: extra_fields(page))
    return _frame(studies, name, places)


def adjudicated_votes(studies: Studies, name: str) -> pl.DataFrame:
    """What was decided about disputed items."""
    form = studies.form(name)
    decisions = [
        FieldJob(ADJUDICATED, "gold", page, field, job_key(name, page.id, field, ADJUDICATED))
        for page in studies.pages(name, (Role.ITEM,))
        for field in form.fields(page, Arrangement.stored(page))
    ]
    return _frame(studies, name, decisions)


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
    simulated = studies.study(name).config.simulated
    for one in sorted(planned, key=lambda one: (order[one.page], one.seat)):
        seat, page = seats[one.seat], pages[one.page]
        for field in fields(page, one.arrangement):
            job = job_key(name, page.id, field, seat.rater)
            yield FieldJob(seat.code, rater_kind(seat, simulated), page, field, job)


def _frame(studies: Studies, name: str, places: Iterable[FieldJob]) -> pl.DataFrame:
    listed = list(places)
    perspective = studies.study(name).config.perspective
    given = standing_answers(studies.store, [place.job for place in listed])
    rows = []
    for rater, kind, page, field, job in listed:
        if one := given.get(job):
            about = {"page": page.id, "role": page.role.value, "person": page.person}
            asked = field.model_dump(include={"item", "question", "target"})
            said = {part: one.detail.get(part) for part in ("why", "text", "note", "client_time")}
            # Votes made elsewhere bring their own perspective.
            said["perspective"] = one.detail.get("perspective", perspective)
            stored = {part: getattr(one, part) for part in STORED}
            rows.append({**about, **asked, "rater": rater, "kind": kind, **said, **stored})
    return pl.DataFrame(rows, schema=VOTES)


def events(studies: Studies, name: str, count: int, skip: int = 0) -> tuple[list[dict[str, Any]], int]:
    """What was done in a study, when and by whom, the newest first, and how much there is in all."""
    table = t.study_events
    query = select(table).where(table.c.study == name).order_by(table.c.at.desc(), table.c.id.desc())
    rows = studies.store.rows(query)
    details = [orjson.loads(row.detail) if row.detail else {} for row in rows[skip : skip + count]]
    shown = [{**row._mapping, "detail": detail} for row, detail in zip(rows[skip:], details, strict=False)]
    return shown, len(rows)


def stored_page(form: LabelForm, page: Page) -> dict[str, Any]:
    """The texts of a page by name; entries of a list that is asked about stand under `listed`."""
    order = Arrangement.stored(page)
    shown = {name: value for name, value in form.shown(page, order).items() if value and name != "evidence"}
    listed = [field.text for field in form.fields(page, order) if field.place is not None]
    return shown | ({"listed": listed} if listed else {})
