"""Forgetting a person in folders that were written out: not a byte of them stays, nobody else goes, and they stay away."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from personafit.extract.records import PromptAnswer, StageFile, read_lines
from tests.conftest import Command
from tests.extract.conftest import Stages
from tests.extract.world import chat
from tests.faults.world import write_benchmark
from tests.reports.test_extraction import MODELS, stages_folder
from tests.scripted import invoke, write_lines
from tests.stub_endpoint import StubEndpoint

CANARIES = ("zanzibar", "walrus")


def bytes_with(folder: Path, *traces: str) -> list[str]:
    """Files of a folder that hold any of the traces, in content or name."""
    return [
        path.name
        for path in folder.rglob("*")
        if path.is_file()
        for trace in traces
        if trace.encode() in path.read_bytes() or trace in path.name
    ]


@pytest.fixture
def made(tmp_path: Path, stages: Stages) -> tuple[Path, tuple[str, ...]]:
    """A folder of stages with everything in it, and how it was made; p1 is full of canaries."""
    write_benchmark(tmp_path / "village")
    rows = [
        chat("p1-zanzibar", "p1", "I live in zanzibar and take the bus.", "I always feed a walrus."),
        chat("c2", "p2", "I have a dog called Rex.", "I like soup."),
    ]
    write_lines(tmp_path / "log.jsonl", rows)
    asked = [{"id": "q", "prompt": "What now?"}, {"id": "own", "prompt": "In zanzibar?", "person": "p1"}]
    write_lines(tmp_path / "prompts.jsonl", asked)
    more = ("--prompts", "prompts.jsonl", "--benchmark", "village")
    stages(*more)
    assert len(bytes_with(tmp_path / "out", *CANARIES)) > 6
    return tmp_path / "out", more


def test_a_folder_of_stages_forgets_with_the_store(
    tmp_path: Path,
    made: tuple[Path, tuple[str, ...]],
    stages: Stages,
    endpoint: StubEndpoint,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out, more = made
    (out / ".work").mkdir()
    (out / ".work" / "read.jsonl").write_text("a killed run read of zanzibar", encoding="utf-8")
    (out / "pages").mkdir()  # as an earlier edition wrote them
    (out / "pages" / "p1.html").write_text("zanzibar", encoding="utf-8")
    before = bytes_with(out, *CANARIES)
    invoke(monkeypatch, tmp_path, "data", "forget", "p1", "--in", "out", "--dry-run")
    assert "would remove 2 attributes" in capsys.readouterr().out
    assert bytes_with(out, *CANARIES) == before
    others = [row for row in StageFile(out).read_attributes() if row.person == "p2"]
    invoke(monkeypatch, tmp_path, "data", "forget", "p1", "--in", "out")
    assert "of p1 from out." in capsys.readouterr().out
    assert bytes_with(out, *CANARIES, '"p1"', "p1.html", ">p1<") == []
    assert bytes_with(tmp_path / ".personafit", *CANARIES) == []
    assert list(StageFile(out).read_attributes()) == others
    assert {one.person for one in read_lines(StageFile(out).answers, PromptAnswer)} == {"p2"}
    assert not (out / "pages").exists()
    invoke(monkeypatch, tmp_path, "data", "forget", "p1", "--in", "out")
    assert "nothing has come back since" in capsys.readouterr().out, "a second time is no fault"
    endpoint.requests.clear()
    stages(*more)
    assert endpoint.requests == [], "the others' asks are still there, and the person is not asked about"
    assert bytes_with(out, *CANARIES) == []


def test_who_is_in_a_folder_only_gets_a_tombstone_all_the_same(
    tmp_path: Path,
    made: tuple[Path, tuple[str, ...]],
    stages: Stages,
    endpoint: StubEndpoint,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out, more = made
    invoke(monkeypatch, tmp_path, "data", "forget", "p1", "--in", "out", "--store", "other.db")
    assert "Removed nothing of p1 from" in capsys.readouterr().out
    stages(*more, "--store", "other.db")
    assert bytes_with(out, *CANARIES) == []
    invoke(monkeypatch, tmp_path, "data", "forget", "nobody", "--in", "out", "--store", "other.db", code=2)
    assert "Nobody is called 'nobody' in other.db or out" in capsys.readouterr().err


def test_a_folder_that_cannot_be_read_is_left_whole(
    tmp_path: Path,
    made: tuple[Path, tuple[str, ...]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out, _ = made
    invoke(monkeypatch, tmp_path, "data", "forget", "p1", "--in", "village/nowhere", code=2)
    assert "village/nowhere holds nothing that `extract run`" in capsys.readouterr().err
    with (out / "verdicts.jsonl").open("a", encoding="utf-8") as file:
        file.write("torn\n")
    before = bytes_with(out, *CANARIES)
    invoke(monkeypatch, tmp_path, "data", "forget", "p1", "--in", "out", code=2)
    assert "verdicts.jsonl, line 9 is not JSON" in capsys.readouterr().err
    assert bytes_with(out, *CANARIES) == before
    assert bytes_with(tmp_path / ".personafit", *CANARIES) != []


def test_a_flow_forgets_in_its_own_store_and_leaves_the_person_out(
    personafit: Command, tmp_path: Path
) -> None:
    stages_folder(tmp_path / "run")
    (tmp_path / "own.py").write_text(MODELS, encoding="utf-8")
    command = "extract flow run --data starter --matcher python:own:match --out f".split()
    command += ["--model", "python:own:answer", "--rater", "rule:mention", "--json"]
    personafit(*command)

    def rows_of(query: str) -> list[tuple[str, ...]]:
        with closing(sqlite3.connect(tmp_path / "f" / "flow.db")) as database:
            return database.execute(query).fetchall()

    rows = [json.loads(line) for line in (tmp_path / "run" / "attributes.jsonl").read_text().splitlines()]
    person = rows[0]["person"]
    traces = [f"@{person}", f'"{person}"', rows[0]["text"]]
    assert bytes_with(tmp_path / "f", *traces)
    theirs = {item for item, whose in rows_of("SELECT id, person FROM items") if whose == person}
    asks = {item for (item,) in rows_of("SELECT item FROM asks")}
    assert any(item.startswith("flow/") for item in theirs & asks), "judged responses are known to be theirs"
    personafit("data", "forget", person, "--in", "f")
    assert bytes_with(tmp_path / "f", *traces) == []
    assert {item for (item,) in rows_of("SELECT item FROM asks")} == asks - theirs
    asked = (tmp_path / "asked.txt").read_text()
    personafit(*command)
    assert (tmp_path / "asked.txt").read_text() == asked
    assert bytes_with(tmp_path / "f", *traces) == []
