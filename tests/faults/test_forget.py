"""Forgetting a person, on both databases: every row goes, nobody else's does, the bytes too, and they stay away."""

import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from personafit import Store
from personafit.benchmarks import RunConfig
from personafit.store import run_answers
from personafit.store.connection import HEAD
from personafit.store.tables import metadata
from tests.faults.world import carry_out, personafit, sentences, write_benchmark, write_lines
from tests.reports.unpacking import browser_blocks

CANARY = "walrus-taxidermist"
ITEMS = 12


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """A benchmark of four people of whom p1 has traits that occur nowhere else, in profile, question and answers."""
    folder = write_benchmark(tmp_path / "village", ITEMS)
    _edit(folder / "people.jsonl", "p1", lambda row: row["facets"].update(Job=CANARY))
    _edit(folder / "items.jsonl", "village/1", lambda row: row.update(prompt=f"What would a {CANARY} do?"))
    _edit(folder / "products.jsonl", "i1-0", lambda row: row.update(text=f"As a {CANARY}, rest."))
    toml = (folder / "benchmark.toml").read_text(encoding="utf-8")
    (folder / "benchmark.toml").write_text(toml + '[splits]\ntest = ["p1", "p2"]\n', encoding="utf-8")
    return folder


def _edit(path: Path, key: str, change: Callable[[dict[str, Any]], None]) -> None:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for row in rows:
        if row["id"] == key:
            change(row)
    write_lines(path, rows)


def _judge(url: str, folder: Path, **more: Any) -> None:
    assert carry_out(url, RunConfig(str(folder), raters=["rule:length"], **more)).failed == 0  # type: ignore[arg-type]


def _tables(url: str) -> dict[str, list[tuple[Any, ...]]]:
    address = url.replace("postgresql://", "postgresql+psycopg://") if "://" in url else f"sqlite:///{url}"
    engine = create_engine(address)
    with engine.connect() as connection:
        found = {
            table.name: sorted((tuple(row) for row in connection.execute(table.select())), key=repr)
            for table in metadata.sorted_tables
        }
    engine.dispose()
    return found


def _mentions(rows: list[tuple[Any, ...]], *names: str) -> list[tuple[Any, ...]]:
    return [row for row in rows if any(f'"{name}"' in repr(row) or name in row for name in names)]


def test_a_question_called_like_a_field_of_a_run_takes_no_field_along(url: str, world: Path) -> None:
    for path in world.glob("*.jsonl"):
        path.write_text(path.read_text(encoding="utf-8").replace('"village/1"', '"raters"'), encoding="utf-8")
    _judge(url, world, limit=ITEMS)
    with Store(url) as store:
        assert "raters" in store.run("last").config["selected"]
        store.forget("p1")
        config = store.run("last").config
        assert "raters" not in config["selected"]
        assert [rater["name"] for rater in config["raters"]] == ["rule:length", "rule:overlap"]


def test_everything_of_one_person_goes_and_nothing_of_anybody_else(url: str, world: Path) -> None:
    _judge(url, world)
    _judge(url, world, limit=6)
    before = _tables(url)
    with Store(url) as store:
        planned = store.forget("p1", dry_run=True)
        assert _tables(url) == before, "a dry run changes nothing"
        done = store.forget("p1")
    assert done is not None
    assert planned is not None
    assert done.counts == planned.counts
    after = _tables(url)
    assert CANARY not in repr(after)
    theirs = [f"village/{n}" for n in range(1, ITEMS, 4)]
    for name, rows in after.items():
        assert _mentions(rows, "p1", *theirs) == [], name
    removed = {name: len(before[name]) - len(rows) for name, rows in after.items()}
    assert {name: count for name, count in removed.items() if name in done.counts} == done.counts
    assert removed["people"] == 1
    assert removed["items"] == len(theirs)
    assert removed["judgments"] >= removed["asks"] > 0
    assert removed["tombstones"] == -1
    for name in ("raters", "runs", "datasets"):
        assert removed[name] == 0
    kept = {row for row in before["asks"] if row[3] not in theirs}
    gone = kept - set(after["asks"])
    about = {row[0] for row in before["products"] if row[5] == "p1"}
    assert gone, "somebody was mistaken for p1"
    assert {row[7] for row in gone} <= about, (
        "besides their own items only asks that showed p1 to somebody go"
    )
    with Store(url) as store:
        again = store.forget("p1")
        assert again is not None
        assert not any(again.counts.values())
        assert again.before is not None
        assert store.forget("nobody") is None
        frame = run_answers(store, store.run("last").id)
        assert not frame.is_empty()


def test_what_was_asked_about_a_whole_list_of_attributes_goes_too(url: str) -> None:
    config = RunConfig("recentering", data=Path("starter"), raters=["rule:overlap"])
    carry_out(url, config)  # type: ignore[arg-type]
    assert any(row[3].endswith("@nadia") for row in _tables(url)["asks"])
    with Store(url) as store:
        store.forget("nadia")
    assert "nadia" not in repr(_tables(url))


def test_a_forgotten_person_does_not_come_back(url: str, world: Path) -> None:
    _judge(url, world)
    with Store(url) as store:
        store.forget("p1")
    _judge(url, world)  # the same data
    assert CANARY not in repr(_tables(url))
    _edit(world / "items.jsonl", "village/2", lambda row: row.update(prompt="Changed, so another data set?"))
    _judge(url, world)
    after = _tables(url)
    assert CANARY not in repr(after)
    assert len({row[0] for row in after["items"]}) == 2, "the edited benchmark was read anew"
    assert len(after["people"]) == 2 * 3
    with Store(url) as store:
        notes = store.run("last").config["notes"]
        assert any("were forgotten (personafit data forget), and are left out: 1." in note for note in notes)


