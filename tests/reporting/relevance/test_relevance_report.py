import base64
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from personafit.benchmarks.config import RunConfig
from personafit.kinds.rescore import rescore
from personafit.reporting.assertions import totals
from personafit.reporting.relevance.results import relevance_results
from personafit.reporting.relevance.run_report import RelevanceReport
from personafit.reporting.relevance.words import explain_relevance
from personafit.reporting.run_report import open_report
from personafit.store import Store
from tests.benchmarks.recentering.world import Row, row, rows, write_module, write_world
from tests.scripted import invoke, run

MODULE = "relevance_report_world"
PAIRS = f"pair:python:{MODULE}:both"
LISTS = f"list:python:{MODULE}:both"
GRADES = f"graded:python:{MODULE}:grades"
HOSTILE = "</script><script>alert('tea')</script>"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.syspath_prepend(str(tmp_path))
    write_module(tmp_path, MODULE)
    with Store(tmp_path / "store.db") as opened:
        yield opened


def judged(
    store: Store, tmp_path: Path, *raters: str, lines: list[Row] | None = None, **more: object
) -> None:
    data = write_world(tmp_path / "data", rows() if lines is None else lines)
    config = RunConfig(benchmark="recentering", data=data, raters=list(raters), **more)  # type: ignore[arg-type]
    run(store, config)


def printed(store: Store) -> str:
    from contextlib import redirect_stdout
    from io import StringIO

    text = StringIO()
    with redirect_stdout(text):
        open_report(store, store.run("last")).print(Console(file=text, width=150, color_system=None))
    return text.getvalue()


def test_a_list_that_picks_less_is_said_to(store: Store, tmp_path: Path) -> None:
    judged(store, tmp_path, PAIRS, LISTS, views=["none"], lines=rows(users=12, prompts=6))
    text = printed(store)
    assert f"{PAIRS} picks 2.0 times as many attributes as people do" in text
    assert (
        f"Asked for a list, {PAIRS.removeprefix('pair:')} over-selects less: it picks 1.00 times as many as people"
        in text
    )
    assert "pair by pair 2.00 times" in text


def test_a_list_that_picks_the_same_is_not(store: Store, tmp_path: Path) -> None:
    lists, pairs = f"list:python:{MODULE}:lists", f"python:{MODULE}:tea"
    judged(store, tmp_path, pairs, lists, views=["none"])
    assert "over-selects less" not in printed(store)


def test_a_rater_that_needs_no_prompt_is_found_out(store: Store, tmp_path: Path) -> None:
    judged(store, tmp_path, PAIRS)
    assert f"{PAIRS}: the same F1 with and without the prompt" in printed(store)


def test_a_rater_that_met_its_own_prompts_is_not_said_to_beat_a_control(store: Store, tmp_path: Path) -> None:
    judged(store, tmp_path, LISTS, views=["none"], lines=rows(users=12, prompts=6))
    report = open_report(store, store.run("last"))
    assert isinstance(report, RelevanceReport)
    assert any("control" in one for one in explain_relevance(report.scores, report.results))
    note = f"{LISTS} was fitted on 6 of the 6 prompts here: its score on them is no evidence."
    config = {**report.scores.run.config, "notes": [note]}
    fitted = replace(report.scores, run=report.scores.run._replace(config=config))
    assert not any("control" in one for one in explain_relevance(fitted, report.results))
    assert {r.rater for r in relevance_results(fitted) if r.met_people} == {LISTS}
    assert not any(r.met_people for r in report.results)


def test_published_rows_stand_in_table_and_results_and_are_marked(store: Store, tmp_path: Path) -> None:
    judged(store, tmp_path, PAIRS, views=["none"])
    report = open_report(store, store.run("last"))
    quoted = {(r.rater, r.metric): r for r in report.results if r.control == "published"}
    assert quoted["GPT-5.4", "f1"].value == pytest.approx(0.474)
    assert quoted["GPT-5.4", "f1"].note == (
        "published, not measured here: Re-Centering Humans, arXiv 2606.06614, Table 3"
    )
    assert "GPT-5.4" in printed(store)
    assert "mixes test sets" in printed(store)
    assert [r.rater for r in totals(report.results, "f1")] == [
        PAIRS
    ]  # no bar is held against what others published


