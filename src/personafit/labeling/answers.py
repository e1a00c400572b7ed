"""A rater's answers: taken one at a time, stored as an ask and a judgment before they are acknowledged, exactly once.

The unit of saving is one field of one page. Its job key names study, page, question, target and rater; a later answer to the same
field is a later generation and supersedes. The browser gives each answer an id of its own, so one that is sent twice is stored once.
Answers that arrive together share a transaction: one sync of the disk serves them all.
"""

import asyncio
import queue
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import orjson
from sqlalchemy import Connection, Dialect, Engine, bindparam, func, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import SQLAlchemyError

from personafit._hashing import hash_text
from personafit.labeling.forms import Answered
from personafit.labeling.records import Field, RaterState
from personafit.store import Ask, Judgment, Status
from personafit.store import study_tables as s
from personafit.store import tables as t
from personafit.store.inserting import DriverInsert
from personafit.store.rows import ask_row, judgment_row, storable

MOST_AT_ONCE = 256
SEEN_EVERY = 10.0  # seconds between two notes of when a rater was last there
UNDONE = "undone"
CANNOT_TELL = "cannot tell"
BUSY = "The answer could not be stored just now; it is kept in this browser and sent again."


class NotStored(Exception):
    """An answer that was not stored: a sentence for the rater, and whether sending it again can help."""

    def __init__(self, sentence: str, again: bool) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.again = again


@dataclass(frozen=True)
class Answer:
    """One answer on its way into the store."""

    id: str
    """The browser's own id of it."""
    study: str
    seat: int
    rater: str
    position: int
    page: str
    field: Field
    answered: Answered | None
    """None for what is no label: cannot tell, undone, a text."""
    detail: dict[str, Any]
    """Client time, note, text, and why there is no label."""
    view: str
    order: str
    perspective: str
    seconds: float
    required: tuple[str, ...]
    """Job keys of all required fields of the page: when all have an answer, the page is done."""
    flag: str = ""
    """Job key of the page's flag: a page that is flagged is done whatever else is open."""

    @cached_property
    def job(self) -> str:
        """The key of the field's job."""
        return job_key(self.study, self.page, self.field, self.rater)

    @cached_property
    def stored(self) -> str:
        """The ask's id: a browser's id counts for this field of this rater alone, whoever else may use the same."""
        return hash_text("answer", self.job, self.id)


class Saved(NamedTuple):
    """What the browser is told of a stored answer."""

    id: str
    generation: int
    done: bool
    """Whether the page is done."""


def job_key(study: str, page: str, field: Field, rater: str) -> str:
    """The job key of one field of one page for one rater."""
    return hash_text("study", study, page, field.item, field.question, field.target, rater)