def test_ids_that_two_data_sets_share_are_told_apart(url: str, tmp_path: Path) -> None:
    """Item village/1 is about p1 in one benchmark and about q1 in another: q1's stay."""
    one, two = write_benchmark(tmp_path / "one", ITEMS), write_benchmark(tmp_path / "two", ITEMS)
    for name in ("people.jsonl", "items.jsonl"):
        lines = re.sub(r'"p(\d)"', r'"q\1"', (two / name).read_text(encoding="utf-8"))
        (two / name).write_text(lines, encoding="utf-8")
    _judge(url, two)
    alone = _tables(url)
    _judge(url, one)
    with Store(url) as store:
        for person in range(4):
            assert store.forget(f"p{person}") is not None
    left = _tables(url)
    for name in ("people", "items", "asks", "judgments"):
        assert left[name] == alone[name], name


def test_answers_written_for_somebody_go_wherever_they_are_shown(url: str, tmp_path: Path) -> None:
    """In a log, one person's answer serves as another's wrong one: under another id, but in the same words."""
    rows = [
        {
            "id": f"{n}",
            "person": {"id": f"p{n}", "job": f"job {n}"},
            "question": "What now?",
            "generic": "Rest.",
        }
        | {"answer": f"As a {CANARY}, rest." if n == 1 else f"As number {n}, rest."}
        for n in range(4)
    ]
    write_lines(tmp_path / "log.jsonl", rows)
    config = RunConfig(str(tmp_path / "log.jsonl"), raters=["rule:length"])
    carry_out(url, config)  # type: ignore[arg-type]
    assert CANARY in repr(_tables(url))
    with Store(url) as store:
        store.forget("p1")
    assert CANARY not in repr(_tables(url))
    carry_out(url, config)  # type: ignore[arg-type]
    rows[0]["question"] = "What next?"
    write_lines(tmp_path / "log.jsonl", rows)
    carry_out(url, config)  # type: ignore[arg-type]
    left = _tables(url)
    assert CANARY not in repr(left)
    assert {row[4] for row in left["items"]} == {"p0", "p2", "p3"}


@pytest.mark.slow
def test_the_bytes_are_gone_from_the_file(tmp_path: Path, world: Path) -> None:
    done = personafit(
        "run", "village", "--rater", "rule:length", "--store", "s.db", "--out", "out", cwd=tmp_path
    )
    assert done.returncode == 0
    held = b"".join(path.read_bytes() for path in tmp_path.glob("s.db*"))
    assert CANARY.encode() in held
    dry = personafit("data", "forget", "p1", "--store", "s.db", "--dry-run", cwd=tmp_path)
    assert dry.returncode == 0
    assert "would remove" in dry.stdout
    done = personafit("data", "forget", "p1", "--store", "s.db", cwd=tmp_path)
    assert (done.returncode, sentences(done.stderr)) == (0, [])
    assert "1 people" in done.stdout
    assert "delete those yourself" in done.stdout
    held = b"".join(path.read_bytes() for path in tmp_path.glob("s.db*"))
    assert CANARY.encode() not in held
    assert b'"p1"' not in held
    report = personafit("report", "last", "--store", "s.db", "--out", "again", cwd=tmp_path)
    assert (report.returncode, sentences(report.stderr)) == (0, [])
    page = tmp_path / "again" / "report.html"
    assert CANARY not in page.read_text(encoding="utf-8")
    assert CANARY not in str(browser_blocks(page))
    unknown = personafit("data", "forget", "nobody", "--store", "s.db", cwd=tmp_path)
    assert (unknown.returncode, sentences(unknown.stderr)) == (
        2,
        ["Nobody is called 'nobody' in s.db; nothing was removed."],
    )


def test_a_store_that_is_in_use_says_that_bytes_may_remain(tmp_path: Path, world: Path) -> None:
    _judge(str(tmp_path / "s.db"), world)
    with closing(sqlite3.connect(tmp_path / "s.db", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM asks").fetchone()
        with Store(tmp_path / "s.db") as store:
            done = store.forget("p1")
        assert done is not None
        assert done.remains is not None
    with Store(tmp_path / "s.db") as store:
        again = store.forget("p1")
    assert again is not None
    assert again.remains is None
    assert CANARY.encode() not in (tmp_path / "s.db").read_bytes()


LATER = ("stud", "label_")  # tables of human studies, which came with the third version


def test_a_store_of_the_first_version_is_brought_up_with_all_it_holds(url: str, world: Path) -> None:
    _judge(url, world)
    before = _tables(url)
    address = url.replace("postgresql://", "postgresql+psycopg://") if "://" in url else f"sqlite:///{url}"
    engine = create_engine(address)
    with engine.begin() as connection:  # as the first version left it
        for table in ("tombstones", *(table for table in metadata.tables if table.startswith(LATER))):
            connection.execute(text(f"DROP TABLE {table}"))
        connection.execute(text("ALTER TABLE asks RENAME COLUMN context TO view"))
        connection.execute(text("ALTER TABLE asks RENAME COLUMN context_id TO context"))
        connection.execute(text("UPDATE alembic_version SET version_num = '0001'"))
    with Store(url) as store:
        assert store.forgotten(["p1"]) == set()
    with engine.connect() as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar() == HEAD
    engine.dispose()
    assert _tables(url) == before
