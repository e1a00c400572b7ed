"""What an answer needs to know of the page it is about: worked out once, since none of it ever changes.

A study's form and settings, a seat's rater, a page and its arrangement are fixed when they are planned. Whether the study is open and
the rater may go on does change, and is looked at in the transaction that stores the answer.
"""

from functools import lru_cache
from typing import NamedTuple

from sqlalchemy import select

from personafit.labeling.answers import job_key
from personafit.labeling.forms import Form, form_named
from personafit.labeling.records import Arrangement, Field, Option, Page, StudyConfig
from personafit.labeling.studies import Studies
from personafit.store import study_tables as t

STUDIES_HELD, SEATS_HELD, PLACES_HELD = 100, 2_000, 20_000
FLAG, NOTE = "flag", "note"


class Place(NamedTuple):
    """One page of one seat."""

    form: Form
    config: StudyConfig
    rater: str
    page: Page
    arrangement: Arrangement
    fields: dict[str, Field]
    """Everything that can be answered on the page, by code."""
    required: tuple[str, ...]
    """Job keys of the fields without which the page is not done."""


class Places:
    """The places of all studies, those looked at last kept."""

    def __init__(self, studies: Studies) -> None:
        self._studies = studies
        self._study = lru_cache(STUDIES_HELD)(self._read_study)
        self._plan = lru_cache(SEATS_HELD)(self._read_plan)
        self._place = lru_cache(PLACES_HELD)(self._make)

    def at(self, study: str, seat: int, position: int) -> Place | None:
        """The page at a position of a seat; None where there is none."""
        try:
            return self._place(study, seat, position)
        except KeyError:
            self._plan.cache_clear()  # the plan may have grown since it was read
        try:
            return self._place(study, seat, position)
        except KeyError:
            return None

    def _make(self, study: str, seat: int, position: int) -> Place:
        rater, pages = self._plan(study, seat)
        form, config = self._study(study)
        name, arranged = pages[position]
        page, arrangement = self._studies.page(study, name), Arrangement.model_validate_json(arranged)
        asked = form.fields(page, arrangement)
        return Place(
            form,
            config,
            rater,
            page,
            arrangement,
            {field.code: field for field in (*asked, *extra_fields(page))},
            tuple(job_key(study, page.id, field, rater) for field in asked if field.required),
        )

    def _read_study(self, study: str) -> tuple[Form, StudyConfig]:
        found = self._studies.study(study)
        return form_named(found.form), found.config

    def _read_plan(self, study: str, seat: int) -> tuple[str, dict[int, tuple[str, str]]]:
        found = self._studies.seat(study, seat)
        if found is None:
            raise KeyError(seat)
        query = select(t.study_plan.c.position, t.study_plan.c.page, t.study_plan.c.arrangement).where(
            t.study_plan.c.study == study, t.study_plan.c.seat == seat
        )
        with self._studies.engine.connect().execution_options(read_only=True) as connection:
            rows = connection.execute(query).all()
        return found.rater, {row.position: (row.page, row.arrangement) for row in rows}


def extra_fields(page: Page) -> list[Field]:
    """What stands on every page besides its questions: the flag and the note, about the page as a whole."""
    item = page.items[0] if page.items else page.id
    flag = Option(value="uncomfortable", text=FLAG, key="f")
    return [
        Field(code=FLAG, question=FLAG, item=item, options=[flag], required=False),
        Field(code=NOTE, question=NOTE, item=item, kind="text", required=False),
    ]
