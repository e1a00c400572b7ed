"""Traps a new user fell into once: each must stay mended."""

import json
import re
from pathlib import Path

import pytest
from rich.console import Console

from personafit.benchmarks import starter, write_folder
from personafit.reporting import load_totals, print_run, run_results
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
    assert re.search(r"accuracy of rule:length \(profile\) is 0\.\d{3}, below 0\.9\.", done.stderr)
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
        scores = load_totals(store, store.run("last"))
    console = Console(width=width, record=True, file=(tmp_path / "out.txt").open("w"))
    print_run(console, scores, run_results(scores))
    text = console.export_text()
    assert "…" not in text
    assert text.count("wrong:profile") + text.count("wrong:profi") >= 4
    assert all(heading in text for heading in ("specific", "general", "easy", "hard", "total", "lift"))


def test_options_that_would_do_nothing_are_refused(tmp_path: Path) -> None:
    for option, value in (("--system", "canned"), ("--given", "I"), ("--log", "x.jsonl"), ("--tasks", "SD")):
        done = run_cli("run", "recentering", "--data", "starter", option, value, cwd=tmp_path, code=2)
        assert f"{option} means nothing in `run recentering`" in done.stderr


def test_a_bar_may_be_set_where_only_controls_judge_relevance(tmp_path: Path) -> None:
    done = run_cli(
        "run", "recentering", "--data", "starter", "--rater", "rule:overlap", "--fail-under", "f1=0.3",
        cwd=tmp_path, code=1,
    )  # fmt: skip
    assert "f1 of rule:overlap (none) is 0.000, below 0.3." in done.stderr
    assert "of rule:always-yes" not in done.stderr, "it has more than that"


def test_data_commands_know_what_run_knows(tmp_path: Path) -> None:
    assert {"recentering", "responses"} <= {
        line.split()[0] for line in run_cli("data", "list", cwd=tmp_path).stdout.splitlines()
    }
    assert (
        "134 relevance" in run_cli("data", "check", "recentering", "--data", "starter", cwd=tmp_path).stdout
    )
    done = run_cli("data", "convert", "personalens", "--data", "starter", "--out", "x", cwd=tmp_path, code=2)
    assert "has tasks and no items" in done.stderr
    assert not (tmp_path / "x").exists()


def test_commands_for_choices_refuse_other_runs(tmp_path: Path) -> None:
    run_cli("run", "recentering", "--data", "starter", cwd=tmp_path)
    done = run_cli("power", "last", cwd=tmp_path, code=2)
    assert "is a relevance run" in done.stderr
    (tmp_path / "parts.py").write_text(
        'def user(messages):\n    return "Fine. [SATISFIED]" if len(messages) > 3 else "Help. [CONTINUE]"\n'
        'def judge(messages):\n    return "{}"\n'
    )
    run_cli(
        "run", "personalens", "--data", "starter", "--system", "canned", "--user", "python:parts:user",
        "--judge", "python:parts:judge", "--limit", "1", cwd=tmp_path, code=1, path=tmp_path,
    )  # fmt: skip
    for command in ("power", "agree"):
        assert "is a dialogue run" in run_cli(command, "last", cwd=tmp_path, code=2).stderr


def test_a_folder_without_choices_says_which_run_reads_it(tmp_path: Path) -> None:
    run_cli(
        "data", "forms", "recentering", "--data", "starter", "--stage", "3", "--out", "study", cwd=tmp_path
    )
    done = run_cli("run", "study", "--rater", "rule:length", cwd=tmp_path, code=2)
    assert "study has no choices between answers" in done.stderr
    assert "tags" not in json.loads((tmp_path / "study" / "forms.json").read_text())["instruction"]
