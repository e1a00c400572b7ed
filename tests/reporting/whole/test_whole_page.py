"""The collected report through the real command and in a real browser: chapters, several browsers in one page, hostile texts."""

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from personafit.reporting.stages.results import flow_results
from personafit.stages.error_flow import FlowFigures, FlowStep
from personafit.statistics import Estimate
from personafit.store import Store
from tests.helpers import run_cli
from tests.reporting.dialogues.world import MD, SD, good_reply, make_world
from tests.reporting.test_html import HOSTILE, MARKER, RATERS, browser, make_report
from tests.scripted import invoke

pytest.importorskip("axe_playwright_python", reason="axe is not installed: accessibility is NOT tested")

__all__ = ["browser"]  # the fixture of the report's own tests

NARROW, WIDE = 400, 1280
FOCUS = """() => {
  const one = document.activeElement, box = one.getBoundingClientRect();
  const seen = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
  return { tag: one.tagName, text: one.textContent.slice(0, 60), outlined: getComputedStyle(one).outlineStyle !== "none", seen };
}"""
PAGE = 500  # CSS pixels that a figure may be high on paper; an A4 page on its side has room for 703
TEXTS = HOSTILE[:-2] + HOSTILE[-1:]  # one long text more would only take longer
CHAPTERS = [
    *("headline", "comparison", "views", "tiers", "controls", "agreement", "bias", "shortfalls", "dialogues"),
    *("stages", "training", "failures", "items", "instrument", "left-out"),
]


