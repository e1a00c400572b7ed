"""Opening a store: the file it is called by path or by URL, and one sentence without the password where it cannot be opened."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from personafit import Store, UserError
from personafit.store import connection
from personafit.store.connection import BUSY_SECONDS
from tests.conftest import Command


@pytest.mark.parametrize(
    ("address", "said"),
    [
        (
            "postgresql://me:secret@127.0.0.1:1/x",
            "postgresql://me:***@127.0.0.1:1/x cannot be opened (connection",
        ),
        ("postgresql://me:secret@host:port/x", "postgresql://me:***@host:port/x cannot be used ("),
        ("postgresql://me:s@ecret@127.0.0.1:1/x", "cannot be used (an @ in a password is written %40)"),
        ("postgresql://me:x@sec:ret@host/x", "cannot be used (an @ in a password is written %40)"),
        ("postgresql://127.0.0.1:1/x?sslpassword=secret", "127.0.0.1:1/x?sslpassword=*** cannot be opened"),
        ("nonsense://x", "The store nonsense://x cannot be used (nonsense is not supported)"),
        (":memory:", "The store :memory: cannot be used (a store is a file)"),
        ("sqlite://", "The store sqlite:// cannot be used (a store is a file)"),
        ("/proc/nowhere/store.db", "The store /proc/nowhere/store.db cannot be opened ("),
        ("/dev", "The store /dev cannot be opened (unable to open database file)"),
    ],
)
def test_a_store_that_cannot_be_opened_is_one_sentence_without_the_password(address: str, said: str) -> None:
    with pytest.raises(UserError) as caught:
        Store(address)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "ecret" not in str(caught.value)
    assert "ret@" not in str(caught.value)


@pytest.mark.parametrize("name", ["plain.db", "what?.db", "a#b@c%41.db"])
def test_a_store_is_the_file_it_is_called(tmp_path: Path, name: str) -> None:
    Store(tmp_path / "folder" / name).close()
    assert (tmp_path / "folder" / name).is_file()


def test_by_its_url_a_file_is_opened_in_the_same_way(tmp_path: Path) -> None:
    with Store(f"sqlite:///{tmp_path}/folder/store.db") as store, store.engine.connect() as connection:
        waits = connection.exec_driver_sql("PRAGMA busy_timeout").scalar()
    assert waits == 1000 * BUSY_SECONDS, "or a second run on the store ends instead of waiting"


def test_a_store_that_another_process_writes_to_is_waited_for_aloud(
    personafit: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waited for a minute without a word, and then advised another store."""
    monkeypatch.setattr(connection, "QUIET_SECONDS", 0.2)
    monkeypatch.setattr(connection, "BUSY_SECONDS", 1)
    more = ("--rater", "rule:length", "--limit", "4")
    personafit("run", "starter", *more)
    with closing(sqlite3.connect(tmp_path / ".personafit" / "store.db", isolation_level=None)) as lock:
        lock.execute("BEGIN EXCLUSIVE")
        assert "starter" in personafit("report", "last").out, "who reads waits for nobody"
        said = personafit("run", "starter", *more, "--seed", "2", code=1).err
        assert said.count("another process is writing to the store; waiting for it, 1 s at most.") == 1
        assert "database is locked" in said
        assert "the same command goes on from there" in said
        assert "--store" not in said
        lock.execute("ROLLBACK")
    personafit("run", "starter", *more, "--seed", "2")


def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("These are my notes, and they are longer than a header.\n" * 50, encoding="utf-8")
    before = path.read_bytes()
    with pytest.raises(UserError, match=r"cannot be opened \(file is not a database\)"):
        Store(path)
    assert path.read_bytes() == before
