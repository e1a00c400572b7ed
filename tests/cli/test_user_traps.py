"""Traps a new user fell into once: each must stay mended."""

import io
import json
import re
from pathlib import Path

import pytest
from rich.console import Console

import personafit as pf
from personafit import Store
from personafit.benchmarks import starter, write_folder
from personafit.reports.analysis import print_part
from tests.benchmarks.recentering.world import leave_out_embedding
from tests.conftest import Command

RATERS = """
def half(person, question, answers):
    if len(question) % 2:
        raise RuntimeError("no opinion")
    return [len(answer) for answer in answers]
"""


def test_free_controls_do_not_hide_a_judge_that_fails(personafit: Command, tmp_path: Path) -> None:
    (tmp_path / "traps_judges.py").write_text(RATERS)
    done = personafit("run", "starter", "--rater", "python:traps_judges:half", "--limit", "40", code=1)
    assert "coverage of python:traps_judges:half (" in done.err
    assert "below the bar of 95 %" in done.err


def test_a_bar_may_be_set_for_a_rule_and_a_misspelt_one_is_found_at_once(personafit: Command) -> None:
    rule = ("run", "starter", "--rater", "rule:length", "--limit", "60")
    done = personafit(*rule, "--fail-under", "accuracy=0.9", code=1)
    assert re.search(
        r"accuracy of rule:length \(profile\) is 0\.\d{3} \(0\.\d{3} to 0\.\d{3}\), below 0\.9\.", done.err
    )
    done = personafit(*rule, "--fail-under", "lft=0.1", code=2)
    assert "there is no metric 'lft'" in done.err
    assert "rule:length" not in done.err


def test_an_out_folder_stands_for_its_run(personafit: Command) -> None:
    personafit("run", "starter", "--limit", "10", "--store", "other.db", "--out", "results")
    done = personafit("report", "results", "--store", "other.db", "--format", "json")
    assert json.loads(done.out)["benchmark"] == "starter"
    personafit("report", "results", "last", "--store", "other.db", "--out", "x")
    assert Path("x/report.html").is_file()


