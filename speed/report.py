"""The report of a large run: how long it takes to make, until something is seen, and until a search has its list.

8,298 items and 12 raters (see `big_run`), twice: the run's own page (`personafit report RUN`) and the page with all analyses
(`report RUN --out FILE`). Making is the whole command, from its start to the written page. The page is opened from disk in
Chromium, anew in each round; first paint is the browser's own first contentful paint. A search looks into questions, people, answers and
raw replies; it is timed from the input event until the frame with the whole list is drawn, and the slowest of several words counts. The
first search may come before the replies are unpacked: how long it takes until all of them were searched is told beside. The bars are by
the clock, as readers wait by it; on a machine with other work the processor time says more, so it is printed beside.
"""

import os
import shutil
from collections.abc import Sequence
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from speed.big_run import ITEMS, RATERS, RUN, fill_store
from speed.commands import personafit
from speed.table import Measurement

BUILD_BAR, PAINT_BAR, SEARCH_BAR = 15.0, 1.5, 0.1  # seconds
ROUNDS = 3

SEARCH = """async (query) => {
  const box = document.querySelector("input[id$=search]");
  const list = document.querySelector("[role=listbox]");
  const frame = () => new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)));
  const start = performance.now();
  box.value = query;
  box.dispatchEvent(new InputEvent("input", { bubbles: true }));
  do await frame(); while (list.getAttribute("aria-busy"));
  return performance.now() - start;
}"""
# Of one letter and of many, in both languages, found everywhere, somewhere and nowhere, several at once, in a reply only.
QUERIES = """async () => {
  const { index, texts, asks } = document.querySelector("[data-browser]").browser;
  return [
  "e", "th", "o a e", "nowhere 无处", index.question[10].slice(0, 12), index.question[index.id.length - 1].slice(0, 6),
  texts.here(500).slice(100, 108), texts.here(5000).slice(60, 64), texts.here(9000).slice(30, 31), "person-14",
  ...(await asks.get(4000)).reply.filter(Boolean).slice(0, 3).map((reply) => reply.slice(2, 8)), "zqzq", "ezzz", "tt tz",
  ];
}"""


@dataclass(frozen=True)
class Opened:
    """One page load: seconds until the first paint, of the first search, of the slowest by the clock and by the processor."""

    paint: float
    first: float
    search: float
    processor: float


def measure() -> list[Measurement]:
    """Make both pages, then open and search each some times."""
    what = f"{ITEMS:,} items, {len(RATERS)} raters"
    with TemporaryDirectory(prefix="personafit-report-") as place:
        folder = Path(place)
        fill_store(folder / "store.db")
        own, whole = folder / ".personafit" / "runs" / RUN / "report.html", folder / "whole.html"
        made = _make(f"report of {what}", folder, own)
        queries = _queries(own)
        found = [*made, *_read("its", own, queries)]
        made = _make(f"report of {what} with all analyses", folder, whole, "--out", str(whole))
        return [*found, *made, *_read("its", whole, queries)]


def _make(what: str, folder: Path, page: Path, *arguments: str) -> list[Measurement]:
    with chdir(folder):
        spent = personafit("report", RUN, "--store", str(folder / "store.db"), *arguments)
    seconds, processor = spent.seconds, spent.processor_seconds
    print(
        f"{what}: made in {seconds:.1f} s, {processor:.1f} s of the processor, {page.stat().st_size / 1e6:.0f} MB; "
        f"load {os.getloadavg()[0]:.1f}",
        flush=True,
    )
    return [
        _within(f"{what}: made", seconds, BUILD_BAR),
        _within(f"{what}: made, processor time", processor, BUILD_BAR, held=False),
    ]


def _read(whose: str, page: Path, queries: Sequence[str]) -> list[Measurement]:
    rounds = [_open(page, queries) for _ in range(ROUNDS)]
    for one in rounds:
        print(
            f"{page.name}: first paint {1000 * one.paint:.0f} ms; first search {1000 * one.first:.0f} ms; slowest after it "
            f"{1000 * one.search:.0f} ms, {1000 * one.processor:.0f} ms of the page's thread; load {os.getloadavg()[0]:.1f}",
            flush=True,
        )
    search, processor = (median(getattr(one, name) for one in rounds) for name in ("search", "processor"))
    return [
        _within(f"{whose} first paint", median(one.paint for one in rounds), PAINT_BAR),
        _within(f"{whose} slowest search", search, SEARCH_BAR),
        _within(f"{whose} slowest search, processor time", processor, SEARCH_BAR, held=False),
    ]


def _within(name: str, seconds: float, bar: float, held: bool = True) -> Measurement:
    return Measurement(name, f"{bar:g} s", "1/s", 1 / seconds, 1 / bar, bar / seconds, 1.0 if held else None)


def _queries(path: Path) -> list[str]:
    """What is searched for, drawn from the run's own page: its script can be asked for the texts."""
    with _Browser(path) as page:
        page.evaluate("() => document.querySelector('[data-browser]').browser.search.readTexts()")
        found: list[str] = page.evaluate(QUERIES)
    return found


def _open(path: Path, queries: Sequence[str]) -> Opened:
    with _Browser(path) as page:
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        paint = page.evaluate("() => performance.getEntriesByName('first-contentful-paint')[0].startTime")
        first = page.evaluate(SEARCH, "nothing has this") / 1000
        waits, costs = [], []
        for query in queries:
            before = _thread_seconds(session)
            waits.append(page.evaluate(SEARCH, query) / 1000)
            costs.append(_thread_seconds(session) - before)
    return Opened(paint / 1000, first, max(waits), max(costs))


class _Browser:
    """A page in a browser of its own, scrolled to its items."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> Any:
        from playwright.sync_api import sync_playwright

        program = (
            shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        )
        self._driver = sync_playwright().start()
        self._browser = self._driver.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu"]
        )
        page = self._browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(self._path.as_uri())
        page.locator(".items").evaluate("items => items.scrollIntoView()")
        page.locator("[role=listbox] > *").first.wait_for()
        return page

    def __exit__(self, *_: object) -> None:
        self._browser.close()
        self._driver.stop()


def _thread_seconds(session: Any) -> float:
    """Processor time of the page's main thread so far."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return next(float(metric["value"]) for metric in metrics if metric["name"] == "TaskDuration")