def test_differences_are_records_of_their_own(store: Store, tmp_path: Path) -> None:
    judged(store, tmp_path, PAIRS, LISTS, views=["none"])
    results = open_report(store, store.run("last")).results
    found = {r.slice["against"]: r.value for r in results if r.rater == PAIRS and r.metric == "f1_difference"}
    assert found[LISTS] == pytest.approx(2 / 3 - 1)
    assert "rule:always-yes" in found
    assert "gpt-5.4" in found


def test_slices_by_hedging_list_and_prompt(store: Store, tmp_path: Path) -> None:
    judged(
        store, tmp_path, LISTS, views=["none"], lines=[*rows(), *(row(9, 0, f"tea {n}") for n in range(25))]
    )
    results = open_report(store, store.run("last")).results
    mine = [r for r in results if r.rater == LISTS and r.metric == "recall"]
    assert {r.slice["hedged"] for r in mine if "hedged" in r.slice} == {"hedged", "plain"}
    assert {r.slice["list"] for r in mine if "list" in r.slice} == {"up to 20", "21 to 30"}
    assert {r.slice["prompt"] for r in mine if "prompt" in r.slice} == {"0", "1", "2", "3"}


def test_grades_are_counted_and_held_against_people(store: Store, tmp_path: Path) -> None:
    judged(store, tmp_path, GRADES, views=["none"])
    found = {
        (r.metric, r.slice["grade"]): r.value
        for r in open_report(store, store.run("last")).results
        if "grade" in r.slice
    }
    assert found["grade_share", "must"] == pytest.approx(0.2)
    assert found["relevant_share", "must"] == 1.0
    assert found["relevant_share", "may"] == 0.0
    assert found["grade_share", "avoid"] == pytest.approx(0.2)


def test_the_page_is_whole_inert_and_runs_one_script(store: Store, tmp_path: Path) -> None:
    lines = [*rows(), row(0, 0, HOSTILE, reason=HOSTILE), row(0, 0, "")]
    judged(store, tmp_path, PAIRS, LISTS, GRADES, f"list:python:{MODULE}:mumbling", lines=lines)
    page = tmp_path / "report.html"
    open_report(store, store.run("last")).write_html(page)
    text = page.read_text(encoding="utf-8")
    assert HOSTILE not in text
    scripts = re.findall(r"<script>(.*?)</script>", text, re.S)
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert len(scripts) == 1
    assert f"script-src &#39;sha256-{digest}&#39;" in text
    assert not re.search(r'(?:src|href)="(?!#)', text)
    data = json.loads(re.findall(r'id="browser-data">(.*?)</script>', text, re.S)[0])
    assert data["pairs"] == 82
    assert HOSTILE in data["texts"]
    said = {pair["id"]: pair["said"] for one in data["lists"] for pair in one["pairs"]}
    assert said["recentering/u00/0/6"][0] == [None, None, "skipped"]
    mumbled = next(n for n, line in enumerate(data["lines"]) if "mumbling" in line["name"])
    assert said["recentering/u00/0/0"][mumbled] == [None, None, "unparsed"]
    assert any("who knows" in str(ask) for one in data["lists"] for ask in one["replies"])


def test_an_unfinished_run_says_so(store: Store, tmp_path: Path) -> None:
    judged(store, tmp_path, "rule:overlap")
    store.begin_run(store.run("last").name, store.run("last").dataset, store.run("last").config, 1)
    page = tmp_path / "report.html"
    open_report(store, store.run("last")).write_html(page)
    assert "This run is not finished" in page.read_text(encoding="utf-8")


def test_lists_are_read_again(store: Store, tmp_path: Path) -> None:
    judged(store, tmp_path, LISTS)
    read, changed = rescore(store, store.run("last"))
    assert read > 0
    assert changed == 0


def test_the_command_prints_json_and_holds_a_bar(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    write_module(tmp_path, "relevance_cli_world")
    write_world(tmp_path / "data", rows())
    command = ["run", "recentering", "--data", "data", "--rater", "list:python:relevance_cli_world:lists"]
    invoke(monkeypatch, tmp_path, *command, "--json", "--fail-under", "f1=0.3")
    body = json.loads(capfd.readouterr().out)
    assert body["benchmark"] == "recentering"
    f1 = [r for r in body["results"] if r["metric"] == "f1" and not r["slice"] and r["control"] is None]
    assert [r["value"] for r in f1] == [1.0]
    invoke(monkeypatch, tmp_path, *command, "--fail-under", "precision=1.1", code=1)
    assert "precision of list:" in capfd.readouterr().err
    invoke(monkeypatch, tmp_path, "run", "recentering", code=2)
    assert "needs --data FOLDER" in capfd.readouterr().err
