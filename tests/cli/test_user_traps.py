"""Traps a new user fell into once: each must stay mended."""

import json
from pathlib import Path

import pytest
from rich.console import Console

from personafit.benchmarks import starter, write_folder
from personafit.reporting import load_scores, print_run, run_results
from personafit.store import Store
from tests.helpers import run_cli

RATERS = """
def half(person, question, answers):
    if len(question) % 2:
        raise RuntimeError("no opinion")
    return [len(answer) for answer in answers]
"""


def test_free_controls_do_not_hide_a_judge_that_fails(tmp_path: Path) -> None:
    (tmp_path / "judges.py").write_text(RATERS)
    done = run_cli("run", "starter", "--rater", "python:judges:half", cwd=tmp_path, code=1, path=tmp_path)
    assert "coverage of python:judges:half (" in done.stderr
    assert "below the bar of 95 %" in done.stderr


def test_a_bar_may_be_set_for_a_rule_and_a_misspelt_one_is_found_at_once(tmp_path: Path) -> None:
    done = run_cli(
        "run", "starter", "--rater", "rule:length", "--fail-under", "accuracy=0.9", cwd=tmp_path, code=1
    )
    assert "accuracy of rule:length (profile) is 0.488, below 0.9." in done.stderr
    done = run_cli(
        "run", "starter", "--rater", "rule:length", "--fail-under", "lft=0.1", cwd=tmp_path, code=2
    )
    assert "there is no metric 'lft'" in done.stderr
    assert "rule:length" not in done.stderr


def test_an_out_folder_stands_for_its_run(tmp_path: Path) -> None:
    run_cli("run", "starter", "--limit", "10", "--store", "other.db", "--out", "results", cwd=tmp_path)
    done = run_cli("report", "results", "--store", "other.db", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["benchmark"] == "starter"
    done = run_cli("report", "results", "last", "--store", "other.db", "--out", "x", cwd=tmp_path, code=2)
    assert "takes one run" in done.stderr


def test_an_import_overwrites_nothing(tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text("person,question,chosen,rejected\na,b,c,d\n")
    (tmp_path / "same.csv").write_text("person,question,chosen,rejected\na,b,c,c\n")
    run_cli("data", "import", "pairs.csv", cwd=tmp_path)
    done = run_cli("data", "import", "pairs.csv", cwd=tmp_path, code=2)
    assert "pairs is there already and not empty" in done.stderr
    done = run_cli("data", "import", "same.csv", cwd=tmp_path)
    assert "1 lines have one text as both answers and can only tie, the first at line 2." in done.stdout


def test_votes_are_checked_too(tmp_path: Path) -> None:
    write_folder(tmp_path / "mine", starter())
    good = {"item": next(iter(starter().items())).id, "rater": "ann", "label": "0"}
    lines = [json.dumps(good), json.dumps({**good, "item": "nowhere"}), json.dumps({**good, "mood": "fine"})]
    (tmp_path / "mine" / "votes.jsonl").write_text("\n".join(lines))
    done = run_cli("data", "check", "mine", cwd=tmp_path, code=1)
    assert "votes.jsonl, line 2, field 'item': 'nowhere' is not in items.jsonl." in done.stdout
    assert "votes.jsonl, line 3, field 'mood'" in done.stdout


@pytest.mark.parametrize("width", [90, 100, 150, 200])
def test_tables_fit_the_terminal(tmp_path: Path, width: int) -> None:
    run_cli("run", "starter", "--limit", "40", cwd=tmp_path)
    with Store(tmp_path / ".personafit" / "store.db") as store:
        scores = load_scores(store, store.run("last"))
    console = Console(width=width, record=True, file=(tmp_path / "out.txt").open("w"))
    print_run(console, scores, run_results(scores))
    text = console.export_text()
    assert "…" not in text
    assert text.count("wrong:profile") + text.count("wrong:profi") >= 4
    assert all(heading in text for heading in ("specific", "general", "easy", "hard", "total", "lift"))
