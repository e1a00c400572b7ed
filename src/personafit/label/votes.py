"""The standing votes of a study: one row for each answered field.

A corrected answer counts once, in its last version; undone answers are absent; excluded raters are left out until they are included again.
Agreement, exports, gold and the researcher's pages all read votes here, so that they cannot differ.
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

DECIDING = -1  # seat number of the adjudicator, outside the plan
UNIT = ["item", "question", "target"]
"""Columns that identify what a vote is about."""

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
    """One field of one page for one rater, with the job key of its answer."""

    rater: str
    """The rater's pseudonym."""
    kind: str
    page: Page
    field: Field
    job: str


class LabelCounts(NamedTuple):
    """Counts of the labels given to one item."""

    counts: dict[str, int]
    """Count by label, the most frequent first."""
    majority: str | None
    """The most frequent label; None if tied, or if there are no labels."""
    share: float | None
    """Share of the most frequent label."""


def tally(labels: Iterable[str | None]) -> LabelCounts:
    """Count labels, ignoring None."""
    counts = Counter(label for label in labels if label is not None).most_common()
    if not counts:
        return LabelCounts({}, None, None)
    tied = len(counts) > 1 and counts[0][1] == counts[1][1]
    share = counts[0][1] / sum(count for _, count in counts)
    return LabelCounts(dict(counts), None if tied else counts[0][0], share)


def study_votes(
    studies: Studies, name: str, roles: Sequence[Role] = (Role.ITEM,), excluded: bool = False
) -> pl.DataFrame:
    """Return the standing votes of a study in page order; `rater` is the pseudonym.

    `label` is null if a rater could not tell (status `skipped`) and for free texts, which are in `text`.
    """
    form = studies.form(name)
    return _frame(studies, name, _places(studies, name, roles, excluded, form.fields))


def study_remarks(studies: Studies, name: str) -> pl.DataFrame:
    """Return the flags and notes of all raters about whole pages, as a frame of votes."""
    places = _places(studies, name, tuple(Role), True, lambda page, _how: extra_fields(page))
    return _frame(studies, name, places)


def adjudicated_votes(studies: Studies, name: str) -> pl.DataFrame:
    """Return the decisions about disputed items, as a frame of votes."""
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
            # Imported votes have a perspective of their own.
            said["perspective"] = one.detail.get("perspective", perspective)
            stored = {part: getattr(one, part) for part in STORED}
            rows.append({**about, **asked, "rater": rater, "kind": kind, **said, **stored})
    return pl.DataFrame(rows, schema=VOTES)


def events(studies: Studies, name: str, count: int, skip: int = 0) -> tuple[list[dict[str, Any]], int]:
    """Return a page of a study's audit trail, the newest event first, and the total number of events."""
    table = t.study_events
    query = select(table).where(table.c.study == name).order_by(table.c.at.desc(), table.c.id.desc())
    rows = studies.store.rows(query)
    details = [orjson.loads(row.detail) if row.detail else {} for row in rows[skip : skip + count]]
    shown = [{**row._mapping, "detail": detail} for row, detail in zip(rows[skip:], details, strict=False)]
    return shown, len(rows)


def stored_page(form: LabelForm, page: Page) -> dict[str, Any]:
    """Return the texts of a page by name; the entries of a list of questions are under `listed`."""
    order = Arrangement.stored(page)
    shown = {name: value for name, value in form.shown(page, order).items() if value and name != "evidence"}
    listed = [field.text for field in form.fields(page, order) if field.place is not None]
    return shown | ({"listed": listed} if listed else {})
