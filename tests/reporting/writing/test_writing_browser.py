"""The item browser of a run of writing, in a real browser: whose text is whose, what was told, how near each came."""

from pathlib import Path
from typing import Any

import pytest

from personafit.benchmarks.config import RunConfig
from personafit.reporting.run_report import open_report
from personafit.store import Store
from tests.benchmarks import neighbours_world as world
from tests.reporting.test_html import browser
from tests.scripted import run

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

__all__ = ["browser"]

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
    (folder / "lamp_scribes.py").write_text(SYSTEMS, encoding="utf-8")
    systems = ["python:lamp_scribes:knows", "python:lamp_scribes:plain"]
    data = world.lamp_writing(folder / "data", ("LaMP_4", "LaMP_7"))
    config = RunConfig("lamp-writing", data=data, systems=systems)
    with pytest.MonkeyPatch.context() as patch, Store(folder / "store.db") as store:
        patch.syspath_prepend(str(folder))
        open_report(store, run(store, config).run).write_html(folder / "report.html")
        copies = run(store, RunConfig("lamp-writing", data=data)).run
        open_report(store, copies).write_html(folder / "copies.html")
    return folder / "report.html"


def test_texts_stand_side_by_side_with_whose_they_are(report: Path, browser: Any) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    odd: list[str] = []
    page.on("pageerror", lambda error: odd.append(str(error)))
    page.goto(report.as_uri())
    page.locator("#items").scroll_into_view_if_needed()
    entries = page.locator("#items .list button")
    entries.first.wait_for()
    assert entries.count() == 4
    assert "1 nearer, 0 farther" in entries.first.text_content(), "the one that writes the same is as near"
    page.locator("#items select").first.select_option(label="python:lamp_scribes:knows")
    page.get_by_label("Verdict").select_option(label="no answer")
    assert entries.count() == 2, "what was not written under a control cannot be held against it"
    page.get_by_label("Verdict").select_option(label="nearer")
    assert entries.count() == 2
    page.get_by_label("task").select_option(label="LaMP_7")
    entries.first.click()
    shown = page.locator("#items article")
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
    page.locator("#items input[type=search]").first.fill("bold")
    page.wait_for_function("document.querySelectorAll('#items .list button').length === 1")
    page.goto((report.parent / "copies.html").as_uri())
    page.locator("#items").scroll_into_view_if_needed()
    page.locator("#items .list button").first.click()
    page.locator("#items article").get_by_text("Nobody was asked about this item yet.").wait_for()
    assert odd == []
    page.close()