class Writer:
    """Takes answers from any number of requests and writes them together."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        add: Any = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}[engine.dialect.name]
        self._asks = DriverInsert(add(t.asks).on_conflict_do_nothing(), engine.dialect)
        self._judgments = DriverInsert(add(t.judgments).on_conflict_do_nothing(), engine.dialect)
        raters = s.study_raters
        self._pages = _PagesAtOnce() if engine.dialect.name == "postgresql" else _page_updates(engine.dialect)
        self._seen = DriverInsert(
            update(raters)
            .where(raters.c.study == bindparam("in_study"), raters.c.seat == bindparam("in_seat"))
            .values(seen=bindparam("when")),
            engine.dialect,
        )
        self._noted: dict[tuple[str, int], float] = {}
        self._waiting: queue.SimpleQueue[tuple[Answer, Future[Saved]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="answers", daemon=True)
        self._thread.start()

    async def save(self, answer: Answer) -> Saved:
        """Store an answer; returns only when it is on disk. Raises `NotStored`."""
        future: Future[Saved] = Future()
        self._waiting.put((answer, future))
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Write what is waiting and stop."""
        self._waiting.put(None)
        self._thread.join()

    def _work(self) -> None:
        while True:
            batch, last = self._gather()
            if batch:
                self._commit(batch)
            if last:
                return

    def _gather(self) -> tuple[list[tuple[Answer, "Future[Saved]"]], bool]:
        batch: list[tuple[Answer, Future[Saved]]] = []
        first = self._waiting.get()
        while first is not None:
            batch.append(first)
            if len(batch) == MOST_AT_ONCE:
                return batch, False
            try:
                first = self._waiting.get_nowait()
            except queue.Empty:
                return batch, False
        return batch, True

    def _commit(self, batch: Sequence[tuple[Answer, "Future[Saved]"]]) -> None:
        try:
            with self._engine.begin() as connection:
                results = self._write(connection, [answer for answer, _ in batch])
        except (SQLAlchemyError, OSError):
            # One answer that no database takes must not fail those beside it: each by itself then.
            if len(batch) > 1:
                for one in batch:
                    self._commit([one])
            else:
                batch[0][1].set_exception(NotStored(BUSY, again=True))
            return
        for (_, future), result in zip(batch, results, strict=True):
            if isinstance(result, Saved):
                future.set_result(result)
            else:
                future.set_exception(result)

    def _write(self, connection: Connection, answers: Sequence[Answer]) -> list[Saved | NotStored]:
        states = self._states(connection, answers)
        held = self._generations(connection, answers)
        asks, judgments, results = [], [], list[Saved | NotStored]()
        now = time.time()
        written: list[Answer] = []
        for answer in answers:
            state = states.get((answer.study, answer.seat))
            if state not in (RaterState.ACTIVE, RaterState.DONE):
                results.append(NotStored(_closed(state), again=False))
                continue
            ids = held.setdefault(answer.job, {})
            if answer.stored in ids:
                results.append(Saved(answer.id, ids[answer.stored], False))
                written.append(answer)
                continue
            generation = ids[answer.stored] = max(ids.values(), default=-1) + 1
            ask, judgment = _rows(answer, generation, now)
            asks.append(ask)
            judgments += judgment
            results.append(Saved(answer.id, generation, False))
            written.append(answer)
        if asks:
            self._asks.add(connection, sorted(asks, key=lambda row: (row["job"], row["id"])))
        if judgments:
            self._judgments.add(connection, sorted(judgments, key=lambda row: row["ask"]))
        done = self._close_pages(connection, written, now)
        return [
            one._replace(done=(answer.study, answer.seat, answer.position) in done)
            if isinstance(one, Saved)
            else one
            for answer, one in zip(answers, results, strict=True)
        ]

    def _states(self, connection: Connection, answers: Sequence[Answer]) -> dict[tuple[str, int], RaterState]:
        found: dict[tuple[str, int], RaterState] = {}
        raters = s.study_raters
        for study in {answer.study for answer in answers}:
            seats = {answer.seat for answer in answers if answer.study == study}
            query = (
                select(raters.c.seat, raters.c.state, s.studies.c.state.label("study"))
                .join(s.studies, s.studies.c.name == raters.c.study)
                .where(raters.c.study == study, raters.c.seat.in_(seats))
            )
            for row in connection.execute(query):
                found[study, row.seat] = RaterState(row.state) if row.study == "open" else RaterState.PAUSED
        return found

    def _generations(self, connection: Connection, answers: Sequence[Answer]) -> dict[str, dict[str, int]]:
        held: dict[str, dict[str, int]] = {}
        jobs = {answer.job for answer in answers}
        query = select(t.asks.c.job, t.asks.c.id, t.asks.c.generation).where(t.asks.c.job.in_(jobs))
        for row in connection.execute(query):
            held.setdefault(row.job, {})[row.id] = row.generation
        return held

    def _close_pages(
        self, connection: Connection, answers: Sequence[Answer], now: float
    ) -> set[tuple[str, int, int]]:
        """Mark pages all of whose required fields have an answer as done, and others as open again."""
        pages = {(one.study, one.seat, one.position): one for one in answers}
        # A page with one field is settled by an answer to it; others need a look at what stands.
        settled = {
            place for place, one in pages.items() if one.required == (one.job,) and "why" not in one.detail
        }
        looked_at = [one for place, one in pages.items() if place not in settled]
        standing = self._standing(
            connection, sorted({job for one in looked_at for job in (*one.required, one.flag) if job})
        )
        done = settled | {
            place
            for place, one in pages.items()
            if place not in settled
            and (standing.get(one.flag, False) or all(standing.get(job, False) for job in one.required))
        }
        if pages:
            rows = [
                {"in_study": study, "in_seat": seat, "at": position, "when": now if place in done else None}
                for place in sorted(pages)
                for study, seat, position in [place]
            ]
            self._pages.add(connection, rows)
            seats = {(study, seat) for study, seat, _ in pages}
            stale = sorted(one for one in seats if now - self._noted.get(one, 0.0) > SEEN_EVERY)
            if stale:
                self._noted |= dict.fromkeys(stale, now)
                self._seen.add(
                    connection, [{"in_study": study, "in_seat": seat, "when": now} for study, seat in stale]
                )
        return done

    def _standing(self, connection: Connection, jobs: Sequence[str]) -> dict[str, bool]:
        """Whether each of these jobs has an answer that was not undone."""
        latest: dict[str, tuple[int, bool]] = {}
        for chunk in _chunks(jobs):
            query = select(t.asks.c.job, t.asks.c.generation, t.asks.c.detail).where(t.asks.c.job.in_(chunk))
            for row in connection.execute(query):
                if row.job not in latest or latest[row.job][0] <= row.generation:
                    latest[row.job] = (row.generation, f'"why":"{UNDONE}"' not in (row.detail or ""))
        return {job: stands for job, (_, stands) in latest.items()}


