"""Runs in the store: which jobs a run needs, which of them are done (the anti-join), and their outcomes."""

import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import orjson
from sqlalchemy import Connection, func, or_, select, update

from personafit._secrets import masked
from personafit.store import tables as t
from personafit.store.database import Database, among, repeated_when_lost
from personafit.store.inserting import insert_new
from personafit.store.records import Ask, Outcome, Status, ask_row, judgment_row, product_row, storable

FORGOTTEN_NOTE = "People of this data set who were forgotten (personafit data forget), and are left out: {}."
"""Said of a data set whose people were forgotten."""

MET = " was fitted on "
"""After a rater's name, how the note of a run begins that says the rater met these people or prompts when it was fitted."""

CLOCK_STEP = 0.001  # seconds between two uses of runs on a clock that stands still or goes back


class JobState(NamedTuple):
    """Where a job stands: its last final status and generation."""

    status: Status
    generation: int


class RunRecord(NamedTuple):
    """One run: a name for a set of jobs and the configuration that planned them."""

    id: int
    name: str
    dataset: str
    config: dict[str, Any]
    planned: int
    started: float
    finished: float | None

    @property
    def met_people(self) -> dict[str, str]:
        """Fingerprint of each rater that was fitted on people (or prompts) of this run, to the sentence that says so.

        Such a rater's scores here show memory, not skill: no claim may be made of them.
        """
        notes: list[str] = self.config.get("notes", [])
        return {
            rater["fingerprint"]: note
            for rater in self.config.get("raters", [])
            for note in notes
            if note.startswith(f"{rater['name']}{MET}")
        }


class Runs(Database):
    """What was asked, and what came of it."""

    @repeated_when_lost
    def begin_run(self, name: str, dataset: str, config: dict[str, Any], planned: int) -> RunRecord:
        """Open a run, or take it up again when one of that name is there."""
        now = time.time()
        if config.get("command"):
            config = config | {"command": storable(masked(config["command"]))}
        if missing := self._count_forgotten(dataset):
            config = config | {"notes": [*config.get("notes", ()), FORGOTTEN_NOTE.format(missing)]}
        row = {
            "name": name,
            "dataset": dataset,
            "config": orjson.dumps(config).decode(),
            "planned": planned,
            "started": now,
            "touched": now,
            "finished": None,
        }
        with self._engine.begin() as connection:
            # The last used run is the last, even if the machine's clock was set back since another one.
            latest = connection.execute(select(func.max(t.runs.c.touched))).scalar()
            touched = now if latest is None else max(now, latest + CLOCK_STEP)
            connection.execute(insert_new(t.runs, connection.dialect).values(**row))
            connection.execute(
                update(t.runs)
                .where(t.runs.c.name == name)
                .values(
                    dataset=dataset, config=row["config"], planned=planned, touched=touched, finished=None
                )
            )
        return self.run(name)

    @repeated_when_lost
    def _count_forgotten(self, dataset: str) -> int:
        with self._read() as connection:
            info = connection.execute(select(t.datasets.c.info).where(t.datasets.c.id == dataset)).scalar()
        return int(orjson.loads(info).get("forgotten", 0)) if info else 0

    @repeated_when_lost
    def finish_run(self, name: str) -> None:
        """Note that every job of the run has been tried."""
        with self._engine.begin() as connection:
            connection.execute(update(t.runs).where(t.runs.c.name == name).values(finished=time.time()))
            self._count_anew(connection, t.run_jobs, t.products, t.asks, t.judgments)

    @repeated_when_lost
    def runs(self) -> list[RunRecord]:
        """All runs, the last used first."""
        with self._read() as connection:
            rows = connection.execute(select(t.runs).order_by(t.runs.c.touched.desc())).all()
        return [
            RunRecord(r.id, r.name, r.dataset, orjson.loads(r.config), r.planned, r.started, r.finished)
            for r in rows
        ]

    def run(self, name: str) -> RunRecord:
        """One run by name, or `last`."""
        runs = self.runs()
        for run in runs:
            if name in (run.name, "last"):
                return run
        raise KeyError(name)

    @repeated_when_lost
    def plan_jobs(self, run: int, keys: Sequence[str]) -> dict[str, JobState]:
        """Note that the run needs these jobs, and say which of them are already final (the anti-join)."""
        with self._engine.begin() as connection:
            self._insert(connection, t.run_jobs, [{"run": run, "job": key} for key in keys])
            return _states(connection, keys)

    @repeated_when_lost
    def job_states(self, keys: Sequence[str]) -> dict[str, JobState]:
        """Which of these jobs are final, and how."""
        with self._read() as connection:
            return _states(connection, keys)

    def final_asks(self, keys: Sequence[str]) -> dict[str, Ask]:
        """The last final ask of each of these jobs that has one."""
        found: dict[str, Ask] = {}
        query = select(t.asks).where(t.asks.c.status != Status.FAILED)
        for row in self.rows_among(query, t.asks.c.job, keys):
            values = row._mapping
            if row.job not in found or found[row.job].generation < row.generation:
                found[row.job] = Ask.model_construct(**{**values, "status": Status(row.status)})
        return found

    def replies(self, jobs: Iterable[str]) -> dict[str, tuple[str | None, str | None]]:
        """The raw reply and the reasoning of each ask of some jobs, by the ask's id, where there are any."""
        ask = t.asks.c
        query = select(ask.id, ask.reply, ask.reasoning).where(
            or_(ask.reply.is_not(None), ask.reasoning.is_not(None))
        )
        return {row.id: (row.reply, row.reasoning) for row in self.rows_among(query, ask.job, list(jobs))}

    @repeated_when_lost
    def write(self, outcomes: Sequence[Outcome], run: int | None = None, links: Sequence[str] = ()) -> None:
        """Store finished asks with their judgments and products, all or nothing.

        `links` are keys of jobs that followed from others and so could not be planned: the run is noted to need them.
        """
        asks = [ask_row(outcome.ask) for outcome in outcomes]
        products = [product_row(p) for outcome in outcomes for p in outcome.products]
        with self._engine.begin() as connection:
            self._insert(connection, t.run_jobs, [{"run": run, "job": key} for key in links])
            self._insert(connection, t.products, products)
            self._insert(connection, t.asks, asks)
            theirs = _made_elsewhere(connection, outcomes)
            ours = (outcome for outcome in outcomes if outcome.ask.id not in theirs)
            self._insert(connection, t.judgments, [judgment_row(j) for one in ours for j in one.judgments])


def _made_elsewhere(connection: Connection, outcomes: Sequence[Outcome]) -> set[str]:
    """Asks that another process stored first, where judgments of ours beside theirs would be read from two replies."""
    asks = {
        one.ask.id: one.ask
        for one in outcomes
        if any(j.target or j.item != one.ask.item for j in one.judgments)
    }
    stored = among(
        connection, select(t.asks.c.id, t.asks.c.at), t.asks.c.job, [ask.job for ask in asks.values()]
    )
    return {row.id for row in stored if row.id in asks and row.at != asks[row.id].at}


def _states(connection: Connection, keys: Sequence[str]) -> dict[str, JobState]:
    states: dict[str, JobState] = {}
    query = select(t.asks.c.job, t.asks.c.status, t.asks.c.generation).where(t.asks.c.status != Status.FAILED)
    for row in among(connection, query, t.asks.c.job, keys):
        if row.job not in states or states[row.job].generation < row.generation:
            states[row.job] = JobState(Status(row.status), row.generation)
    return states
