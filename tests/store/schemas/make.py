"""`python -m tests.store.schemas.make`: write the dump of every version of the tables that has none yet.

A dump is made once, by the migrations as they were released, and never again: it stands for the stores that people have.
"""

import re
import sqlite3
import sys
import tempfile
import uuid
from contextlib import closing
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import Engine, MetaData, create_engine

import personafit.store
from tests.store.databases import PostgresServer, create_database, started_postgres

FOLDER = Path(__file__).parent
MIGRATIONS = Path(personafit.store.__file__).parent / "migrations"

_ASK: dict[str, Any] = {
    "generation": 0,
    "question": "fit",
    "rater": "r1",
    "context": "profile",
    "context_id": "c1",
    "sample": 0,
    "reasoning": None,
    "tokens_in": 1600,
    "tokens_out": 1,
    "tokens_reasoning": 0,
    "cost": 0.25,
    "seconds": 0.5,
    "attempts": 1,
    "at": 1700000000.5,
}
_JUDGMENT: dict[str, Any] = {"question": "fit", "target": "", "parse": 0, "extra": None}
_PRODUCT: dict[str, Any] = {
    "maker": None,
    "given": None,
    "about": None,
    "parents": "[]",
    "status": "ok",
    "cost": 0.0,
    "sample": 0,
}
_SEAT: dict[str, Any] = {"study": "pilot", "seat": 0}

ROWS: dict[str, list[dict[str, Any]]] = {
    "datasets": [{"id": "d@1", "benchmark": "d", "info": '{"forgotten": 0}', "complete": 1}],
    "people": [
        {
            "dataset": "d@1",
            "id": "p1",
            "version": "v1",
            "language": "zh",
            "body": '{"id":"p1","language":"zh","facets":{"职业":"老师"}}',
        }
    ],
    "products": [
        _PRODUCT | {"id": "a1", "kind": "answer", "text": 'It\'s "quoted";\nover two lines — 是的 😀'},
        _PRODUCT | {"id": "a2", "kind": "answer", "text": "plain"},
        _PRODUCT | {"id": "c1", "kind": "context", "text": "职业: 老师", "about": "p1"},
    ],
    "items": [
        {
            "dataset": "d@1",
            "id": "i1",
            "position": 0,
            "kind": "choice",
            "person": "p1",
            "prompt": "What now?",
            "products": '["a1","a2"]',
            "grp": "g1",
            "slices": '{"half":"general"}',
            "hash": "h1",
        }
    ],
    "raters": [{"fingerprint": "r1", "name": "openai:m", "kind": "llm", "settings": "{}"}],
    "runs": [
        {
            "name": "first",
            "dataset": "d@1",
            "config": '{"question": "fit", "selected": null}',
            "planned": 2,
            "started": 1700000000.0,
            "touched": 1700000001.0,
            "finished": None,
        }
    ],
    "run_jobs": [{"run": 1, "job": "j1"}, {"run": 1, "job": "j2"}],
    "asks": [
        _ASK
        | {
            "id": "j1/0",
            "job": "j1",
            "item": "i1",
            "order": "01",
            "status": "ok",
            "reply": "A",
            "detail": None,
        },
        _ASK
        | {
            "id": "f1",
            "job": "j2",
            "item": "i1",
            "order": "10",
            "status": "failed",
            "reply": None,
            "detail": "no",
        },
    ],
    "judgments": [
        _JUDGMENT | {"ask": "j1/0", "item": "i1", "rater": "r1", "status": "ok", "label": "0", "value": 0.1},
        _JUDGMENT
        | {"ask": "d@1#author", "item": "i1", "rater": "author", "status": "ok", "label": "1", "value": None},
    ],
    "tombstones": [{"person": "f00d", "at": 1700000002.0, "counts": '{"items": 3}'}],
    "studies": [
        {
            "name": "pilot",
            "dataset": "d@1",
            "form": "choice",
            "config": "{}",
            "state": "open",
            "created": 1700000003.0,
        }
    ],
    "study_pages": [
        {
            "study": "pilot",
            "id": "s1",
            "position": 0,
            "role": "item",
            "person": "p1",
            "body": '{"items": ["i1"]}',
        }
    ],
    "study_raters": [
        _SEAT
        | {
            "rater": "human1",
            "code": "R1",
            "external": None,
            "state": "active",
            "reason": None,
            "progress": "{}",
            "joined": 1700000004.0,
            "seen": None,
            "finished": None,
        }
    ],
    "study_plan": [
        _SEAT | {"position": 0, "page": "s1", "arrangement": "10", "shown": 1700000005.0, "done": None}
    ],
    "study_chats": [
        _SEAT | {"page": "s1", "turn": 0, "role": "user", "text": "你好", "key": "k1", "at": 1700000006.0}
    ],
    "study_events": [
        {"study": "pilot", "at": 1700000007.0, "who": "researcher", "what": "opened", "detail": None}
    ],
    "label_settings": [{"name": "note", "value": "kept"}],
}
"""A row or more of every table there ever was."""


def versions() -> list[str]:
    """All versions of the tables, the oldest first."""
    return sorted(path.stem.split("_")[0].lstrip("v") for path in (MIGRATIONS / "versions").glob("v*.py"))


def dump_path(version: str, kind: str) -> Path:
    """Where the dump of a version for one kind of database is."""
    return FOLDER / f"{version}.{kind}.sql"


def main() -> int:
    """Write what is missing."""
    with started_postgres() as server, tempfile.TemporaryDirectory() as folder:
        for version in versions():
            if not dump_path(version, "sqlite").exists():
                _write_sqlite(version, Path(folder) / f"{version}.db")
            if not dump_path(version, "postgresql").exists():
                _write_postgresql(version, server)
    return 0


def _write_sqlite(version: str, path: Path) -> None:
    _fill(create_engine(f"sqlite:///{path}"), version)
    with closing(sqlite3.connect(path)) as connection:
        dump = "\n".join(connection.iterdump())
    dump_path(version, "sqlite").write_text(dump + "\n", encoding="utf-8")


def _write_postgresql(version: str, server: PostgresServer) -> None:
    name = f"v{uuid.uuid4().hex}"
    url = create_database(server.address, name)
    _fill(create_engine(url.replace("postgresql://", "postgresql+psycopg://")), version)
    options = ("--inserts", "--no-owner", "--no-privileges", "-h", str(server.folder), "-U", "tester")
    dump = server.run("pg_dump", *options, name)
    # What one release of PostgreSQL says to itself is not understood by every other: settings, comments, psql's own words.
    kept = [
        line for line in dump.splitlines() if not re.match(r"SET |--|\\|SELECT pg_catalog.set_config", line)
    ]
    text = re.sub(r"\n{2,}", "\n", "\n".join(kept)).strip()
    dump_path(version, "postgresql").write_text(text + "\n", encoding="utf-8")


def _called_then(row: dict[str, Any], columns: list[str]) -> dict[str, Any]:
    """Return a row under the names its columns had then."""
    if "view" not in columns:
        return row
    earlier = {"context": "view", "context_id": "context"}
    return {earlier.get(name, name): value for name, value in row.items()}


def _fill(engine: Engine, version: str) -> None:
    """Make the tables as they were in a version and put a few rows into each."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, version)
        found = MetaData()
        found.reflect(connection)
        for table in found.sorted_tables:
            if table.name != "alembic_version":
                rows = [_called_then(row, table.columns.keys()) for row in ROWS[table.name]]
                connection.execute(table.insert(), rows)
    engine.dispose()


if __name__ == "__main__":
    sys.exit(main())
