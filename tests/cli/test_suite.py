"""`run SUITE.toml`: shared raters, one table, one page, one exit code; the same command goes on where it was."""

import json
import sqlite3
from pathlib import Path
from xml.etree import ElementTree

import pytest

from personafit import UserError
from personafit.benchmarks.suite import read_suite
from tests.benchmarks import neighbours_world as world
from tests.scripted import invoke
from tests.stub_endpoint import StubEndpoint

SUITE = """
title = "All round"
raters = ["{rater}"]
systems = ["{rater}"]

[[run]]
benchmark = "prefeval"
data = "prefeval"
fail_under = ["accuracy=0.01"]

[[run]]
benchmark = "rewardbench"
data = "rewardbench"
raters = ["rule:length"]

[[run]]
benchmark = "answers.jsonl"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "suites"
    world.prefeval(place / "prefeval")
    world.rewardbench(place / "rewardbench")
    rows = [
        {
            "person": {"id": name, "Diet": diet},
            "question": "What?",
            "answer": f"{diet}.",
            "generic": "A stew.",
        }
        for name, diet in (("a", "tofu"), ("b", "fish"))
    ]
    (place / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return place


def asks(folder: Path) -> int:
    with sqlite3.connect(folder / ".personafit" / "store.db") as database:
        return int(database.execute("SELECT count(*) FROM asks").fetchone()[0])


def test_what_it_would_take_is_one_object_where_that_is_asked_for(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "all.toml").write_text(SUITE.format(rater="rule:length"), encoding="utf-8")
    invoke(monkeypatch, tmp_path, "run", "suites/all.toml", "--dry-run", "--json")
    body = json.loads(capsys.readouterr().out)
    assert (body["suite"], body["runs"]) == ("All round", [])
    assert "asks would be made" in body["plan"]


def test_one_command_gives_the_whole_picture(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with StubEndpoint() as endpoint:
        (folder / "all.toml").write_text(SUITE.format(rater=endpoint.spec()), encoding="utf-8")
        invoke(monkeypatch, tmp_path, "run", "suites/all.toml", "--out", "out", "--undecided", "pass")
        printed = capsys.readouterr().out
        asked = len(endpoint.requests)
        invoke(monkeypatch, tmp_path, "run", "suites/all.toml", "--json", "--fail-under", "lift=0.9", code=1)
        again = capsys.readouterr()
        assert len(endpoint.requests) == asked, "nothing is asked twice"
    assert "All round" in printed
    assert "95 % interval" in printed
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "PrefEval" in page
    assert "RewardBench" in page
    body = json.loads(again.out)
    assert body["suite"] == "All round"
    assert [run["benchmark"] for run in body["runs"]] == ["prefeval", "rewardbench", "answers"]
    by = {run["benchmark"]: run["results"] for run in body["runs"]}
    assert {row["rater"] for row in by["rewardbench"]} == {"rule:length"}
    assert any(row["rater"] == endpoint.spec() for row in by["answers"])
    assert "reaches 0.9" in again.err
    assert json.loads((tmp_path / "out" / "results.json").read_text())["suite"] == "All round"


def test_one_file_for_ci(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    world.lamp_writing(folder / "lamp", ("LaMP_4",))
    text = """
