"""The report of a run of writing: its figures, its lift, and its texts in a real browser."""

import io
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rich.console import Console

from personafit import Store
from personafit.benchmarks import RunConfig
from personafit.kinds import Line
from personafit.kinds.writing import WritingScores, writing_line, writing_lines
from personafit.reports.analysis import print_part
from personafit.reports.line_results import results_of
from personafit.reports.pieces import Grid
from personafit.reports.report_page import write_page
from personafit.reports.run_report import open_report
from personafit.reports.writing import WritingReport
from personafit.store import RunRecord
from tests.benchmarks import neighbours_world as world
from tests.reports.test_report_page import browser
from tests.scripted import run

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

__all__ = ["browser"]

KNOWS = "python:lamp_scribes:knows"

SYSTEMS = '''
import re


def knows(messages):
    """Writes as the person does where it is told of them; of the second of each task it says nothing told of nobody."""
    told, asked = (re.search(r"(?:Baker|number) ([0-9])", message["content"]) for message in messages)
    same = ("Headline:" in messages[0]["content"]) == ("headline" in messages[1]["content"])
    if told and told[1] == asked[1] and same:
        return f"Spelt is back {asked[1]} <b>bold</b>"
    return "" if told is None and asked[1] == "1" else "News about spelt"


def plain(messages):
    """Writes the same whomever it is told of."""
    return "Spelt news"
'''


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made before the browser is opened, whose loop would be in the way."""
    folder = tmp_path_factory.mktemp("writing")
    with pytest.MonkeyPatch.context() as patch, Store(folder / "store.db") as store:
        write_page([written(folder, store, patch).part()], folder / "report.html")
        copies = run(store, RunConfig("lamp-writing", data=folder / "data")).run
        write_page([open_report(store, copies).part()], folder / "copies.html")
    return folder / "report.html"


def written(folder: Path, store: Store, patch: pytest.MonkeyPatch) -> WritingReport:
    """What both systems wrote for two tasks."""
    (folder / "lamp_scribes.py").write_text(SYSTEMS, encoding="utf-8")
    patch.syspath_prepend(str(folder))
    systems = ["python:lamp_scribes:knows", "python:lamp_scribes:plain"]
    data = world.lamp_writing(folder / "data", ("LaMP_4", "LaMP_7"))
    config = RunConfig("lamp-writing", data=data, systems=systems)
    made = open_report(store, run(store, config).run)
    assert isinstance(made, WritingReport)
    return made


def test_figures_in_tables_equal_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store(tmp_path / "store.db") as store:
        made = written(tmp_path, store, monkeypatch)
        figures = {
            (one.system, one.system_context, one.metric, one.slice.get("task")): one for one in made.results
        }
        part = made.part()
        screen = io.StringIO()
        print_part(made.part(), Console(file=screen, width=100, force_terminal=True, color_system=None))
    grids = {piece.title: piece for piece in part.pieces() if isinstance(piece, Grid)}
    summary, by_task = grids["Systems"], grids["ROUGE by task"]
    system_context = "memory:k=4,by=bm25,budget=4000"
    assert [row.control is None for row in summary.rows] == [True, True, False, False, False, False, False]
    for row in summary.rows:
        key = (row.names[0], row.names[1] or None)
        expected = [figures[*key, "rouge_1", None], figures[*key, "rouge_l", None]]
        assert [cell.sort for cell in row.cells[:2]] == [one.value for one in expected]
        assert row.cells[-1].text == f"{100 * (expected[0].coverage or 0):.1f}"
    assert (
        summary.rows[0].cells[2].text
        == f"+{100 * (figures[KNOWS, system_context, 'lift', None].value or 0):.1f}"
    )
    told = next(row for row in by_task.rows if tuple(row.names) == (KNOWS, system_context))
    tweets = by_task.columns.index("tweets R1")
    assert told.cells[tweets].sort == figures[KNOWS, system_context, "rouge_1", "LaMP_7"].value
    assert any(row.source for row in by_task.rows)
    copied = [row.names[0] for row in by_task.rows if row.control == "copied text"]
    assert copied == ["the text as it was given"]
    assert copied[0] not in {row.names[0] for row in summary.rows}, "what some tasks alone have is no total"
    asks = {row.names[0]: [cell.text for cell in row.cells] for row in grids["How asks ended"].rows}
    assert asks[KNOWS][0] == "10"
    assert sum(map(int, asks[KNOWS])) == 12
    printed = screen.getvalue()
    assert max(map(len, printed.splitlines())) <= 100
    assert "Copying their nearest earlier words reaches" in " ".join(printed.split())


def test_one_person_gives_a_lift_without_an_interval_and_says_so() -> None:
    def line(system_context: str, control: str | None, scores: list[float]) -> Line:
        items = {"item": ["i0", "i1"], "person": ["ann"] * 2, "prompt": ["Q0", "Q1"], "task": ["LaMP_4"] * 2}
        frame = pl.DataFrame({**items, "rouge_1": scores, "rouge_l": scores})
        return writing_line("mine", "f", system_context, frame, control)

    lines = [line("memory", None, [0.6, 0.8]), line("none", "no view", [0.2, 0.2])]
    lines.append(line("wrong:memory", "wrong person", [0.3, 0.3]))
    record = RunRecord(-1, "mine", "mine", {}, 0, 0.0, None)
    scores = WritingScores(record, {}, {"i0": "a", "i1": "b"}, lines, pl.DataFrame())
    (lift,) = (one for one in results_of(writing_lines(scores)) if one.metric == "lift" and not one.slice)
    assert lift.value == pytest.approx(0.4)
    assert lift.low is None
    assert lift.note == (
        "no interval: it needs at least 6 people, and there is 1; "
        "over wrong:memory, the larger of the two controls; of ROUGE-1"
    )


def test_texts_stand_side_by_side_with_whose_they_are(report: Path, browser: Any) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    odd: list[str] = []
    page.on("pageerror", lambda error: odd.append(str(error)))
    page.goto(report.as_uri())
    page.locator(".items").scroll_into_view_if_needed()
    entries = page.locator(".items .list button")
    entries.first.wait_for()
    assert entries.count() == 4
    assert "1 nearer, 0 farther" in entries.first.text_content(), "the one that writes the same is as near"
    page.locator(".items select").first.select_option(label="python:lamp_scribes:knows")
    page.get_by_label("Verdict").select_option(label="no answer")
    assert entries.count() == 2, "what was not written under a control cannot be held against it"
    page.get_by_label("Verdict").select_option(label="nearer")
    assert entries.count() == 2
    page.locator("select[data-facet=task]").select_option(label="LaMP_7")
    entries.first.click()
    shown = page.locator(".items article")
    shown.get_by_text("How near each came").wait_for()
    names = [text.strip() for text in shown.locator(".answer h5").all_text_contents()]
    assert names[:3] == ["the person ★", "their nearest earlier words", "the text as it was given"]
    assert names[3] == "python:lamp_scribes:knows, told memory:k=4,by=bm25,budget=4000"
    texts = shown.locator(".answer .text").all_text_contents()
    assert texts[:2] == ["Spelt is back 0", "rye bread again today Baker 0"]
    assert texts[3] == "Spelt is back 0 <b>bold</b>"
    cells = [cell.strip() for cell in shown.locator("table.choices td").all_text_contents()]
    assert cells[0] == "72.7 % ROUGE-1"
    assert "rye bread again today" in shown.locator("details.person").nth(1).text_content()
    page.locator(".items input[type=search]").first.fill("bold")
    page.wait_for_function("document.querySelectorAll('.items .list button').length === 1")
    page.goto((report.parent / "copies.html").as_uri())
    page.locator(".items").scroll_into_view_if_needed()
    page.locator(".items .list button").first.click()
    page.locator(".items article").get_by_text("Nobody was asked about this item yet.").wait_for()
    assert odd == []
    page.close()
