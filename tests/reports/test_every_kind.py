"""Runs of every kind, a study, an audit, extraction and training in one report: one page, in order, accessible, printable."""

import json
import re
from collections.abc import Iterator
from contextlib import chdir
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from personafit import Store
from personafit.api.report import ReportFormat, collect_parts, write_report
from tests.benchmarks.recentering.world import rows, write_world
from tests.reports.test_extraction import stages_folder
from tests.reports.test_report_page import browser
from tests.scripted import invoke

pytest.importorskip("axe_playwright_python", reason="axe is not installed: accessibility is NOT tested")

__all__ = ["browser"]  # the fixture of the report's own tests

PAGE = 690  # pixels of a landscape sheet
HEADS = """
def heads(person, question, answers):
    return [
        {"helpfulness": min(4, len(one) / 200), "correctness": len(one) % 5, "coherence": 4 - one.count(".") % 5,
         "complexity": min(4, len(one.split()) / 60), "verbosity": min(4, len(one) / 400)}
        for one in answers
    ]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All parts, made by their own commands, and the report of them; before the browser, whose driver keeps a loop running."""
    folder = tmp_path_factory.mktemp("every")
    (folder / "heads_of_all.py").write_text(HEADS)
    write_world(folder / "labels", rows())
    stages_folder(folder / "extracted")
    (folder / "reward").mkdir()
    (folder / "reward" / "curves.csv").write_text(
        "step,eval_accuracy,eval_loss,loss\n1,,,0.7\n2,0.75,0.6,0.5\n"
    )
    (folder / "reward" / "started.json").write_text(
        json.dumps({"base": "some/base", "data": "pairs.jsonl", "epochs": 2.0})
    )
    panel = ["--from", "starter", "--question", "fit", "--limit", "30", "--overlap", "3", "--simulated"]
    with pytest.MonkeyPatch.context() as patch:

        def go(*arguments: str) -> None:
            invoke(patch, folder, *arguments)

        go("run", "starter", "--rater", "aspects:python:heads_of_all:heads", "--limit", "60")
        go("run", "recentering", "--data", "labels", "--rater", "rule:bm25")
        go("run", "responses", "--data", "starter", "--rater", "rule:length")
        go("run", "injection", "--rater", "rule:length", "--limit", "6")
        go("label", "new", "panel", *panel)
        go("label", "simulate", "panel")
        go("audit", "starter", "--out", "audit")
        go("extract", "measure", "extracted", "--out", "measured")
        with Store(folder / ".personafit" / "store.db") as store:
            runs = [run.name for run in store.runs() if "raters" in run.config]
        named = [*runs, "panel", "audit", "measured", "reward"]
        with Store(folder / ".personafit" / "store.db") as store, chdir(folder):
            parts = collect_parts(named, store)
            for out, form in (("all.html", "html"), ("tables", "csv"), ("figures", "figures")):
                write_report(parts, Path(out), ReportFormat(form))
    return folder


@pytest.fixture
def page(folder: Path, browser: Any) -> Iterator[Any]:
    opened = browser.new_page(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    opened.goto((folder / "all.html").as_uri())
    yield opened
    opened.close()


@pytest.mark.slow
def test_every_part_says_what_came_out_and_how_to_make_it_again(page: Any) -> None:
    titles = page.locator("section.part > h2").all_text_contents()
    assert len(titles) == 8
    assert page.locator("section.part").evaluate_all("all => all.every(one => one.querySelector('.verdict'))")
    text = page.locator("main").evaluate("node => node.textContent")
    for command in ("audit starter --out audit", "extract measure extracted --out measured", "run responses"):
        assert f"personafit {command}" in text
    assert "The raters of this study are simulated" in text
    assert "90 of 90 pages answered, 30 of 30 items have all their raters" in text
    assert "checks of starter fail" in page.locator("#summary").text_content()
    assert page.locator("#summary tbody tr").count() >= 3


@pytest.mark.slow
def test_axe_finds_nothing_and_nothing_scrolls_sideways(page: Any) -> None:
    from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]

    page.locator("details").evaluate_all("all => all.forEach((one) => (one.open = true))")
    found = Axe().run(page).response["violations"]
    page.emulate_media(color_scheme="dark")  # in the dark only colours differ
    found += Axe().run(page, options={"runOnly": ["color-contrast"]}).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"][:200]) for one in found] == []
    levels = page.locator("h1, h2, h3, h4, h5").evaluate_all("all => all.map(one => Number(one.tagName[1]))")
    assert all(after <= before + 1 for before, after in pairwise(levels))
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((one) => one.id)")
    assert len(ids) == len(set(ids))
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.slow
def test_on_paper_folded_parts_are_open_and_figures_fit_the_page(page: Any) -> None:
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.locator("details.rater .facts").first.is_visible()
    assert not page.locator(".items").first.is_visible()
    tallest = page.locator(".plot svg").evaluate_all("all => Math.max(...all.map(one => one.clientHeight))")
    assert 0 < tallest <= PAGE


@pytest.mark.slow
def test_every_table_and_figure_is_a_file_as_well(folder: Path) -> None:
    tables = list((folder / "tables").glob("*.csv"))
    assert len(tables) > 20
    assert any(path.name.startswith("starter-") for path in tables)
    pictures = list((folder / "figures").glob("*.png"))
    assert len(pictures) > 5
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in pictures)
    drawn = "".join(path.read_text(encoding="utf-8") for path in (folder / "figures").glob("*.svg"))
    assert re.search("<title>[^<]+</title>", drawn)


@pytest.mark.slow
def test_what_cannot_be_collected_is_one_sentence(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(*arguments: str) -> str:
        store = ("--store", str(folder / ".personafit" / "store.db"))
        invoke(monkeypatch, tmp_path, "report", *arguments, *store, code=2)
        return capsys.readouterr().err

    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "results.json").write_text('{"benchmark": "flow", "results": [{"rater": 1}]}')
    assert "odd/results.json cannot be read" in said("odd", "--out", "x.html")
    assert "There is no run 'nothing'" in said("nothing", "--out", "x.html")
    (tmp_path / "file").write_text("")
    assert "cannot be written" in said("last", "--out", "file/t", "--format", "csv")