raters = ["rule:name"]
[[run]]
benchmark = "prefeval"
data = "prefeval"
fail_under = ["accuracy=0.2"]
[[run]]
benchmark = "lamp-writing"
data = "lamp"
[[run]]
benchmark = "nowhere.jsonl"
"""
    (folder / "ci.toml").write_text(text, encoding="utf-8")
    options = ("--junit", "ci/junit.xml", "--fail-under", "accuracy=0.9", "--fail-under", "rouge_1=0.5")
    invoke(monkeypatch, tmp_path, "run", "suites/ci.toml", *options, code=2)
    printed = capsys.readouterr()
    assert "lamp-writing-" in printed.out, "a control alone is shown where nobody writes"
    suites = {
        suite.get("name", ""): suite for suite in ElementTree.parse(tmp_path / "ci/junit.xml").getroot()
    }
    assert [name.rpartition("-")[0] or name for name in suites] == ["prefeval", "lamp-writing", "answers"]
    prefeval, writing, answers = suites.values()
    failures = [case.get("message") for case in prefeval.iter("failure")]
    few = "it is 0.250 over 5 people, and at least 6 are needed."
    assert failures == [
        f"cannot tell whether accuracy of rule:name (history) reaches 0.2: {few}",
        f"cannot tell whether accuracy of rule:name (history) reaches 0.9: {few}",
    ]
    assert (writing.get("failures"), writing.get("errors")) == ("1", "0")
    (failure,) = writing.iter("failure")
    assert "over 2 people, and at least 6 are needed" in (failure.get("message") or "")
    (error,) = answers.iter("error")
    assert "nowhere.jsonl" in str(error.get("message"))


def test_versions_of_one_benchmark_are_told_apart(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    world.rewardbench2(folder / "second")
    text = """
title = "Both [/x]"
raters = ["rule:name"]
[[run]]
benchmark = "rewardbench"
data = "rewardbench"
[[run]]
benchmark = "rewardbench"
data = "second"
[[run]]
benchmark = "prefeval"
data = "prefeval"
[[run]]
benchmark = "rewardbench"
data = "second"
raters = ["rule:overlap"]
"""
    (folder / "both.toml").write_text(text, encoding="utf-8")
    monkeypatch.setenv("COLUMNS", "200")
    invoke(monkeypatch, tmp_path, "run", "suites/both.toml", "--out", "out")
    body = json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))
    first, *_ = runs = body["runs"]
    assert [run["benchmark"] for run in runs] == ["rewardbench", "rewardbench", "prefeval", "rewardbench"]
    printed = capsys.readouterr().out.splitlines()
    assert any(line.startswith("Both [/x].") for line in printed), "a title is text, not markup"
    cells = [line.split("│")[2].strip() for line in printed if line.startswith("│")]
    assert list(dict.fromkeys(cells)) == [run["run"] for run in runs]
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    titles = ("RewardBench: is the better", f"run {first['run']}", "RewardBench 2: is the one right answer")
    assert all(title in page for title in titles)


def test_what_is_shared_and_what_is_not(folder: Path) -> None:
    path = folder / "all.toml"
    path.write_text(SUITE.format(rater="openai:x"), encoding="utf-8")
    suite = read_suite(path)
    first, second, third = suite.runs
    assert (first.arguments["raters"], first.arguments["systems"]) == (["openai:x"], [])
    assert first.bars == ["accuracy=0.01"]
    assert second.arguments["raters"] == ["rule:length"]
    assert third.arguments["systems"] == [], "answers of a log need no system"
    assert first.arguments["data"] == folder / "prefeval"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("title = 1", "field 'title'"),
        ("run = []", "field 'run'"),
        ('[[run]]\nbenchmark = "starter"\ncolour = "red"', "field 'run.0.colour'"),
        ("[[run]", "is not TOML"),
    ],
)
def test_a_wrong_suite_is_one_sentence(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(text, encoding="utf-8")
    with pytest.raises(UserError) as caught:
        read_suite(tmp_path / "s.toml")
    assert said in str(caught.value)


def test_what_cannot_be_run_is_said_before_anything_is(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = SUITE.format(rater="rule:name") + '\n[[run]]\nbenchmark = "lamp"\ndata = "nowhere"\n'
    (folder / "all.toml").write_text(text, encoding="utf-8")
    invoke(monkeypatch, tmp_path, "run", "suites/all.toml", code=2)
    assert "--data nowhere: there is no such folder" in capsys.readouterr().err
    assert not (tmp_path / ".personafit" / "store.db").exists() or asks(tmp_path) == 0
    invoke(monkeypatch, tmp_path, "run", "suites/all.toml", "--rater", "rule:length", code=2)
    assert "already says what is evaluated" in capsys.readouterr().err
