"""Cached facts about the page an answer belongs to.

A study's form and settings, a seat's rater, a page and its arrangement are fixed once assigned. Whether the study is open and the rater may
continue can change, and is checked in the transaction that stores the answer.
"""

from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import bindparam, select

from personafit._hashing import hash_text
from personafit.label.answers import Answer, page_key
from personafit.label.forms import LabelForm, LabelValue, form_named
from personafit.label.records import Arrangement, Field, Option, Page, StudyConfig
from personafit.label.studies import Seat, Studies
from personafit.store import tables as t

STUDIES_HELD, SEATS_HELD, SHAPES_HELD = 100, 2_000, 20_000
FLAG, NOTE = "flag", "note"


class Shape(NamedTuple):
    """A page in one arrangement, shared by all raters who see it in that order."""

    form: LabelForm
    config: StudyConfig
    page: Page
    arrangement: Arrangement
    fields: dict[str, Field]
    """All fields that can be answered on the page, by code."""
    required: tuple[Field, ...]


class PageSlot(NamedTuple):
    """One page of one seat: its position, its rater, its form and fields, and its key in the browser."""

    study: str
    seat: int
    position: int
    rater: str
    shape: Shape
    keys: tuple[str, ...]
    """Keys the browser may use for the page; studies without keyed order also accept the unkeyed one, which browsers may still hold."""

    def answer(
        self, id: str, field: Field, answered: LabelValue | None, detail: dict[str, Any], seconds: float = 0.0
    ) -> Answer:
        return Answer(
            id=id,
            study=self.study,
            seat=self.seat,
            rater=self.rater,
            position=self.position,
            page=self.shape.page.id,
            field=field,
            answered=answered,
            detail=detail,
            context=self.shape.config.context,
            order=self.shape.arrangement.order,
            perspective=self.shape.config.perspective,
            seconds=seconds,
            required=self.shape.required,
            flag=self.shape.fields[FLAG],
        )


class Places:
    """The page slots of all studies, with an LRU cache."""

    def __init__(self, studies: Studies) -> None:
        self._studies = studies
        self._keyed = studies.keyed  # read in advance, so that no answer waits for it
        self._study = lru_cache(STUDIES_HELD)(self._read_study)
        self._plan = lru_cache(SEATS_HELD)(self._read_plan)
        plan, raters = t.study_plan, t.study_raters
        self._planned = (
            select(raters.c.rater, plan.c.position, plan.c.page, plan.c.arrangement)
            .join(raters, (raters.c.study == plan.c.study) & (raters.c.seat == plan.c.seat))
            .where(plan.c.study == bindparam("study"), plan.c.seat == bindparam("seat"))
        )
        self._shape = lru_cache(SHAPES_HELD)(self._make)
        self._checked: set[tuple[str, int]] = set()

    def at(self, study: str, seat: int, position: int) -> PageSlot | None:
        """Return the page at a position of a seat; None if there is none."""
        found = self._plan(study, seat)
        if position not in found[1]:
            self._plan.cache_clear()  # the plan may have grown since it was read
            found = self._plan(study, seat)
        rater, pages = found
        if position not in pages:
            return None
        page, arrangement = pages[position]
        shape = self._shape(study, page, arrangement)
        known = (self._keyed,) if shape.config.keyed else (self._keyed, hash_text)
        keys = tuple(page_key(page, rater, hashed) for hashed in known)
        return PageSlot(study, seat, position, rater, shape, keys)

    def checked(self, study: str, seat: int) -> bool:
        """Return whether the rater has no comprehension check left to pass; a passed check is remembered."""
        if (study, seat) not in self._checked:
            found = self._studies.seat(study, seat)
            if found is None or must_check(self._study(study)[1], found):
                return False
            self._checked.add((study, seat))
        return True

    def refresh(self) -> None:
        """Clear the cached assignments, after pages were removed."""
        self._plan.cache_clear()

    def _make(self, study: str, name: str, arranged: str) -> Shape:
        form, config = self._study(study)
        page, arrangement = self._studies.page(study, name), Arrangement.model_validate_json(arranged)
        asked = form.fields(page, arrangement)
        return Shape(
            form,
            config,
            page,
            arrangement,
            {field.code: field for field in (*asked, *extra_fields(page))},
            tuple(field for field in asked if field.required),
        )

    def _read_study(self, study: str) -> tuple[LabelForm, StudyConfig]:
        found = self._studies.study(study)
        return form_named(found.form), found.config

    def _read_plan(self, study: str, seat: int) -> tuple[str, dict[int, tuple[str, str]]]:
        with self._studies.engine.connect().execution_options(read_only=True) as connection:
            rows = connection.execute(self._planned, {"study": study, "seat": seat}).all()
        return rows[0][0] if rows else "", {position: (page, how) for _, position, page, how in rows}


def must_check(config: StudyConfig, seat: Seat) -> bool:
    """Return whether the rater still has to pass a comprehension check."""
    return (config.check or bool(config.quiz)) and not seat.progress.get("passed")


def extra_fields(page: Page) -> list[Field]:
    """Return the fields on every page besides its questions: the flag and the note, about the page as a whole."""
    item = page.items[0] if page.items else page.id
    flag = Option(value="uncomfortable", text=FLAG, key="f")
    return [
        Field(code=FLAG, question=FLAG, item=item, options=[flag], required=False),
        Field(code=NOTE, question=NOTE, item=item, kind="text", required=False),
    ]