def test_an_import_overwrites_nothing(personafit: Command, tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text("person,question,chosen,rejected\na,b,c,d\n")
    personafit("data", "import", "pairs.csv")
    done = personafit("data", "import", "pairs.csv", code=2)
    assert "pairs is there already and not empty" in done.err


def test_votes_are_checked_too(personafit: Command, tmp_path: Path) -> None:
    write_folder(tmp_path / "mine", starter())
    good = {"item": next(iter(starter().items())).id, "rater": "ann", "label": "0"}
    lines = [json.dumps(good), json.dumps({**good, "item": "nowhere"}), json.dumps({**good, "mood": "fine"})]
    (tmp_path / "mine" / "votes.jsonl").write_text("\n".join(lines))
    done = personafit("data", "check", "mine", code=1)
    assert "votes.jsonl, line 2, field 'item': 'nowhere' is not in items.jsonl." in done.out
    assert "votes.jsonl, line 3, field 'mood'" in done.out


def test_tables_fit_the_terminal(personafit: Command, tmp_path: Path) -> None:
    personafit("run", "starter", "--limit", "40")
    part = pf.load("last", store=tmp_path / ".personafit" / "store.db").part()
    for width in (90, 100, 150, 200):
        console = Console(width=width, record=True, file=io.StringIO(), force_terminal=True)
        print_part(part, console)
        text = console.export_text()
        assert max(map(len, text.splitlines())) <= width
        assert text.count("wrong:profile") + text.count("wrong:profi") >= 4
        assert all(heading in text for heading in ("specific", "general", "easy", "hard", "total", "lift"))


def test_options_that_would_do_nothing_are_refused(personafit: Command) -> None:
    for option, value in (("--system", "canned"), ("--system-context", "I"), ("--user", "embedded")):
        done = personafit("run", "recentering", "--data", "starter", option, value, code=2)
        assert f"{option} means nothing in `run recentering`" in done.err
    done = personafit("run", "recentering", "--data", "starter", "-K", "tasks=SD", code=2)
    assert "-K tasks=SD: relevance items have no option 'tasks'; they have none of their own." in done.err
    more = ("run", "personalens", "--data", "starter", "--system", "canned")
    assert "there are tasks, history." in personafit(*more, "-K", "turns=3", code=2).err
    assert "-K tasks=XD: there are all, SD, MD." in personafit(*more, "-K", "tasks=XD", code=2).err
    assert "-K tasks: write NAME=VALUE" in personafit(*more, "-K", "tasks", code=2).err
    done = personafit("run", "starter", "--system", "canned", code=2)
    assert "--system means nothing in `run starter`: its answers are there already." in done.err


def test_a_bar_may_be_set_where_only_controls_judge_relevance(
    personafit: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_out_embedding(monkeypatch)
    done = personafit(
        "run", "recentering", "--data", "starter", "--rater", "rule:overlap", "--fail-under", "f1=0.3", code=1,
    )  # fmt: skip
    assert "f1 of rule:overlap (none) is 0.000 (0.000 to 0.265), below 0.3." in done.err
    assert "of rule:always-yes" not in done.err, "it has more than that"


def test_data_commands_know_what_run_knows(personafit: Command, tmp_path: Path) -> None:
    assert {"recentering", "responses"} <= {
        line.split()[0] for line in personafit("data", "list").out.splitlines()
    }
    assert "134 relevance" in personafit("data", "check", "recentering", "--data", "starter").out
    done = personafit("data", "convert", "personalens", "--data", "starter", "--out", "x", code=2)
    assert "has tasks and no items" in done.err
    assert not (tmp_path / "x").exists()


def test_commands_for_choices_refuse_other_runs(
    personafit: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_out_embedding(monkeypatch)
    monkeypatch.chdir(tmp_path)
    pf.evaluate("recentering", data="starter", limit=20, progress=False)
    done = personafit("analyze", "aspects", "last", code=2)
    assert "is a run of relevance items" in done.err
    (tmp_path / "traps_parts.py").write_text(
        'def user(messages):\n    return "Fine. [SATISFIED]" if len(messages) > 3 else "Help. [CONTINUE]"\n'
        'def judge(messages):\n    return "{}"\n'
    )
    personafit(
        "run", "personalens", "--data", "starter", "--system", "canned", "--user", "python:traps_parts:user",
        "--rater", "python:traps_parts:judge", "--limit", "1", code=1,
    )  # fmt: skip
    assert "is a run of dialogue items" in personafit("analyze", "aspects", "last", code=2).err


def test_a_misspelt_benchmark_or_command_is_answered_with_the_nearest(personafit: Command) -> None:
    assert "did you mean answers?" in personafit("run", "answer", code=2).err
    assert "did you mean personafeedback?" in personafit("run", "personafeedbak", code=2).err
    assert "Did you mean 'compare'?" in personafit("compar", code=2).err
    assert "Did you mean 'calibration'?" in personafit("analyze", "calibrate", "last", code=2).err


def test_a_folder_is_run_as_what_its_items_are(personafit: Command) -> None:
    personafit("data", "convert", "responses", "--data", "starter", "--out", "study")
    done = personafit("run", "study", "--kind", "preference", "--rater", "rule:length")
    assert "does using the attributes help?" in done.out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("run", "starter", "--limit", "9" * 30), "--limit takes numbers up to 2,147,483,647."),
        (
            ("label", "new", "pilot", "--from", "starter", "--limit", "9" * 30),
            "--limit takes numbers up to 2,147,483,647.",
        ),
        (("report", "x" * 5000), "cannot be used (File name too long)."),
        (("data", "forget", "\udcff"), "is not UTF-8, so nobody is called that"),
        (
            ("extract", "run", "log.jsonl", "--model", "replay:said.jsonl", "--out", "people"),
            "log.jsonl, line 1",
        ),
    ],
)
def test_absurd_arguments_are_one_sentence_and_leave_no_run(
    personafit: Command, tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    (tmp_path / "log.jsonl").write_bytes(b"\xff\n")
    (tmp_path / "said.jsonl").touch()
    said = personafit(*arguments, code=2).err
    assert sentence in said
    assert len(said.splitlines()) == 1
    with Store(tmp_path / ".personafit" / "store.db") as store:
        assert not store.runs()
