"""Searching raw replies in a real browser: read when somebody is about to search, searched a slice at a time, shown where they were found."""

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

import personafit as pf
from personafit import Store
from tests.reports.test_report_page import RATERS, Page, browser, make_report, page  # noqa: F401
from tests.scripted import invoke

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

TEXTS = [f"fruit{n:03}" for n in range(120)]
# Each look at the clock takes longer than a slice, so that every few items are a step of their own.
SLOW_CLOCK = "() => { let time = 0; performance.now = () => (time += 1000); }"
# Blocks are unpacked only once the test says so.
GATE = """() => {
  const decode = Blocks.decode;
  const opened = new Promise((open) => (window.__open = open));
  Blocks.decode = async (block) => { await opened; return decode(block); };
}"""


def change_reply(folder: Path, item: int, reply: str) -> Path:
    """The report again after one rater said something else about one item."""
    with sqlite3.connect(folder / "store.db") as database:
        database.execute("update asks set reply = ? where id = ?", (reply, f"{item}-0-profile-01"))
    with Store(folder / "store.db") as store:
        return pf.load("made-1", store=store).report(folder / "report.html")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Many items in small blocks, of which the last but one has a reply like no other."""
    folder = tmp_path_factory.mktemp("replies")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("personafit.reports.browse.ITEMS", 10)
        make_report(folder, TEXTS)
        yield change_reply(folder, 118, "He would rather have QUINCES, 木瓜 with fruit000.")


def test_a_phrase_of_a_judge_is_found_and_shown(report: Path, page: Page) -> None:  # noqa: F811
    opened = page.open(report)
    page.search("rather quinces 木瓜")
    assert page.questions() == ["Question 118? fruit118"]
    assert opened.locator("#count").text_content() == "1 of 120 items."
    replies = opened.locator("#detail .replies details")
    assert replies.count() > 5
    assert opened.locator("#detail .replies details[open]").count() == 1
    assert "QUINCES" in opened.locator("#detail .replies details[open]").text_content()
    opened.get_by_role("button", name="Found in a raw reply: go there").click()
    focused = opened.evaluate("() => document.activeElement.textContent")
    assert focused.startswith(f"{RATERS[0]} · profile · A then B · ok")
    # What the question has as well is no reason to open a reply.
    page.search("fruit118")
    assert opened.locator("#detail .replies details[open]").count() == 0
    page.search("fruit000")
    assert page.questions() == ["Question 0? fruit000", "Question 118? fruit118"]
    page.search("fruit000x")
    assert page.questions() == []


def test_what_is_in_other_texts_comes_first_and_replies_follow(report: Path, page: Page) -> None:  # noqa: F811
    opened = page.open(report)
    opened.evaluate("() => document.querySelector('[data-browser]').browser.search.readTexts()")
    opened.evaluate(GATE)
    opened.locator("#search").fill("fruit000")
    count = opened.locator("#count")
    opened.locator("#count progress").wait_for()
    assert count.text_content().strip() == "1 of 120 items so far; reading the raw replies …"
    assert page.questions() == ["Question 0? fruit000"]
    opened.locator("#list button").first.focus()
    opened.evaluate("() => window.__open()")
    page.settle()
    assert page.questions() == ["Question 0? fruit000", "Question 118? fruit118"]
    assert count.text_content() == "2 of 120 items."
    assert opened.locator("#count progress").count() == 0
    # Whoever was in the list still is.
    assert opened.evaluate("() => document.activeElement.textContent").startswith("Question 0?")


def test_a_search_that_is_overtaken_says_nothing_more(report: Path, page: Page) -> None:  # noqa: F811
    opened = page.open(report)
    opened.evaluate("() => document.querySelector('[data-browser]').browser.search.readTexts()")
    opened.evaluate(GATE)
    opened.locator("#search").fill("quinces")
    opened.locator("#count progress").wait_for()
    assert opened.locator("#detail").text_content() == "Nothing so far."
    opened.locator("#search").fill("")
    assert opened.locator("#count").text_content() == "120 of 120 items."
    opened.evaluate(
        "() => { window.__open(); return document.querySelector('[data-browser]').browser.search.readReplies(); }"
    )
    page.settle()
    assert opened.locator("#count").text_content() == "120 of 120 items."
    assert page.odd == []


def test_a_long_search_goes_on_in_steps(report: Path, page: Page) -> None:  # noqa: F811
    opened = page.open(report)
    opened.evaluate("() => document.querySelector('[data-browser]').browser.search.readReplies()")
    opened.evaluate(SLOW_CLOCK)
    seen = opened.evaluate(
        """async () => {
          const said = new Set();
          const count = document.getElementById("count");
          const watch = new MutationObserver(() => said.add(count.textContent.trim()));
          watch.observe(count, { childList: true, characterData: true, subtree: true });
          document.getElementById("search").value = "fruit000";
          await document.querySelector('[data-browser]').browser.filter();
          watch.disconnect();
          return [...said];
        }"""
    )
    assert seen[0] == "1 of 120 items so far; searching the raw replies …"
    assert opened.locator("#count").text_content() == "2 of 120 items."
    assert page.questions() == ["Question 0? fruit000", "Question 118? fruit118"]


def test_filters_by_how_asks_ended(report: Path, page: Page) -> None:  # noqa: F811
    opened = page.open(report)
    status = opened.locator("[data-filter=status]")
    assert status.locator("option").all_text_contents() == ["all", "ok", "failed"]
    status.select_option("failed")
    assert page.questions() == ["Question 1? fruit001"]
    opened.locator("#rater").select_option("0")
    assert page.questions() == []
    status.select_option("ok")
    assert opened.locator("#count").text_content() == "120 of 120 items."
    opened.locator("#rater").select_option("2")
    assert opened.locator("#count").text_content() == "119 of 120 items."


def test_a_reply_of_a_megabyte_is_cut_and_the_page_says_so(tmp_path: Path, page: Page) -> None:  # noqa: F811
    make_report(tmp_path, ["one", "two"])
    report = change_reply(
        tmp_path, 1, "</script>\u202e \ufffd gooseberry " + "many words " * 100_000 + "medlar"
    )
    assert report.stat().st_size < 400_000
    opened = page.open(report)
    page.search("gooseberry")
    assert page.questions() == ["Question 1? two"]
    shown = opened.locator("#detail .replies details[open]").text_content()
    assert "more characters in the store" in shown
    assert len(shown) < 5_000
    page.search("medlar")  # only what is on the page can be found there
    assert page.questions() == []
    assert page.odd == []


def test_a_folder_whose_name_is_no_text_is_named_with_marks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_report(tmp_path, ["one", "two"])
    folder = tmp_path / os.fsdecode(b"run\xff\xe2\x80\xae<script>")
    folder.mkdir(parents=True)
    (folder / "curves.csv").write_text("step,eval_accuracy,eval_loss,loss\n1,,,0.7\n2,0.75,0.6,0.5\n")
    invoke(
        monkeypatch,
        tmp_path,
        *("report", "made-1", str(folder), "--out", "all.html", "--store", "store.db"),
    )
    text = (tmp_path / "all.html").read_text(encoding="utf-8")
    assert "run\ufffd\ufffd&lt;script&gt;" in text
    assert "\u202e" not in text.partition("<script")[0]