def write_flow(folder: Path) -> None:
    names = {"attributes": f"<img onerror={MARKER}>", "relevance": "matcher"}
    half = Estimate(0.5, 0.4, 0.6, 20, 5, None)
    traced = FlowFigures(
        [
            FlowStep(None, (False, False), Estimate(1.0, None, None, 20, 5, "1 by construction"), None),
            FlowStep("attributes", (True, False), half, half),
            FlowStep("relevance", (True, True), half, half),
        ],
        dict.fromkeys(names, half),
        dict.fromkeys(names, half),
        1.0,
        None,
    )
    folder.mkdir()
    rows = [result.as_dict() for result in flow_results(traced, names)]
    (folder / "results.json").write_text(json.dumps({"benchmark": "flow", "results": rows}))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of two kinds in one store, a flow and a training, and the report of them all."""
    folder = tmp_path_factory.mktemp("whole")
    make_report(folder, TEXTS)
    world = make_world(folder)
    world.hold("ann", SD, [HOSTILE[0], "A Thai place?", HOSTILE[2], "Booked."])
    world.hold("bob", MD, ["Dinner and a train.", HOSTILE[4]])
    world.judge(good_reply(), name=f"judge</title><script>{MARKER}</script>")
    world.store.close()
    write_flow(folder / "flow")
    (folder / "reward").mkdir()
    (folder / "reward" / "curves.csv").write_text(
        "step,eval_accuracy,eval_loss,loss\n1,,,0.7\n2,0.75,0.6,0.5\n"
    )
    with Store(folder / "store.db") as store:
        (talk,) = [run.name for run in store.runs() if run.config.get("kind") == "dialogue"]
    done = run_cli(
        *("report", "made-1", talk, "flow", "reward", "--whole", "out/all.html", "--store", "store.db"),
        *("--tables", "tables", "--figures", "figures"),
        cwd=folder,
    )
    assert (
        "Nothing was given for What the labels reward, Who rated, Aspects, Which attributes matter"
        in done.stdout
    )
    return folder


class Opened:
    """The page, and everything odd that happened on it."""

    def __init__(self, page: Any, path: Path) -> None:
        self.page, self.odd, self.requests = page, [], []  # type: Any, list[str], list[str]
        page.on("pageerror", lambda error: self.odd.append(str(error)))
        page.on("console", lambda message: self.odd.append(message.text))
        page.on("request", lambda request: self.requests.append(request.url))
        page.goto(path.as_uri())

    def start_browsers(self) -> None:
        """Go to the items, and wait until every browser has something to show."""
        self.page.locator("#items").evaluate("node => node.scrollIntoView()")
        for number in range(2):
            self.page.locator(f"#b{number}-list > *").first.wait_for()


@pytest.fixture
def opened(browser: Any, folder: Path) -> Iterator[Opened]:
    page = browser.new_page(viewport={"width": WIDE, "height": 900}, reduced_motion="reduce")
    yield Opened(page, folder / "out" / "all.html")
    page.close()


def test_the_answer_stands_first_and_missing_parts_say_what_would_add_them(opened: Opened) -> None:
    page = opened.page
    ids = page.locator("main > section").evaluate_all("all => all.map(one => one.id)")
    assert ids == CHAPTERS
    links = page.locator(".toc a").evaluate_all("all => all.map(one => one.hash.slice(1))")
    assert links == CHAPTERS
    said = page.locator("#headline .sentences li").first.text_content()
    assert said.startswith(f"Shown “profile”, {RATERS[0]} is right in 57.1\u00a0% (")
    assert "with nobody 57.1" in said
    assert "lift 0.0 points" in said
    assert (
        "With models at every stage 50\u00a0% of the end result is left."
        in page.locator("#headline").text_content()
    )
    left_out = page.locator("#left-out dd").all_text_contents()
    assert any("personafit run BENCHMARK --rater aspects:SPEC" in text for text in left_out)
    assert page.locator("#comparison .is-published").count() == 1
    assert page.locator("#training svg").count() == 1


def test_every_browser_searches_its_own_items_and_hostile_texts_stay_texts(opened: Opened) -> None:
    opened.start_browsers()
    page = opened.page
    before = page.locator("#b1-list button").count()
    page.locator("#b0-search").fill("plain2")
    page.wait_for_function("() => document.querySelectorAll('#b0-list .q').length === 1")
    assert page.locator("#b0-list .q").text_content().startswith("Question 2?")
    assert page.locator("#b1-list button").count() == before
    page.locator("#b1-list button").first.click()
    page.wait_for_function("() => document.querySelector('#b1-detail').textContent.includes('What was said')")
    assert page.evaluate("window.__broken") is None
    assert page.locator("img, iframe").count() == 0
    assert opened.odd == []
    assert [url.partition(":")[0] for url in opened.requests] == ["file"]


@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_the_contents_stay_in_view_and_nothing_scrolls_sideways(opened: Opened, width: int) -> None:
    page = opened.page
    page.set_viewport_size({"width": width, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator("#failures").evaluate("node => node.scrollIntoView()")
    page.wait_for_function("() => document.querySelector('.toc [aria-current]')?.hash === '#failures'")
    box = page.locator(".toc [aria-current]").bounding_box()
    assert 0 <= box["y"] < 900
    assert 0 <= box["x"] < width


@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_figures_fit_the_width_or_can_be_read_and_scroll_in_their_own_box(opened: Opened, width: int) -> None:
    page = opened.page
    page.set_viewport_size({"width": width, "height": 900})
    boxes = page.evaluate(
        """[...document.querySelectorAll(".plot")].map((plot) => {
          const svg = plot.querySelector("svg");
          const letters = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
          const hint = getComputedStyle(plot, "::before").content;
          return [plot.scrollWidth > plot.clientWidth, 9 * letters, hint.includes("sideways")];
        })"""
    )
    assert boxes
    for scrolls, ordinary_letters, hinted in boxes:
        assert scrolls == hinted == (width == NARROW)
        assert ordinary_letters >= 9


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_and_headings_come_in_order(opened: Opened, scheme: Any) -> None:
    from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]

    opened.page.emulate_media(color_scheme=scheme)
    opened.start_browsers()
    found = Axe().run(opened.page).response["violations"]
    assert [one["id"] for one in found] == []
    levels = opened.page.locator("h1, h2, h3, h4, h5").evaluate_all(
        "all => all.map(one => Number(one.tagName[1]))"
    )
    assert all(after <= before + 1 for before, after in pairwise(levels))
    repeated = opened.page.evaluate(
        "() => { const ids = [...document.querySelectorAll('[id]')].map((one) => one.id);"
        " return ids.filter((id, place) => ids.indexOf(id) !== place); }"
    )
    assert repeated == []


def test_the_keyboard_reaches_everything_and_what_has_the_focus_is_seen(opened: Opened) -> None:
    page = opened.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the headline"
    page.keyboard.press("Enter")
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        focus = page.evaluate(FOCUS)
        assert focus["outlined"], focus
        assert focus["seen"], focus
        reached.add(focus["tag"])
    assert {"BUTTON", "DIV"} <= reached
    heading = page.locator("#comparison thead th").nth(2)
    heading.locator("button").focus()
    page.keyboard.press("Enter")
    assert heading.get_attribute("aria-sort") == "descending"


def test_every_figure_says_what_it_shows_and_follows_light_and_dark(opened: Opened) -> None:
    said = opened.page.locator("[role=img]").evaluate_all("all => all.map(one => one.ariaLabel)")
    assert any(RATERS[0] in one and "57.1" in one for one in said)
    assert not any("The numbers are in" in one for one in said)
    drawn = "".join(opened.page.locator(".plot svg").evaluate_all("all => all.map(one => one.outerHTML)"))
    assert re.findall(r"#[0-9a-f]{6}\b|<image", drawn) == []


def test_print_opens_what_is_folded_and_leaves_the_browsers_out(opened: Opened) -> None:
    opened.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    opened.page.emulate_media(media="print")
    assert opened.page.locator("#training details.fold table").is_visible()
    assert not opened.page.locator("#items").is_visible()
    assert not opened.page.locator(".toc").is_visible()
    # Chromium repeats the headings of a table on its next page only if there is no button in them.
    shown = opened.page.locator("thead button").evaluate_all(
        "all => all.map(one => getComputedStyle(one).display)"
    )
    assert set(shown) == {"contents"}
    tallest = opened.page.locator(".plot svg").evaluate_all(
        "all => Math.max(...all.map(one => one.clientHeight))"
    )
    assert 0 < tallest <= PAGE


def test_every_table_and_figure_is_a_file_as_well(folder: Path) -> None:
    tables = {path.name for path in (folder / "tables").iterdir()}
    assert {"comparison-accuracy-by-rater-and-slice.csv", "stages-step-by-step.tex"} <= tables
    figures = {path.name for path in (folder / "figures").iterdir()}
    assert {
        "training-while-it-trained.png",
        "views-with-the-person-without-and-with-the-wrong-one.svg",
    } <= figures
    assert (folder / "figures" / "training-while-it-trained.png").read_bytes().startswith(b"\x89PNG")
    drawn = (folder / "figures" / "training-while-it-trained.svg").read_text(encoding="utf-8")
    assert "<title>From the first reading to the last: loss of the batches from 0.700 to 0.500" in drawn
    assert (folder / "tables" / "stages-step-by-step.csv").read_bytes().startswith(b"stage,control,")


def test_what_cannot_be_collected_is_one_sentence(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(*arguments: str) -> str:
        store = ("--store", str(folder / "store.db"))
        invoke(monkeypatch, tmp_path, "report", *arguments, *store, code=2)
        return capsys.readouterr().err

    assert "are for commands without them" in said("made-1", "--whole", "x.html", "--json")
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "results.json").write_text('{"benchmark": "flow", "results": [{"rater": 1}]}')
    assert "odd/results.json cannot be read" in said("odd", "--whole", "x.html")
    assert "There is no run 'nothing'" in said("nothing", "--whole", "x.html")
    (tmp_path / "file").write_text("")
    assert "file/t cannot be written" in said("made-1", "--tables", "file/t")
