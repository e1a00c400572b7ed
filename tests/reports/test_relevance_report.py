"""The numbers, sentences, tables and page of a relevance run."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from personafit import Store
from personafit.benchmarks import RunConfig
from personafit.reports.gate import totals
from personafit.reports.pieces import Grid
from personafit.reports.relevance import RelevanceReport
from personafit.reports.report_page import write_page
from personafit.reports.run_report import open_report
from personafit.reports.verdict import run_verdict
from tests.benchmarks.recentering.world import (
    Row,
    leave_out_embedding,
    row,
    rows,
    write_module,
    write_world,
)
from tests.reports.test_report_page import browser  # noqa: F401
from tests.reports.unpacking import browser_blocks
from tests.scripted import run

MODULE = "relevance_report_world"
PAIRS = f"pair:python:{MODULE}:both"
LISTS = f"list:python:{MODULE}:both"
GRADES = f"graded:python:{MODULE}:grades"
HOSTILE = '</script><img src=x onerror="window.__broken = 1"> tea'


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, Path]]:
    """A run of every way of asking, with and without the prompt, over twelve people and a list of 25; nothing writes to it."""
    folder = tmp_path_factory.mktemp("relevance")
    write_module(folder, MODULE)
    lines = [*rows(users=12, prompts=6), *(row(9, 0, f"The user has hat {n}.") for n in range(25))]
    with pytest.MonkeyPatch.context() as patch, Store(folder / "store.db") as store:
        patch.syspath_prepend(str(folder))
        leave_out_embedding(patch)
        judged(store, folder, PAIRS, LISTS, GRADES, lines=lines)
        yield store, folder


@pytest.fixture(scope="module")
def report(world: tuple[Store, Path]) -> RelevanceReport:
    return reported(world[0])


def judged(
    store: Store, tmp_path: Path, *raters: str, lines: list[Row] | None = None, **more: object
) -> None:
    data = write_world(tmp_path / "data", rows() if lines is None else lines)
    config = RunConfig(benchmark="recentering", data=data, raters=list(raters), **more)  # type: ignore[arg-type]
    run(store, config)


def reported(store: Store) -> RelevanceReport:
    report = open_report(store, store.run("last"))
    assert isinstance(report, RelevanceReport)
    return report


def test_what_is_claimed_of_raters(report: RelevanceReport) -> None:
    said = report.sentences()
    (over,) = [one for one in said if one.startswith(f"{PAIRS} picks")]
    assert "picks 2.0 times as many attributes as people do: it over-selects" in over
    assert any(one.startswith(f"{PAIRS}: the same F1 with and without the prompt") for one in said)
    assert any("control" in one for one in said)


def test_a_rater_that_met_its_own_prompts_is_not_said_to_beat_a_control(
    world: tuple[Store, Path], report: RelevanceReport
) -> None:
    store = world[0]
    assert not any(r.met_people for r in report.results)
    note = f"{LISTS} was fitted on 6 of the 6 prompts here: its score on them is no evidence."
    last = store.run("last")
    fitted = RelevanceReport(store, last._replace(config={**last.config, "notes": [note]}))
    assert any("control" in one for one in report.sentences() if one.startswith(LISTS))
    assert not any("control" in one for one in fitted.sentences() if one.startswith(LISTS))
    assert {r.rater for r in fitted.results if r.met_people} == {LISTS}


def test_published_rows_stand_in_table_and_results_and_are_marked(report: RelevanceReport) -> None:
    quoted = {(r.rater, r.metric): r for r in report.results if r.control == "published"}
    assert quoted["GPT-5.4", "f1"].value == pytest.approx(0.474)
    assert quoted["GPT-5.4", "f1"].note == (
        "published, not measured here: Re-Centering Humans, arXiv 2606.06614, Table 3"
    )
    (scores,) = next(section.pieces for section in report.part().sections if section.title == "All scores")
    assert isinstance(scores, Grid)
    (row,) = [row for row in scores.rows if row.names[0] == "GPT-5.4"]
    assert row.source == "Re-Centering Humans, arXiv 2606.06614, Table 3"
    assert row.cells[0].text == "47.4"
    assert "mixes test sets" in scores.note
    barred = {r.rater for r in totals(report.results, "f1")}
    assert barred == {PAIRS, LISTS, GRADES}, "no bar is held against what others published"


def test_differences_are_records_of_their_own(report: RelevanceReport) -> None:
    results = report.results
    found = {r.slice["against"]: r.value for r in results if r.rater == PAIRS and r.metric == "f1_difference"}
    assert found[LISTS] == pytest.approx(2 / 3 - 1)
    assert "rule:always-yes" in found
    assert "gpt-5.4" in found


def test_slices_by_hedging_list_and_prompt(report: RelevanceReport) -> None:
    mine = [r for r in report.results if r.rater == LISTS and r.metric == "recall"]
    assert {r.slice["hedged"] for r in mine if "hedged" in r.slice} == {"hedged", "plain"}
    assert {r.slice["list"] for r in mine if "list" in r.slice} == {"up to 20", "21 to 30"}
    assert {r.slice["prompt"] for r in mine if "prompt" in r.slice} == {str(n) for n in range(6)}


def test_grades_are_counted_and_held_against_people(report: RelevanceReport) -> None:
    found = {
        (r.metric, r.slice["grade"]): r.value
        for r in report.results
        if "grade" in r.slice and r.context == "none"
    }
    pairs = 12 * 2 * 5 + 25
    assert found["grade_share", "must"] == pytest.approx(12 * 2 / pairs)
    assert found["relevant_share", "must"] == 1.0
    assert found["relevant_share", "may"] == 0.0
    assert found["grade_share", "avoid"] == pytest.approx((12 * 2 + 25) / pairs)


def test_votes_in_the_data_are_no_control_that_was_run(report: RelevanceReport) -> None:
    results = [r for r in report.results if r.rater not in (PAIRS, LISTS, GRADES)]
    scores = {r.rater: r.value or 0 for r in results if r.metric == "f1" and not r.slice}
    assert scores["gpt-5.4"] > max(scores["rule:always-yes"], scores["rule:bm25"])
    assert "(published votes)" not in run_verdict("run", "relevance", results).sentence


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with hostile texts, an empty attribute, and a rater that could not be read; made before any browser opens."""
    folder = tmp_path_factory.mktemp("page")
    module = write_module(folder, "relevance_page_world")
    lines = [*rows(), row(0, 0, HOSTILE, reason=HOSTILE), row(0, 0, "")]
    raters = [f"pair:python:{module}:both", f"list:python:{module}:both", f"list:python:{module}:mumbling"]
    with pytest.MonkeyPatch.context() as patch, Store(folder / "store.db") as store:
        patch.syspath_prepend(str(folder))
        leave_out_embedding(patch)
        judged(store, folder, *raters, lines=lines, contexts=["none"])
        with sqlite3.connect(folder / "store.db") as database:
            database.execute(
                "update asks set reply = 'She spoke of QUINCES.' where id = "
                "(select min(asks.id) from asks join raters on rater = fingerprint where name = ?)",
                (raters[0],),
            )
        write_page([reported(store).part()], folder / "report.html")
    return folder / "report.html"


