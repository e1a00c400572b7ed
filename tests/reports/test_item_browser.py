"""The item browser in a real browser: blocks are unpacked as they are needed, all is reached by keyboard, paper and axe are content."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.reports.test_report_page import RATERS, SLICES, Page, browser, make_report, page  # noqa: F401

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

TEXTS = ["Apples and pears", "苹果和梨", "Plums", "李子 and more", "kiwis", "猕猴桃"]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Six items in blocks so small that they are all over the place."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("TEXTS", "PEOPLE", "ITEMS"):
            patch.setattr(f"personafit.reports.browse.{name}", 2 if name == "ITEMS" else 3)
        yield make_report(tmp_path_factory.mktemp("items"), TEXTS)


def _shown(page: Page) -> str:  # noqa: F811
    page.settle()
    text: str = page.page.locator("#detail h3").text_content()
    return text


def _focus(page: Page) -> str:  # noqa: F811
    where: str = page.page.evaluate(
        "() => document.activeElement.id || document.activeElement.getAttribute('role')"
    )
    return where


def test_items_of_all_blocks_are_shown_whole(report: Path, page: Page) -> None:  # noqa: F811
    opened = page.open(report)
    for number, text in enumerate(TEXTS):
        opened.locator("#list button").nth(number).click()
        assert _shown(page) == f"Question {number}? {text}"
        shown = opened.locator("#detail").text_content()
        assert f"personal {text}" in shown
        assert f"plain{number} {text}" in shown
        assert f"reply {text}" in shown
        assert f"The person: p{number} {text}" in shown
    assert page.odd == []


@pytest.mark.parametrize("at_once", [True, False], ids=["before all is unpacked", "after"])
def test_search_finds_both_languages_in_every_block(report: Path, page: Page, at_once: bool) -> None:  # noqa: F811
    opened = page.open(report)
    if not at_once:
        opened.evaluate("() => document.querySelector('[data-browser]').browser.search.readReplies()")
    for query, numbers in {
        "猕猴": [5],
        "苹果": [1],
        "AND": [0, 3],
        "plain4 kiwis": [4],
        "plain4 plums": [],
    }.items():
        page.search(query)
        assert page.questions() == [f"Question {n}? {TEXTS[n]}" for n in numbers], query
        assert opened.locator("#count").text_content() == f"{len(numbers)} of 6 items."
    page.search("李")
    marked = opened.evaluate(
        "() => [...CSS.highlights.get('found')].map((range) => range.startContainer.data)"
    )
    assert "personal 李子 and more" in marked


def test_a_word_that_grows_and_shrinks_is_found_again(report: Path, page: Page) -> None:  # noqa: F811
    page.open(report)
    found = {}
    for query in ("p", "pl", "plu", "plum", "plumx", "plu", "p"):
        page.search(query)
        found[query] = len(page.questions())
    assert found == {"p": 6, "pl": 6, "plu": 1, "plum": 1, "plumx": 0}


def test_filters_by_agreement_and_person(report: Path, page: Page) -> None:  # noqa: F811
    opened = page.open(report)
    agreement = opened.locator("[data-filter=agreement]")
    # The first rater is right on even items; the third follows the order, and on item 1 it failed.
    agreement.select_option("wrong")
    assert page.questions() == ["Question 1? 苹果和梨"]
    agreement.select_option("differ")
    assert len(page.questions()) == 5
    agreement.select_option("all")
    opened.locator("[data-filter=person]").fill("P3")
    assert page.questions() == ["Question 3? 李子 and more"]
    opened.locator("[data-filter=person]").fill("")
    opened.locator("#list button").nth(2).click()
    page.settle()
    opened.get_by_role("button", name="All items of this person").click()
    assert page.questions() == ["Question 2? Plums"]


def test_everything_is_reached_by_keyboard(report: Path, page: Page) -> None:  # noqa: F811
    opened = page.open(report)
    keyboard = opened.keyboard
    keyboard.press("/")
    assert _focus(page) == "search"
    keyboard.type("and")
    page.settle()
    assert len(page.questions()) == 2
    keyboard.press("Escape")
    assert len(page.questions()) == 6
    keyboard.press("Escape")
    assert _focus(page) == "option"
    keyboard.press("j")
    assert _shown(page).startswith("Question 1?")
    keyboard.press("ArrowDown")
    keyboard.press("k")
    keyboard.press("ArrowUp")
    keyboard.press("ArrowUp")  # there is nothing above the first
    assert _shown(page).startswith("Question 0?")
    keyboard.press("End")
    assert _shown(page).startswith("Question 5?")
    assert opened.locator("#list [aria-selected=true]").count() == 1
    assert (
        opened.locator("#list [tabindex='0']").count() == 1
    )  # the list is one stop on the way through the page
    outline = opened.evaluate("() => getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    keyboard.press("Enter")
    assert _focus(page) == "detail"
    keyboard.press("Escape")
    assert _focus(page) == "option"
    opened.get_by_label("Single keys").uncheck()
    keyboard.press("/")
    assert _focus(page) != "search"


def test_a_long_list_grows_under_the_keyboard(tmp_path: Path, page: Page) -> None:  # noqa: F811
    opened = page.open(make_report(tmp_path, [f"text {n}" for n in range(104)]))
    assert (tmp_path / "report.html").stat().st_size < 400_000
    assert len(page.questions()) == 100
    opened.locator("#list button").last.click()
    for _ in range(2):
        opened.keyboard.press("j")
    assert _shown(page) == "Question 101? text 101"
    assert len(page.questions()) == 104
    assert opened.locator("#list button").last.get_attribute("aria-setsize") == "104"


def test_axe_finds_nothing(report: Path, browser: Any) -> None:  # noqa: F811
    from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]

    # The page's policy forbids every script but its own, axe included; it holds elsewhere.
    context = browser.new_context(bypass_csp=True)
    opened = Page(context.new_page()).open(report)
    opened.locator("details").evaluate_all("all => all.forEach((one) => (one.open = true))")
    light = Axe().run(opened).response
    opened.emulate_media(color_scheme="dark")  # in the dark only colours differ
    dark = Axe().run(opened, options={"runOnly": ["color-contrast"]}).response
    context.close()
    assert len(light["passes"]) > 20
    assert dark["passes"]
    found = [*light["violations"], *dark["violations"]]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []


def test_paper_has_everything_but_the_browser(report: Path, page: Page) -> None:  # noqa: F811
    opened = page.open(report)
    fold = opened.locator("details.rater").first
    assert fold.get_attribute("open") is None
    opened.evaluate("() => window.dispatchEvent(new Event('beforeprint'))")
    opened.emulate_media(media="print")
    assert fold.get_attribute("open") is not None
    assert not opened.locator(".items").is_visible()
    assert opened.locator(SLICES).is_visible()
    opened.evaluate("() => window.dispatchEvent(new Event('afterprint'))")
    assert fold.get_attribute("open") is None


def test_figures_are_said_in_words(report: Path, page: Page) -> None:  # noqa: F811
    opened = page.open(report)
    said = [figure.get_attribute("aria-label") for figure in opened.locator(".plot").all()]
    assert any(one.startswith("Accuracy by slice. ") for one in said)
    assert any(RATERS[0] in one for one in said)
    assert opened.locator(".plot:not([aria-label])").count() == 0
