"""Studies in the store: create one, add seats to it, and read its contents.

Pages are read once and cached, since they never change after a study was made.
"""

import time
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import orjson
from sqlalchemy import Row, func, insert, select, update

from personafit._errors import UserError
from personafit._names import RULE, is_name
from personafit.label.forms import LabelForm, form_named
from personafit.label.planning import (
    IMPORTED,
    add_pages,
    add_seats,
    has_items,
    keyed_with,
    note,
    plan_pages,
    release_free,
    store_secret,
)
from personafit.label.records import Arrangement, Hashed, Page, RaterState, Role, StudyConfig
from personafit.store import RaterRecord, Store
from personafit.store import tables as t

PAGES_HELD = 4_096
ADJUDICATED = "adjudicated"
"""The rater of decisions about disputed items, as in gold."""
VISIT, SIGNED = "visit", "signed"
"""Keys in a seat's progress: the consent page visit through which it was taken, and whether by a participant's signed link."""


class Study(NamedTuple):
    """A study and its current state."""

    name: str
    dataset: str
    form: str
    config: StudyConfig
    state: str
    created: float

    @property
    def title(self) -> str:
        return self.config.title or self.name


class Seat(NamedTuple):
    """A rater's place in a study."""

    study: str
    seat: int
    rater: str
    code: str
    external: str | None
    state: RaterState
    reason: str | None
    progress: dict[str, Any]
    joined: float | None
    seen: float | None
    finished: float | None


class PageAssignment(NamedTuple):
    """One page assigned to a seat."""

    study: str
    seat: int
    position: int
    page: str
    arrangement: Arrangement
    done: float | None


class HeldSeat(Exception):
    """The external id already has a seat, and nothing proves that the visitor is the same person."""


