"""One server and one browser for all tests of this folder, and not longer: Playwright keeps an event loop running in this thread,
in which no other test could run one of its own."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.label.browser.rater import Rater
from tests.label.browser.site import Site, serving

NO_BROWSER = "there is no Chromium on this machine: the labelling pages are NOT tested"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


@contextmanager
def chromium() -> Iterator[Any]:
    """Debian's Chromium; without it tests skip, in CI they fail."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        program = None
    if program is None:
        if os.environ.get("CI") == "true":
            pytest.fail(NO_BROWSER)
        pytest.skip(NO_BROWSER)
    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=program, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    """The browser of these tests."""
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="package")
def site(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The server; asked for after the browser, so that nothing is set up where there is none."""
    with serving(tmp_path_factory.mktemp("labelling")) as running:
        yield running


@pytest.fixture
def rater(browser: Any, site: Site) -> Iterator[Callable[..., Rater]]:
    """Makes raters, each in a browser profile of their own, and insists that none saw a fault."""
    made: list[Rater] = []

    def make(**options: Any) -> Rater:
        context = browser.new_context(**({"viewport": {"width": 1280, "height": 860}} | options))
        made.append(Rater(context, site))
        return made[-1]

    yield make
    for one in made:
        one.context.close()
    assert [fault for one in made for fault in one.faults] == []
