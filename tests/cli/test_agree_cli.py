"""`agree`, `analyze power` and `compare` as commands: tables for people, one object for machines, sentences for faults."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from personafit import Store, UserError
from personafit.api import reading
from personafit.benchmarks import FolderBenchmark, ImportedPairs, RunConfig, write_folder
from personafit.cli.app import app
from personafit.kinds import run_lines
from personafit.kinds.lines import RunLines
from personafit.store import RunRecord
from tests.scripted import run, simple_pairs, write_lines, write_pairs

JUDGES = """
import zlib

def _noise(name, text):
    return zlib.crc32((name + text).encode()) % 100

def one(person, question, answers):
    return [len(a) + _noise("one", a) for a in answers]

def two(person, question, answers):
    return [len(a) + _noise("two", a) for a in answers]

def three(person, question, answers):
    return [len(a) + _noise("three", a) for a in answers]
"""


def call(*arguments: str) -> str:
    """What a command prints; a UserError comes through, as `main` would catch it."""
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with three people's votes, and a run on it by each of three judges, and one by all."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    module = f"judges_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{module}.py").write_text(JUDGES, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    write_folder(tmp_path / "mine", ImportedPairs(write_pairs(tmp_path / "mine.csv", simple_pairs(8, 4))))
    rows = [
        {
            "item": gold.item,
            "rater": name,
            "label": gold.label if (n + k) % 5 else str(1 - int(gold.label or 0)),
        }
        for k, name in enumerate(("ann", "ben", "cy"))
        for n, gold in enumerate(FolderBenchmark(tmp_path / "mine").gold())
    ]
    write_lines(tmp_path / "mine" / "votes.jsonl", rows)
    specs = [f"python:{module}:{name}" for name in ("one", "two", "three")]
    with Store(".personafit/store.db") as store:
        for raters in ([specs[0]], [specs[1]], [specs[2]], specs):
            run(store, RunConfig("mine", raters=raters))
    return tmp_path


def runs(folder: Path) -> list[str]:
    """The names of the runs, the first made first."""
    with Store(folder / ".personafit" / "store.db") as store:
        return [record.name for record in reversed(store.runs())]


def test_a_folder_sets_people_beside_judges(world: Path) -> None:
    body: dict[str, Any] = json.loads(call("agree", "mine", "--json"))
    kinds = {row["rater"]: row["kind"] for row in body["raters"]}
    assert sorted(kinds.values()) == [
        "gold",
        "human",
        "human",
        "human",
        *["python"] * 3,
        "rule",
        "rule",
    ]
    blocks = {(r["first"], r["second"]) for r in body["results"] if r["part"] == "block"}
    assert {("human", "human"), ("human", "python"), ("python", "python")} <= blocks
    assert all(r["value"] is not None or r["note"] for r in body["results"])
    printed = call("agree", "mine")
    for text in ("the human ceiling", "“By kind of rater”"):
        assert text in printed
    assert len(printed.splitlines()) < 50, "the answer and one table; the page has the rest"
    assert "People agree with each other at a mean kappa of" in printed


def test_a_run_shows_its_raters_and_gold(world: Path) -> None:
    printed = call("agree", "last")
    assert "author" in printed
    assert "There is no human rater, so there is no human ceiling" in printed
    body = json.loads(call("agree", "last", "--json"))
    assert {r["part"] for r in body["results"]} == {"together", "pair", "block", "reliability"}


def test_undefined_figures_stand_with_their_reason(world: Path) -> None:
    votes = [
        {"item": gold.item, "rater": name, "label": "0"}
        for name in ("ann", "ben")
        for gold in FolderBenchmark(world / "mine").gold()
    ]
    write_lines(world / "mine" / "votes.jsonl", votes)
    (world / "mine" / "gold.jsonl").write_text("")
    printed = call("agree", "mine", "--store", "elsewhere.db")
    assert "– [1]" in printed
    assert "[1] undefined: every rating is the same label" in printed
    assert not (world / "elsewhere.db").exists(), "reading votes makes no store"


def test_faults_are_sentences(world: Path) -> None:
    with pytest.raises(UserError, match="There is no run 'nowhere'"):
        call("agree", "nowhere")
    (world / "mine" / "votes.jsonl").unlink()
    with pytest.raises(UserError, match=r"has no votes \(votes\.jsonl\)"):
        call("agree", "mine", "--store", "elsewhere.db")


def test_power_in_words_and_as_an_object(world: Path) -> None:
    printed = call("analyze", "power", "last", "--people", "50", "--items", "10", "--difference", "0.05")
    assert re.search(r"50 people with 10 items each on \d+ prompts (detect|cannot detect)", printed)
    assert "A difference of 5.0 points takes" in printed
    body = json.loads(call("analyze", "power", "last", "--people", "50", "--json"))
    assert len(body["plans"]) == 6, "three judges against their controls and against each other"
    assert all(plan["people"] == 50 and plan["items"] == 4 for plan in body["plans"])


def test_compare_many_runs(world: Path) -> None:
    names = runs(world)[:3]
    printed = call("compare", *names)
    assert printed.count("over 2 comparisons") == 2
    assert "Bradley–Terry strength in log-odds" in printed
    assert printed.count("The ranking counts who did better on each item") == 1
    assert "The ranking counts" not in call("compare", *names[:2])
    body = json.loads(call("compare", *names, "--json"))
    assert [row["runs"] for row in body["comparisons"]] == [[names[0], names[1]], [names[0], names[2]]]
    for row in body["comparisons"]:
        assert {"p", "p_holm", "distinguishable", "words"} <= set(row)
    assert body["notes"] == []
    (ranking,) = body["rankings"]
    assert [row["rank"] for row in ranking["contestants"]] == [1, 2, 3]


def test_compare_repeats_that_a_rater_was_fitted_on_these_people(
    world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted = "fitted:zh was fitted on 86 of the people here: its score on them is no evidence."

    def noted(store: Store, run: RunRecord) -> RunLines:
        opened = run_lines(store, run)
        return replace(opened, run=run._replace(config=run.config | {"notes": ["other", fitted]}))

    monkeypatch.setattr(reading, "run_lines", noted)
    names = runs(world)[:2]
    assert call("compare", *names).splitlines()[-1] == fitted
    assert json.loads(call("compare", *names, "--json"))["notes"] == [fitted]


def test_a_difference_of_three_is_refused_in_a_sentence(world: Path) -> None:
    with pytest.raises(UserError, match="--difference must be above 0 and below 1"):
        call("analyze", "power", "last", "--difference", "3")
