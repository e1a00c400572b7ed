"""Closed streams, repeated interrupts, damaged rows, hostile ids: a sentence each, never a traceback."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from personafit import Store, UserError
from personafit.api.forgetting import forget
from personafit.benchmarks import RunConfig, check_folder
from personafit.label import Studies, simulate_votes
from personafit.models import Unanswerable
from personafit.store import tables as t
from tests.conftest import Command
from tests.faults.world import carry_out, command, quiet, write_benchmark, write_lines
from tests.label.served import new_study
from tests.scripted import invoke
from tests.stub_endpoint import BEHAVIOURS, StubEndpoint, completion, saying

SMALL = ("run", "starter", "--rater", "rule:length", "--limit", "12", "--store", "store.db", "--out", "out")
SLEEPY = """
import pathlib, time

def rate(person, question, answers):
    pathlib.Path("called").touch()
    time.sleep(0.2)
    return [1, 0]
"""


def _run(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command(*arguments), cwd=folder, env=quiet(), capture_output=True, text=True)


@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_closed_streams_end_nothing(closed: str, tmp_path: Path) -> None:
    line = f'"{sys.executable}" -m personafit {" ".join(SMALL)} {closed}'
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, env=quiet(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    with closing(sqlite3.connect(tmp_path / "store.db")) as store:
        assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.parametrize("pause", [0.0, 0.02, 0.1])
def test_one_interrupt_after_the_other_is_one_sentence(pause: float, tmp_path: Path) -> None:
    (tmp_path / "sleepy.py").write_text(SLEEPY, encoding="utf-8")
    write_benchmark(tmp_path / "village", 40)
    process = subprocess.Popen(
        command("run", "village", "--rater", "python:sleepy:rate"),
        cwd=tmp_path,
        env=quiet(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (tmp_path / "called").exists():
        assert process.poll() is None
        time.sleep(0.002)
    for _ in range(3):
        if process.poll() is None:
            os.kill(process.pid, signal.SIGINT)
        time.sleep(pause)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.lower().count("interrupted") == 1
    assert "Traceback" not in said
    assert "Error" not in said


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the store of a small run."""
    folder = tmp_path_factory.mktemp("judged")
    with pytest.MonkeyPatch.context() as patch:
        invoke(patch, folder, *SMALL)
    return folder


@pytest.mark.parametrize(
    ("table", "column", "change"),
    [
        ("people", "body", "substr(body, 1, length(body) / 2)"),
        ("people", "body", "replace(body, '\"facets\"', '\"facetz\"')"),
        ("items", "slices", "'[]'"),
        ("runs", "config", "'X' || config"),
    ],
)
def test_a_damaged_row_is_named(
    table: str, column: str, change: str, judged: Path, tmp_path: Path, personafit: Command
) -> None:
    shutil.copy(judged / "store.db", tmp_path / "store.db")
    with closing(sqlite3.connect(tmp_path / "store.db")) as store:
        store.execute(f"UPDATE {table} SET {column} = {change}")
        store.commit()
    said = personafit("report", "last", "--store", "store.db", code=1).err
    assert len(said.splitlines()) == 1, said
    assert f"damaged ({table} '" in said or f"damaged ({table} 1" in said
    assert f"column {column}" in said


def test_ids_and_server_messages_do_not_steer_the_terminal(tmp_path: Path) -> None:
    folder = write_benchmark(tmp_path / "village")
    clear = "\x1b]0;owned\x07\x1b[2J\x9b31m"
    write_lines(folder / "gold.jsonl", [{"item": f"village/9{clear}", "rater": "author", "label": "0"}])
    done = _run(tmp_path, "run", "village", "--rater", "rule:length")
    assert done.returncode == 2
    assert "village/9" in done.stderr
    assert not set(done.stdout + done.stderr) & {"\x1b", "\x07", "\x9b"}
    for error in (UserError(f"{clear}: unknown."), Unanswerable(f"the server said {clear}.")):
        assert not set(str(error)) & {"\x1b", "\x07", "\x9b"}


def test_forgetting_a_person_of_a_run_and_a_study_counts_and_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    carry_out(path, RunConfig("starter", raters=["rule:length"], limit=24))
    new_study(path, "pilot", 24, overlap=1, seats=1, source="starter", simulated=True)
    with Store(path) as store:
        simulate_votes(store, "pilot")
        with Studies(store).engine.connect() as connection:
            pages = connection.execute(t.study_pages.select()).all()
    person = pages[0].person
    planned = forget(person, store=path, dry_run=True)
    done = forget(person, store=path)
    assert done.counts == planned.counts
    assert done.counts["study_pages"] == sum(page.person == person for page in pages)
    assert done.counts["run_jobs"] > 0
    with closing(sqlite3.connect(path)) as rows:
        unasked = "SELECT count(*) FROM run_jobs WHERE job NOT IN (SELECT job FROM asks)"
        assert rows.execute(unasked).fetchone() == (0,)


def test_data_check_refuses_repeated_names_and_one_answer_twice(tmp_path: Path) -> None:
    folder = write_benchmark(tmp_path / "village")
    assert check_folder(folder) == []
    people = (folder / "people.jsonl").read_text(encoding="utf-8")
    (folder / "people.jsonl").write_text(people.replace('"Job"', '"Job": "spy", "Job"', 1), encoding="utf-8")
    items = (folder / "items.jsonl").read_text(encoding="utf-8")
    (folder / "items.jsonl").write_text(items.replace('"i0-1"', '"i0-0"', 1), encoding="utf-8")
    found = "\n".join(check_folder(folder))
    assert "people.jsonl, line 1, field 'Job' is there twice in one object; keep one of them.\n" in found
    assert "items.jsonl, line 1, field 'products': 'i0-0' is there twice: " in found


def test_data_check_refuses_repeated_names_in_a_file_of_answers(tmp_path: Path, personafit: Command) -> None:
    row = '{"person": "Likes tea.", "question": "What now?", "answer": "Tea.", "generic": "Rest.", "answer": "Go."}'
    (tmp_path / "answers.jsonl").write_text(row + "\n", encoding="utf-8")
    said = personafit("data", "check", "answers.jsonl", code=1)
    assert "answers.jsonl, line 1, field 'answer' is there twice in one object" in said.out + said.err


def test_a_reply_that_is_quoted_does_not_steer_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(
        BEHAVIOURS, "clearing", saying(lambda body: completion(body, "\x1b]0;owned\x07\x1b[2J"))
    )
    with StubEndpoint("clearing") as stub:
        rater = ("--rater", stub.spec(), "--limit", "2", "--store", "store.db", "--junit", "junit.xml")
        invoke(monkeypatch, tmp_path, "run", "starter", *rater, code=1)
    said = capsys.readouterr()
    assert "a reply that was unparsed: '\ufffd]0;owned" in said.err
    assert not set(said.out + said.err + (tmp_path / "junit.xml").read_text()) & {"\x1b", "\x07"}
