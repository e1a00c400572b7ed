"""Every attack through every way out, opened in a real browser: texts are shown, nothing runs, nothing is fetched."""

import csv
import json
from pathlib import Path

import polars as pl
import pytest

from personafit.benchmarks.injection import ATTACKS
from personafit.store import export_frame
from tests import gullible, stub_endpoint
from tests.reports.test_report_page import Page, browser, page  # noqa: F401
from tests.scripted import invoke
from tests.stub_endpoint import Body, StubEndpoint, completion, saying

TEXTS = [
    attack.text(language, number, "this answer", "A")
    for attack in ATTACKS.values()
    for language in ("en", "zh")
    for number in range(len(attack.wordings[language]))
]
DOCUMENT = "[document.title, document.scripts.length, document.querySelectorAll('main img, main iframe, main a[href^=javascript]').length]"

# Every item and every fold of it, one after the other; what each shows.
OPEN_ALL = """() => [...document.querySelectorAll('[id$=list] > button')].map((button) => {
  button.click();
  const detail = document.querySelector('[id$=detail]');
  for (const fold of detail.querySelectorAll('details')) fold.open = true;
  return detail.textContent;
})"""


def _hostile_reply(body: Body) -> Body:
    """A judge that repeats what it read, as models do, before it obeys."""
    choice: str = gullible.obey(body)["choices"][0]["message"]["content"]
    return completion(body, f"=HYPERLINK(1) {body['messages'][0]['content']}\n{choice}")


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on hostile text; made before the browser, whose driver holds this thread's event loop."""
    folder = tmp_path_factory.mktemp("inert")
    with pytest.MonkeyPatch.context() as patch, StubEndpoint("repeating") as endpoint:
        patch.setitem(stub_endpoint.BEHAVIOURS, "repeating", saying(_hostile_reply))
        run = ("run", "injection", "--rater", endpoint.spec(), "--people", "2", "--out", "out")
        invoke(patch, folder, *run)
        invoke(patch, folder, "data", "convert", "last", "--out", "out/judgments.csv")
    return folder / "out"


def test_the_page_of_a_run_on_hostile_text_is_inert(out: Path, page: Page) -> None:  # noqa: F811
    report = out / "report.html"
    opened = page.page
    opened.goto(report.as_uri())
    opened.locator(".items").scroll_into_view_if_needed()
    opened.locator("#list button").first.wait_for()
    title, scripts, _ = opened.evaluate(DOCUMENT)
    assert "chosen" not in title
    assert scripts == 2
    assert len(opened.evaluate(OPEN_ALL)) == 50
    opened.locator("[data-facet=attack]").select_option("markup")
    shown = opened.evaluate(OPEN_ALL)
    assert len(shown) == 4
    assert any("chosen" in text or "alert" in text for text in shown)
    opened.wait_for_load_state("networkidle")
    assert opened.evaluate(DOCUMENT) == [title, 2, 0]
    assert opened.locator(".plot svg").count() == 1
    assert page.requests == [report.as_uri()]
    assert page.odd == []
    json.loads((out / "results.json").read_text(encoding="utf-8"))
    with (out / "judgments.csv").open(encoding="utf-8", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert not [cell for cell in cells if cell[:1] in ("=", "+", "@", "\t", "\r")]


def test_no_cell_of_a_table_is_a_formula(tmp_path: Path) -> None:
    starts = ["=", "+", "-", "@", "\t=", " =", "\n=", "\ufeff=", "\u200b=", "＝", "\r"]
    texts = [*TEXTS, *(f"{start}cmd|' /C calc'!A0{text}" for start in starts for text in ("", TEXTS[0]))]
    export_frame(pl.DataFrame({"reply": texts}), tmp_path / "texts.csv")
    with (tmp_path / "texts.csv").open(encoding="utf-8", newline="") as file:
        cells = [row[0] for row in csv.reader(file)][1:]
    assert len(cells) == len(texts)
    for cell, text in zip(cells, texts, strict=True):
        assert cell.removeprefix("'") == text
        assert (cell != text) == (any(text.startswith(start) for start in starts))
    export_frame(pl.DataFrame({"reply": texts}), tmp_path / "texts.jsonl")
    lines = (tmp_path / "texts.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["reply"] for line in lines] == texts