class Studies:
    """The studies of one store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.engine = store.engine
        self.page = lru_cache(PAGES_HELD)(self._read_page)
        """Return one page of a study; cached, since pages never change."""

    @cached_property
    def keyed(self) -> Hashed:
        with self.engine.begin() as connection:
            return keyed_with(store_secret(connection))

    # -- setting up ------------------------------------------------------------------------------------------------

    def create(
        self, name: str, dataset: str, form: LabelForm, config: StudyConfig, pages: Iterable[Page]
    ) -> int:
        """Create a study with its pages, seats and assignments in one transaction; return the number of pages."""
        if not is_name(name):
            raise UserError(f"'{name}' cannot name a study: {RULE}.")
        config = config.model_copy(update={"keyed": not config.simulated, "told": form.guidelines})
        with self.engine.begin() as connection:
            if connection.execute(select(t.studies.c.name).where(t.studies.c.name == name)).first():
                raise UserError(f"There is a study '{name}' already; choose another name.")
            connection.execute(
                insert(t.studies).values(
                    name=name,
                    dataset=dataset,
                    form=form.name,
                    config=config.model_dump_json(),
                    state="open",
                    created=time.time(),
                )
            )
            count = add_pages(connection, name, pages)
            if count == 0:
                raise UserError(
                    f"There is nothing to ask: {config.source} has no item for --question {form.name}."
                )
            add_seats(connection, name, range(config.seats), config)
            plan_pages(connection, name, config)
            note(connection, name, "researcher", "created", {"pages": count, "seats": config.seats})
        self.register(name)
        return count

    def extend(self, name: str, seats: int) -> None:
        """Add seats, which take over pages of free seats; assignments that a rater may have seen do not change."""
        study = self.study(name)
        with self.engine.begin() as connection:
            held = select(func.max(t.study_raters.c.seat)).where(t.study_raters.c.study == name)
            first = connection.execute(held).scalar_one() + 1
            add_seats(connection, name, range(first, first + seats), study.config)
            release_free(connection, name)
            config = study.config.model_copy(update={"seats": study.config.seats + seats})
            connection.execute(
                update(t.studies).where(t.studies.c.name == name).values(config=config.model_dump_json())
            )
            plan_pages(connection, name, config)
            note(connection, name, "researcher", "extended", {"seats": seats})
        self.register(name)

    def register(self, name: str) -> None:
        config, records = self.study(name).config, []
        for seat in self.seats(name):
            kind = rater_kind(seat, config.simulated)
            settings: dict[str, Any] = {"study": name, "perspective": config.perspective}
            settings |= {IMPORTED: True} if seat.progress.get(IMPORTED) else {}
            named = f"{kind}:{seat.code}"
            records.append(RaterRecord(fingerprint=seat.rater, name=named, kind=kind, settings=settings))
        self.store.add_raters(records)

    # -- reading ---------------------------------------------------------------------------------------------------

    def names(self) -> list[str]:
        query = select(t.studies.c.name).order_by(t.studies.c.created.desc())
        return [row.name for row in self.store.rows_now(query)]

    def study(self, name: str) -> Study:
        for row in self.store.rows_now(select(t.studies).where(t.studies.c.name == name)):
            return Study(**{**row._mapping, "config": StudyConfig.model_validate_json(row.config)})
        known = ", ".join(self.names()) or "none yet"
        raise UserError(f"There is no study '{name}' in {self.store.url}; there are: {known}.")

    def form(self, name: str) -> LabelForm:
        return form_named(self.study(name).form)

    def _read_page(self, study: str, page: str) -> Page:
        query = select(t.study_pages.c.body).where(t.study_pages.c.study == study, t.study_pages.c.id == page)
        (row,) = self.store.rows_now(query)
        return Page.model_validate_json(row.body)

    def pages(self, study: str, roles: Sequence[Role] = tuple(Role)) -> list[Page]:
        query = (
            select(t.study_pages.c.body)
            .where(t.study_pages.c.study == study, t.study_pages.c.role.in_(roles))
            .order_by(t.study_pages.c.position)
        )
        return [Page.model_validate_json(row.body) for row in self.store.rows_now(query)]

    def seats(self, study: str) -> list[Seat]:
        query = select(t.study_raters).where(t.study_raters.c.study == study).order_by(t.study_raters.c.seat)
        return [_seat(row) for row in self.store.rows_now(query)]

    def seat(self, study: str, seat: int) -> Seat | None:
        query = select(t.study_raters).where(t.study_raters.c.study == study, t.study_raters.c.seat == seat)
        return next((_seat(row) for row in self.store.rows_now(query)), None)

    def assigned(self, study: str, seat: int | None = None) -> list[PageAssignment]:
        """Return the pages of a seat, or of all seats in turn, in the order shown."""
        plan = t.study_plan.c
        columns = (plan.study, plan.seat, plan.position, plan.page, plan.arrangement, plan.done)
        query = select(*columns).where(plan.study == study).order_by(plan.seat, plan.position)
        return [
            PageAssignment(
                **{**row._mapping, "arrangement": Arrangement.model_validate_json(row.arrangement)}
            )
            for row in self.store.rows_now(query if seat is None else query.where(plan.seat == seat))
        ]

    # -- raters ----------------------------------------------------------------------------------------------------

    def take(
        self, study: str, seat: int | None, external: str | None, progress: dict[str, Any]
    ) -> Seat | None:
        """Take a seat, or the first free one that has pages which count; return None if all are taken.

        `external` is an external id, which anybody could claim: a seat held under it is returned only if `progress` proves the same person,
        by the same visit to the consent page or, like the seat, by being `signed`. Otherwise `HeldSeat` is raised, or, for a signed visitor
        where the seat is not signed, a free seat is taken.
        """
        raters = t.study_raters
        with self.engine.begin() as connection:
            # Locked, since a form submitted twice at once would otherwise take two seats.
            connection.execute(select(t.studies.c.name).where(t.studies.c.name == study).with_for_update())
            mine, row = select(raters).where(raters.c.study == study), None
            if seat is not None:
                row = connection.execute(mine.where(raters.c.seat == seat)).first()
            elif external is not None:
                held = connection.execute(mine.where(raters.c.external == external)).all()
                row = next((one for one in held if _same_person(orjson.loads(one.progress), progress)), None)
                if row is None and held and not progress.get(SIGNED):
                    raise HeldSeat
            if row is None and seat is None:
                free = mine.where(raters.c.state == RaterState.FREE, has_items()).order_by(raters.c.seat)
                row = connection.execute(free.limit(1)).first()
            if row is None:
                return None
            if row.state == RaterState.FREE:
                now, said = time.time(), orjson.dumps(progress).decode()
                connection.execute(
                    update(raters)
                    .where(raters.c.study == study, raters.c.seat == row.seat)
                    .values(state=RaterState.ACTIVE, external=external, joined=now, seen=now, progress=said)
                )
                note(connection, study, row.code, "joined", None)
        return self.seat(study, int(row.seat))

    def update_seat(self, study: str, seat: int, who: str, what: str, **values: Any) -> None:
        """Update a seat (state, reason, progress, finished) and record it in the audit trail."""
        if "progress" in values:
            values["progress"] = orjson.dumps(values["progress"]).decode()
        with self.engine.begin() as connection:
            connection.execute(
                update(t.study_raters)
                .where(t.study_raters.c.study == study, t.study_raters.c.seat == seat)
                .values(**values)
            )
            detail = {"seat": seat} | ({"reason": values["reason"]} if values.get("reason") else {})
            note(connection, study, who, what, detail)


def rater_kind(seat: Seat, simulated: bool) -> str:
    """Return 'simulated' for a simulated rater, otherwise 'human'."""
    return "simulated" if simulated or seat.progress.get("simulated") else "human"


def _same_person(held: dict[str, Any], coming: dict[str, Any]) -> bool:
    if coming.get(SIGNED):
        return bool(held.get(SIGNED))
    return bool(coming.get(VISIT)) and coming[VISIT] == held.get(VISIT)


def _seat(row: Row[Any]) -> Seat:
    decoded = {"state": RaterState(row.state), "progress": orjson.loads(row.progress)}
    return Seat(**{**row._mapping, **decoded})
