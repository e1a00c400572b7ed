"""Studies in the store: setting one up, adding to it, and reading what it consists of.

Everything a rater's page needs is read once and kept: pages never change after a study was made.
"""

import re
import secrets
import time
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import orjson
from sqlalchemy import Connection, delete, func, insert, select, update

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.labeling.forms import Form, form_named
from personafit.labeling.plan import PagePlace, Planned, in_order, plan
from personafit.labeling.records import Arrangement, Page, RaterState, Role, StudyConfig
from personafit.store import RaterRecord, Store
from personafit.store import study_tables as t

PAGES_HELD = 4_096
_NAME = re.compile(r"\w[\w.-]{0,79}")  # it stands in addresses


class Study(NamedTuple):
    """A study as it stands."""

    name: str
    dataset: str
    form: str
    config: StudyConfig
    state: str
    created: float


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


class Assigned(NamedTuple):
    """One page of a seat, as planned."""

    position: int
    page: str
    arrangement: Arrangement
    shown: float | None
    done: float | None


class Studies:
    """The studies of one store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.engine = store.engine
        self._page = lru_cache(PAGES_HELD)(self._read_page)

    # -- setting up ------------------------------------------------------------------------------------------------

    def create(self, name: str, dataset: str, form: Form, config: StudyConfig, pages: Iterable[Page]) -> int:
        """Make a study: its pages, its seats and its plan, all or nothing. Returns how many pages it has."""
        if not _NAME.fullmatch(name):
            raise UserError(
                f"'{name}' cannot name a study: use letters, digits, dots, dashes and underscores, 80 at the most."
            )
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
            count = self._add_pages(connection, name, pages, 0)
            if count == 0:
                raise UserError(
                    f"There is nothing to ask: {config.source} has no item for --question {form.name}."
                )
            self._add_seats(connection, name, range(config.seats))
            self._plan(connection, name, config)
            note(connection, name, "researcher", "created", {"pages": count, "seats": config.seats})
        self._register(name)
        return count

    def extend(self, name: str, pages: Iterable[Page] = (), seats: int = 0) -> None:
        """Add pages or seats; what was planned for seats that somebody has taken stays as it is."""
        study = self.study(name)
        with self.engine.begin() as connection:
            last = connection.execute(
                select(func.max(t.study_pages.c.position)).where(t.study_pages.c.study == name)
            ).scalar()
            count = self._add_pages(connection, name, pages, (last or 0) + 1)
            first = connection.execute(
                select(func.max(t.study_raters.c.seat)).where(t.study_raters.c.study == name)
            ).scalar_one()
            if seats:
                self._add_seats(connection, name, range(first + 1, first + 1 + seats))
                self._release(connection, name)
            config = study.config.model_copy(update={"seats": study.config.seats + seats})
            connection.execute(
                update(t.studies).where(t.studies.c.name == name).values(config=config.model_dump_json())
            )
            self._plan(connection, name, config)
            note(connection, name, "researcher", "extended", {"pages": count, "seats": seats})
        self._register(name)

    def _add_pages(self, connection: Connection, name: str, pages: Iterable[Page], first: int) -> int:
        rows = [
            {
                "study": name,
                "id": page.id,
                "position": position,
                "role": page.role,
                "person": page.person,
                "body": page.model_dump_json(),
            }
            for position, page in enumerate(pages, first)
        ]
        if rows:
            connection.execute(insert(t.study_pages), rows)
        return len(rows)

    def _add_seats(self, connection: Connection, name: str, seats: Iterable[int]) -> None:
        rows = []
        for seat in seats:
            code = f"r-{secrets.token_hex(4)}"
            rows.append(
                {
                    "study": name,
                    "seat": seat,
                    "rater": hash_text("human", name, code),
                    "code": code,
                    "state": RaterState.FREE,
                    "progress": "{}",
                }
            )
        connection.execute(insert(t.study_raters), rows)

    def _release(self, connection: Connection, name: str) -> None:
        """Take the plan of seats that nobody has taken back, so that it is made anew over more seats."""
        free = select(t.study_raters.c.seat).where(
            t.study_raters.c.study == name, t.study_raters.c.state == RaterState.FREE
        )
        connection.execute(
            delete(t.study_plan).where(t.study_plan.c.study == name, t.study_plan.c.seat.in_(free))
        )

    def _plan(self, connection: Connection, name: str, config: StudyConfig) -> None:
        pages = {
            row.id: Page.model_validate_json(row.body)
            for row in connection.execute(
                select(t.study_pages.c.id, t.study_pages.c.body)
                .where(t.study_pages.c.study == name)
                .order_by(t.study_pages.c.position)
            )
        }
        raters = dict(
            tuple(row)
            for row in connection.execute(
                select(t.study_raters.c.seat, t.study_raters.c.rater).where(
                    t.study_raters.c.study == name,
                    t.study_raters.c.state.not_in((RaterState.ERASED, RaterState.EXCLUDED)),
                )
            )
        )
        existing = [
            Planned(row.seat, row.page)
            for row in connection.execute(
                select(t.study_plan.c.seat, t.study_plan.c.page).where(t.study_plan.c.study == name)
            )
            if row.seat in raters  # whoever is excluded has left their pages to others
        ]
        counted = [PagePlace(page.id, page.person) for page in pages.values() if page.role is Role.ITEM]
        everyone = [page.id for page in pages.values() if page.role is not Role.ITEM]
        new = plan(counted, sorted(raters), config.overlap, config.seed, existing)
        seen = set(existing)
        new += [
            Planned(seat, page) for seat in raters for page in everyone if Planned(seat, page) not in seen
        ]
        by_seat: dict[int, list[str]] = {}
        for seat, page in new:
            by_seat.setdefault(seat, []).append(page)
        taken = dict(
            tuple(row)
            for row in connection.execute(
                select(t.study_plan.c.seat, func.max(t.study_plan.c.position))
                .where(t.study_plan.c.study == name)
                .group_by(t.study_plan.c.seat)
            )
        )
        rows = []
        for seat, added in by_seat.items():
            rater = raters[seat]
            order = in_order(added, rater, config.seed)
            order.sort(key=lambda page: pages[page].role is not Role.PRACTICE)  # practice comes first
            for position, page in enumerate(order, taken.get(seat, -1) + 1):
                arrangement = Arrangement.drawn(pages[page], rater, config.seed)
                rows.append(
                    {
                        "study": name,
                        "seat": seat,
                        "position": position,
                        "page": page,
                        "arrangement": arrangement.model_dump_json(),
                    }
                )
        if rows:
            connection.execute(insert(t.study_plan), rows)

    def _register(self, name: str) -> None:
        """Make the raters known to the store, by pseudonym, so that reports can name them."""
        config = self.study(name).config
        kind = "simulated" if config.simulated else "human"
        self.store.add_raters(
            RaterRecord(
                fingerprint=seat.rater,
                name=f"{kind}:{seat.code}",
                kind=kind,
                settings={"study": name, "perspective": config.perspective},
            )
            for seat in self.seats(name)
        )

    # -- reading ---------------------------------------------------------------------------------------------------

    def names(self) -> list[str]:
        """All studies, the newest first."""
        with self.engine.connect().execution_options(read_only=True) as connection:
            return list(
                connection.execute(select(t.studies.c.name).order_by(t.studies.c.created.desc())).scalars()
            )

    def study(self, name: str) -> Study:
        """One study."""
        with self.engine.connect().execution_options(read_only=True) as connection:
            row = connection.execute(select(t.studies).where(t.studies.c.name == name)).first()
        if row is None:
            known = ", ".join(self.names()) or "none yet"
            raise UserError(f"There is no study '{name}' in {self.store.url}; there are: {known}.")
        config = StudyConfig.model_validate_json(row.config)
        return Study(row.name, row.dataset, row.form, config, row.state, row.created)

    def form(self, name: str) -> Form:
        """The form a study uses."""
        return form_named(self.study(name).form)

    def page(self, study: str, page: str) -> Page:
        """One page; kept, since pages never change."""
        return self._page(study, page)

    def _read_page(self, study: str, page: str) -> Page:
        query = select(t.study_pages.c.body).where(t.study_pages.c.study == study, t.study_pages.c.id == page)
        with self.engine.connect().execution_options(read_only=True) as connection:
            return Page.model_validate_json(connection.execute(query).scalar_one())

    def pages(self, study: str, roles: Sequence[Role] = tuple(Role)) -> list[Page]:
        """The pages of a study in the order they were made."""
        query = (
            select(t.study_pages.c.body)
            .where(t.study_pages.c.study == study, t.study_pages.c.role.in_(roles))
            .order_by(t.study_pages.c.position)
        )
        with self.engine.connect().execution_options(read_only=True) as connection:
            return [Page.model_validate_json(body) for body in connection.execute(query).scalars()]

    def seats(self, study: str) -> list[Seat]:
        """Everyone's place in a study."""
        query = select(t.study_raters).where(t.study_raters.c.study == study).order_by(t.study_raters.c.seat)
        with self.engine.connect().execution_options(read_only=True) as connection:
            return [_seat(row) for row in connection.execute(query)]

    def seat(self, study: str, seat: int) -> Seat | None:
        """One place."""
        query = select(t.study_raters).where(t.study_raters.c.study == study, t.study_raters.c.seat == seat)
        with self.engine.connect().execution_options(read_only=True) as connection:
            row = connection.execute(query).first()
        return None if row is None else _seat(row)

    def assigned(self, study: str, seat: int) -> list[Assigned]:
        """The pages of a seat in the order shown."""
        query = (
            select(t.study_plan)
            .where(t.study_plan.c.study == study, t.study_plan.c.seat == seat)
            .order_by(t.study_plan.c.position)
        )
        with self.engine.connect().execution_options(read_only=True) as connection:
            return [
                Assigned(
                    row.position,
                    row.page,
                    Arrangement.model_validate_json(row.arrangement),
                    row.shown,
                    row.done,
                )
                for row in connection.execute(query)
            ]

    # -- raters ----------------------------------------------------------------------------------------------------

    def take(
        self, study: str, seat: int | None, external: str | None, progress: dict[str, Any]
    ) -> Seat | None:
        """Take a seat, or the first free one; who has one already (by `external`) gets it again. None when all are taken."""
        raters = t.study_raters
        with self.engine.begin() as connection:
            mine = select(raters).where(raters.c.study == study)
            row = None
            if external is not None:
                row = connection.execute(mine.where(raters.c.external == external)).first()
            if row is None and seat is not None:
                row = connection.execute(mine.where(raters.c.seat == seat)).first()
            if row is None and seat is None:
                free = mine.where(raters.c.state == RaterState.FREE).order_by(raters.c.seat).limit(1)
                row = connection.execute(free.with_for_update(skip_locked=True)).first()
            if row is None:
                return None
            if row.state == RaterState.FREE:
                now = time.time()
                connection.execute(
                    update(raters)
                    .where(raters.c.study == study, raters.c.seat == row.seat)
                    .values(
                        state=RaterState.ACTIVE,
                        external=external,
                        joined=now,
                        seen=now,
                        progress=orjson.dumps(progress).decode(),
                    )
                )
                note(connection, study, row.code, "joined", None)
        return self.seat(study, int(row.seat))

    def update_seat(self, study: str, seat: int, who: str, what: str, **values: Any) -> None:
        """Change a seat (state, reason, progress, finished) and say so in the trail."""
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

    def mark_shown(self, study: str, seat: int, position: int) -> None:
        """Note when a page was first shown."""
        plans = t.study_plan
        with self.engine.begin() as connection:
            connection.execute(
                update(plans)
                .where(
                    plans.c.study == study,
                    plans.c.seat == seat,
                    plans.c.position == position,
                    plans.c.shown.is_(None),
                )
                .values(shown=time.time())
            )


def note(connection: Connection, study: str, who: str, what: str, detail: dict[str, Any] | None) -> None:
    """Add a line to the trail."""
    body = None if detail is None else orjson.dumps(detail).decode()
    connection.execute(
        insert(t.study_events).values(study=study, at=time.time(), who=who, what=what, detail=body)
    )


def _seat(row: Any) -> Seat:
    return Seat(
        row.study,
        row.seat,
        row.rater,
        row.code,
        row.external,
        RaterState(row.state),
        row.reason,
        orjson.loads(row.progress),
        row.joined,
        row.seen,
        row.finished,
    )
