"""The report of a large run: how long it takes to make, until something is seen, and until a search has its list.

8,298 items and 12 raters (see `big_run`). Making is the whole command `personafit report`, from its start to the written page. The page
is opened from disk in Chromium, anew in each round; first paint is the browser's own first contentful paint; a search is timed from the
input event until the frame with the new list is drawn, and the slowest of several words counts. The bars are by the clock, as readers
wait by it; on a machine with other work the processor time says more, so it is printed beside.
"""

import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from speed.big_run import ITEMS, RATERS, RUN, fill_store
from speed.table import Measurement

BUILD_BAR, PAINT_BAR, SEARCH_BAR = 15.0, 1.5, 0.1  # seconds
ROUNDS = 3

SEARCH = """async (query) => {
  const box = document.getElementById("search");
  const start = performance.now();
  box.value = query;
  box.dispatchEvent(new InputEvent("input", { bubbles: true }));
  await new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)));
  return performance.now() - start;
}"""
# Of one letter and of many, in both languages, found everywhere, somewhere and nowhere, several at once.
QUERIES = """() => [
  "e", "th", "o a e", "nowhere 无处", index.question[10].slice(0, 12), index.question[index.id.length - 1].slice(0, 6),
  texts.here(500).slice(100, 108), texts.here(5000).slice(60, 64), texts.here(9000).slice(30, 31), "person-14",
]"""


@dataclass(frozen=True)
class Opened:
    """One page load: seconds until the first paint, and of the slowest search by the clock and by the processor."""

    paint: float
    search: float
    processor: float


def measure() -> list[Measurement]:
    """Make the page, then open and search it some times."""
    with TemporaryDirectory(prefix="personafit-report-") as place:
        folder = Path(place)
        fill_store(folder / "store.db")
        seconds, processor = _build(folder)
        page = folder / "report.html"
        megabytes = page.stat().st_size / 1e6
        print(f"report: made in {seconds:.1f} s, {processor:.1f} s of the processor, {megabytes:.0f} MB")
        rounds = [_open(page) for _ in range(ROUNDS)]
    for one in rounds:
        print(
            f"report: first paint {1000 * one.paint:.0f} ms; slowest search {1000 * one.search:.0f} ms, "
            f"{1000 * one.processor:.0f} ms of the page's thread"
        )
    what = f"report of {ITEMS:,} items, {len(RATERS)} raters"
    return [
        _within(f"{what}: made", seconds, BUILD_BAR),
        _within(f"{what}: made, processor time", processor, BUILD_BAR, held=False),
        _within("its first paint", median(one.paint for one in rounds), PAINT_BAR),
        _within("its slowest search", median(one.search for one in rounds), SEARCH_BAR),
        _within(
            "its slowest search, processor time",
            median(one.processor for one in rounds),
            SEARCH_BAR,
            held=False,
        ),
    ]


def _within(name: str, seconds: float, bar: float, held: bool = True) -> Measurement:
    return Measurement(name, f"{bar:g} s", "1/s", 1 / seconds, 1 / bar, bar / seconds, 1.0 if held else None)


def _build(folder: Path) -> tuple[float, float]:
    """Seconds by the clock and of the processor."""
    command = [sys.executable, "-m", "personafit", "report", RUN]
    command += ["--store", str(folder / "store.db"), "--out", str(folder)]
    started = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"the report ended with {process.returncode}")
    return time.monotonic() - started, usage.ru_utime + usage.ru_stime


def _open(path: Path) -> Opened:
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        page.goto(path.as_uri())
        page.locator("#browser").wait_for()
        page.evaluate("() => reading")
        paint = page.evaluate("() => performance.getEntriesByName('first-contentful-paint')[0].startTime")
        waits, costs = [], []
        for query in page.evaluate(QUERIES):
            before = _thread_seconds(session)
            waits.append(page.evaluate(SEARCH, query) / 1000)
            costs.append(_thread_seconds(session) - before)
        browser.close()
    return Opened(paint / 1000, max(waits), max(costs))


def _thread_seconds(session: Any) -> float:
    """Processor time of the page's main thread so far."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return next(float(metric["value"]) for metric in metrics if metric["name"] == "TaskDuration")
