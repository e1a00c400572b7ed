"""The page in a real browser: pairs are found, texts from outside stay texts, and nothing is loaded."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from personafit.benchmarks.config import RunConfig
from personafit.reporting.run_report import open_report
from personafit.store import Store
from tests.benchmarks.recentering.world import row, rows, write_module, write_world
from tests.reporting.test_html import browser  # noqa: F401
from tests.scripted import run

HOSTILE = '</script><img src=x onerror="window.__broken = 1"> tea'
MODULE = "relevance_page_world"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made before the browser opens: its driver keeps an event loop of its own running."""
    folder = tmp_path_factory.mktemp("page")
    data = write_world(folder / "data", [*rows(), row(0, 0, HOSTILE, reason=HOSTILE)])
    raters = [f"pair:python:{write_module(folder, MODULE)}:pairs", f"list:python:{MODULE}:lists"]
    with pytest.MonkeyPatch.context() as patch, Store(folder / "store.db") as store:
        patch.syspath_prepend(str(folder))
        finished = run(store, RunConfig(benchmark="recentering", data=data, raters=raters, views=["none"]))
        with sqlite3.connect(folder / "store.db") as database:
            database.execute(
                "update asks set reply = 'She spoke of QUINCES.' where id = (select min(id) from asks)"
            )
        open_report(store, finished.run).write_html(folder / "report.html")
    return folder / "report.html"


def test_pairs_can_be_found_and_nothing_breaks_out(report: Path, browser: Any) -> None:  # noqa: F811
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    odd: list[str] = []
    page.on("console", lambda message: odd.append(message.text))
    page.on("pageerror", lambda error: odd.append(str(error)))
    page.on("request", lambda request: odd.append(request.url) if request.url != report.as_uri() else None)
    page.goto(report.as_uri())
    assert page.locator("#count").inner_text() == "81 pairs in 16 lists."
    page.select_option("#rater", label=f"pair:python:{MODULE}:pairs")
    page.select_option("#verdict", label="picked, but not relevant")
    assert page.locator("#count").inner_text() == "16 pairs in 16 lists."  # every dog, and no tea
    assert "dog" in page.locator("#detail tbody").inner_text()
    page.select_option("#verdict", label="all pairs")
    page.fill("#search", "quinces")  # in a raw reply only
    assert page.locator("#count").inner_text().endswith("in 1 lists.")
    assert not page.locator("#count").inner_text().startswith("0 ")
    page.fill("#search", "onerror")
    assert page.locator("#count").inner_text() == "1 pairs in 1 lists."
    assert HOSTILE in page.locator("#detail tbody").inner_text()
    assert page.evaluate("window.__broken") is None
    page.click("#score-table thead button:has-text('f1')")
    assert page.locator("#score-table thead th[aria-sort=descending]").count() == 1
    assert odd == []
    page.close()