def test_every_list_is_in_the_page_as_inert_data(page: Path) -> None:
    assert HOSTILE not in page.read_text(encoding="utf-8")
    blocks = browser_blocks(page)
    (index,) = blocks["index"]
    assert len(index["id"]) == 16
    first = index["id"].index("u00, 7 attributes, 2 relevant")
    said = {blocks["texts"][text]: cells for text, _, cells in blocks["marks"][first]}
    assert [cell[:2] for cell in said[HOSTILE][:3]] == [["yes", False]] * 3
    assert [cell[0] for cell in said["(empty)"]][1:4] == ["(skipped)"] * 3
    assert [cell[:2] for cell in said["The user may have dog number 0."][:2]] == [
        ["no", False],
        ["yes", True],
    ]
    assert said[HOSTILE][3][0] == "(unparsed)"
    replies = [reply for asks in blocks["asks"] for reply in asks["reply"]]
    assert "who knows" in replies
    assert "She spoke of QUINCES." in replies


def test_lists_can_be_found_and_nothing_breaks_out(page: Path, browser: Any) -> None:  # noqa: F811
    """The last test: the browser's driver keeps an event loop of its own running."""
    opened = browser.new_page(viewport={"width": 1280, "height": 900})
    odd: list[str] = []
    opened.on("console", lambda message: odd.append(message.text))
    opened.on("pageerror", lambda error: odd.append(str(error)))
    opened.on("request", lambda request: odd.append(request.url) if request.url != page.as_uri() else None)
    opened.goto(page.as_uri())
    opened.locator(".items").scroll_into_view_if_needed()
    detail = opened.locator("#detail")

    def found(start: str) -> None:
        opened.locator(f"#count:has-text('{start}')").wait_for(timeout=10_000)

    found("16 of 16 items.")
    opened.locator("#rater").select_option(index=1)  # pair by pair
    opened.locator("#verdict").select_option(label="picked, but not relevant")
    found("16 of 16 items.")  # every list has a dog
    opened.locator("#verdict").select_option(label="relevant, but not picked")
    found("0 of 16 items.")
    opened.locator("#verdict").select_option(label="all")
    opened.locator("#search").fill("quinces")  # in a raw reply only
    found("1 of 16 items.")
    assert "QUINCES" in detail.text_content()
    opened.locator("#search").fill("onerror")
    found("2 of 16 items.")  # the list with it, and another of the same person, whose profile has it
    opened.locator("#list button:has-text('7 attributes')").click()
    assert HOSTILE in detail.locator("table").inner_text()
    assert "yes ≠" in detail.locator("table").inner_text()
    assert opened.evaluate("window.__broken") is None
    assert odd == []
    opened.close()
