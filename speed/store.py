"""Judgments per second into a fresh SQLite store, each with its ask, in the batches the engine writes.

Beside them the least anyone could do: the same rows, made beforehand, through sqlite3's own executemany into the same
tables, with the same settings, so as safe on disk.
"""

import sqlite3
import time
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson

from personafit._hashing import hash_text
from personafit.engine.jobs import WRITE_ROWS
from personafit.store import Ask, Judgment, Outcome, Status, Store
from speed.table import Measurement, paired

ROUNDS = 7
JUDGMENTS = 40_000
PER_SECOND_BAR = 20_000.0


def measure() -> list[Measurement]:
    """Take turns, round by round, each time into a new file."""
    outcomes = [outcome_of(number) for number in range(JUDGMENTS)]
    ours: list[float] = []
    raw: list[float] = []
    for number in range(1, ROUNDS + 1):
        with TemporaryDirectory() as folder:
            ours.append(JUDGMENTS / _store_seconds(Path(folder) / "ours.sqlite", outcomes))
            raw.append(JUDGMENTS / _raw_seconds(Path(folder) / "raw.sqlite", outcomes))
        print(f"store, round {number} of {ROUNDS}: ours {ours[-1]:,.0f}, raw {raw[-1]:,.0f} judgments/s")
    return [
        paired(
            "judgments into the store",
            "what is asked for",
            "judgments/s",
            ours,
            [PER_SECOND_BAR] * ROUNDS,
            1.0,
        ),
        paired("judgments into the store", "sqlite3 executemany", "judgments/s", ours, raw, None),
    ]


def _store_seconds(path: Path, outcomes: list[Outcome]) -> float:
    with Store(path) as store:
        start = time.perf_counter()
        for first in range(0, len(outcomes), WRITE_ROWS):
            store.write(outcomes[first : first + WRITE_ROWS])
        return time.perf_counter() - start


def _raw_seconds(path: Path, outcomes: list[Outcome]) -> float:
    Store(path).close()  # makes the tables
    asks = [tuple(outcome.ask.__dict__.values()) for outcome in outcomes]
    judgments = [tuple(_flat(judgment)) for outcome in outcomes for judgment in outcome.judgments]
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA cache_size=-65536")
        start = time.perf_counter()
        for first in range(0, len(asks), WRITE_ROWS):
            connection.execute("BEGIN IMMEDIATE")
            _insert(connection, "asks", tuple(Ask.model_fields), asks[first : first + WRITE_ROWS])
            _insert(
                connection, "judgments", tuple(Judgment.model_fields), judgments[first : first + WRITE_ROWS]
            )
            connection.execute("COMMIT")
        return time.perf_counter() - start


def _insert(
    connection: sqlite3.Connection, table: str, names: tuple[str, ...], rows: list[tuple[Any, ...]]
) -> None:
    columns, marks = ", ".join(f'"{name}"' for name in names), ", ".join("?" * len(names))
    connection.executemany(f"INSERT INTO {table} ({columns}) VALUES ({marks}) ON CONFLICT DO NOTHING", rows)


def _flat(judgment: Judgment) -> list[Any]:
    row = judgment.__dict__ | {"extra": orjson.dumps(judgment.extra).decode()}
    return [row[name] for name in Judgment.model_fields]


def outcome_of(number: int) -> Outcome:
    """What a choice by an LLM leaves behind: an ask with a short reply, and a judgment with its letter scores."""
    job = hash_text("job", str(number))
    ask = Ask(
        id=hash_text(job, "0"),
        job=job,
        item=f"made-up/{number // 2}",
        question="fit",
        rater=hash_text("rater"),
        context="profile",
        context_id=hash_text("context", str(number // 100)),
        order="01" if number % 2 else "10",
        status=Status.OK,
        reply="A",
        tokens_in=1600,
        tokens_out=1,
        seconds=0.05,
        at=1.7e9 + number,
    )
    scores = {"letters": {"A": -0.5, "B": -1.5 - number / JUDGMENTS}}
    judgment = Judgment(ask=ask.id, item=ask.item, rater=ask.rater, label="0", value=1.0, extra=scores)
    return Outcome(ask=ask, judgments=[judgment])
