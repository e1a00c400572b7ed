"""What an answer needs to know of the page it is about: worked out once, since none of it ever changes.

A study's form and settings, a seat's rater, a page and its arrangement are fixed when they are planned. Whether the study is open and
the rater may go on does change, and is looked at in the transaction that stores the answer.
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
    """A page in one arrangement: the same for every rater who sees it so."""

    form: LabelForm
    config: StudyConfig
    page: Page
    arrangement: Arrangement
    fields: dict[str, Field]
    """Everything that can be answered on the page, by code."""
    required: tuple[Field, ...]
    """The fields without which the page is not done."""


class PageSlot(NamedTuple):
    """One page of one seat: where it stands, who labels it, what it is made of, and its name in a browser."""

    study: str
    seat: int
    position: int
    rater: str
    shape: Shape
    keys: tuple[str, ...]
    """What a browser calls the page; in a study that is not keyed also as it did before, since it may hold answers under that name."""

    def answer(
        self, id: str, field: Field, answered: LabelValue | None, detail: dict[str, Any], seconds: float = 0.0
    ) -> Answer:
        """An answer to a field of the page, as it goes into the store."""
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
            view=self.shape.config.view,
            order=self.shape.arrangement.order,
            perspective=self.shape.config.perspective,
            seconds=seconds,
            required=self.shape.required,
            flag=self.shape.fields[FLAG],
        )


class Places:
    """The places of all studies, those looked at last kept."""

    def __init__(self, studies: Studies) -> None:
        self._studies = studies
        self._keyed = studies.keyed  # read now: an answer must not wait for it
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
        """The page at a position of a seat; None where there is none."""
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
        """Whether the rater has no comprehension check left to pass; one that was passed stays so."""
        if (study, seat) not in self._checked:
            found = self._studies.seat(study, seat)
            if found is None or must_check(self._study(study)[1], found):
                return False
            self._checked.add((study, seat))
        return True

    def refresh(self) -> None:
        """Read plans anew: pages were removed from one."""
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
    """Whether the rater has a comprehension check to pass first."""
    return (config.check or bool(config.quiz)) and not seat.progress.get("passed")


def extra_fields(page: Page) -> list[Field]:
    """What stands on every page besides its questions: the flag and the note, about the page as a whole."""
    item = page.items[0] if page.items else page.id
    flag = Option(value="uncomfortable", text=FLAG, key="f")
    return [
        Field(code=FLAG, question=FLAG, item=item, options=[flag], required=False),
        Field(code=NOTE, question=NOTE, item=item, kind="text", required=False),
    ]