def _page_updates(dialect: Dialect) -> DriverInsert:
    """Sets when pages were done, one statement a page."""
    plan = s.study_plan
    place = (plan.c.study == bindparam("in_study"), plan.c.seat == bindparam("in_seat"))
    statement = update(plan).where(*place, plan.c.position == bindparam("at"))
    return DriverInsert(statement.values(done=bindparam("when")), dialect)


class _PagesAtOnce:
    """The same in one statement for all, where each is a journey to a server."""

    def add(self, connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
        values = ", ".join(["(%s::text, %s::int, %s::bigint, %s::float8)"] * len(rows))
        connection.exec_driver_sql(
            f"UPDATE study_plan AS p SET done = v.done FROM (VALUES {values}) AS v(study, seat, position, done) "
            "WHERE p.study = v.study AND p.seat = v.seat AND p.position = v.position",
            tuple(value for row in rows for value in row.values()),
        )


def _rows(answer: Answer, generation: int, now: float) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    status = Status.OK if answer.answered is not None or answer.field.kind == "text" else Status.SKIPPED
    ask = ask_row(
        Ask.built(
            id=answer.stored,
            job=answer.job,
            generation=generation,
            item=answer.field.item,
            question=answer.field.question,
            rater=answer.rater,
            view=answer.view,
            context=None,
            order=answer.order,
            sample=0,
            status=status,
            reply=None,
            reasoning=None,
            detail=orjson.dumps({"id": answer.id} | answer.detail).decode(),
            tokens_in=0,
            tokens_out=0,
            tokens_reasoning=0,
            cost=0.0,
            seconds=answer.seconds,
            attempts=1,
            at=now,
        )
    )
    label, value = answer.answered or (None, None)
    extra: dict[str, Any] = {"perspective": answer.perspective, "study": answer.study}
    extra |= {
        name: storable(str(answer.detail[name]))
        for name in ("note", "text", "why")
        if answer.detail.get(name)
    }
    judgment = judgment_row(
        Judgment.built(
            ask=answer.stored,
            item=answer.field.item,
            question=answer.field.question,
            rater=answer.rater,
            target=answer.field.target,
            parse=0,
            status=status,
            label=label,
            value=value,
            extra=extra,
        )
    )
    return ask, [judgment]


def _closed(state: RaterState | None) -> str:
    if state is RaterState.PAUSED:
        return "This study is paused at the moment; your answers so far are kept."
    return "This study is closed for you; your answers so far are kept."


def _chunks(values: Sequence[str], size: int = 500) -> list[Sequence[str]]:
    return [values[start : start + size] for start in range(0, len(values), size)]


class Given(NamedTuple):
    """The answer that stands for a field."""

    generation: int
    status: Status
    label: str | None
    value: float | None
    detail: dict[str, Any]
    order: str
    at: float
    seconds: float


def standing_answers(engine: Engine, jobs: Sequence[str]) -> dict[str, Given]:
    """The last answer to each of these jobs; one that was undone is absent."""
    found: dict[str, Given] = {}
    columns = (
        t.asks.c.job,
        t.asks.c.generation,
        t.asks.c.status,
        t.asks.c.detail,
        t.asks.c.order,
        t.asks.c.at,
    )
    query = select(*columns, t.asks.c.seconds, t.judgments.c.label, t.judgments.c.value).join(
        t.judgments, t.judgments.c.ask == t.asks.c.id
    )
    with engine.connect().execution_options(read_only=True) as connection:
        for chunk in _chunks(jobs):
            for row in connection.execute(query.where(t.asks.c.job.in_(chunk))):
                if row.job not in found or found[row.job].generation <= row.generation:
                    detail = orjson.loads(row.detail) if row.detail else {}
                    found[row.job] = Given(
                        row.generation,
                        Status(row.status),
                        row.label,
                        row.value,
                        detail,
                        row.order,
                        row.at,
                        row.seconds,
                    )
    return {job: given for job, given in found.items() if given.detail.get("why") != UNDONE}


def count_answers(engine: Engine, raters: Sequence[str]) -> int:
    """How many answers these raters have given, corrections included."""
    query = select(func.count()).select_from(t.asks).where(t.asks.c.rater.in_(raters))
    with engine.connect().execution_options(read_only=True) as connection:
        return int(connection.execute(query).scalar_one())
