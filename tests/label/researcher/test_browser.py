"""The researcher's pages in a real browser: they refresh, work by keyboard, run no stranger's script, and axe finds nothing serious."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from personafit import Store
from personafit.label import Access, Studies
from personafit.label.votes import adjudicated_votes
from personafit.label.web.sessions import RESEARCHER_COOKIE
from tests.label.browser.conftest import chromium
from tests.label.served import RaterClient, Server, invitation, serving_here

PATHS = ("", "/remarks", "/adjudicate", "/invitations", "/trail", "/raters/0")
STUDY = "/researcher/studies/pilot"
SERIOUS = ("serious", "critical")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Debian's Chromium, for these tests only: while it runs, nothing else can run an event loop."""
    with chromium() as opened:
        yield opened


@pytest.fixture
def page(browser: Any, server: Server, votes: Any, store: Path) -> Iterator[Any]:
    """A browser that is logged in; it must not see a fault, nor run what texts hold."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, base_url=server.address)
    with Store(store) as opened:
        cookie = Access(opened.engine).open_researcher()
    context.add_cookies([{"name": RESEARCHER_COOKIE, "value": cookie, "url": server.address}])
    opened_page, faults = context.new_page(), list[str]()
    opened_page.on(
        "console", lambda message: faults.append(message.text) if message.type == "error" else None
    )
    opened_page.on("pageerror", lambda error: faults.append(str(error)))
    opened_page.on("dialog", lambda dialog: faults.append(dialog.message))
    yield opened_page
    context.close()
    assert faults == []


def accessible(page: Any, *paths: str) -> None:
    """Insist that axe finds nothing serious on these pages; by night only colours are another matter."""
    from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]

    for path in paths:
        page.goto(path)
        for scheme, options in (("light", None), ("dark", {"runOnly": ["color-contrast"]})):
            page.emulate_media(color_scheme=scheme)
            found = Axe().run(page, options=options).response["violations"]
            serious = [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in SERIOUS]
            assert serious == [], (path, scheme)


def test_axe_finds_nothing_serious(page: Any) -> None:
    apart = ("/", "/login", "/researcher", "/researcher/password")
    accessible(page, *apart, *(f"{STUDY}{path}" for path in PATHS))


def test_axe_finds_nothing_serious_where_the_password_is_set(browser: Any, tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    with Store(store) as opened:
        token = Access(opened.engine).setup_token()
    with serving_here(store) as server:
        page = browser.new_page(base_url=server.address)
        accessible(page, "/", "/login", f"/setup?token={token}")
        page.close()


def test_pages_fit_a_phone(page: Any) -> None:
    page.set_viewport_size({"width": 375, "height": 700})
    for path in PATHS:
        page.goto(f"{STUDY}{path}")
        assert page.evaluate("document.documentElement.scrollWidth") <= 375, path


def test_the_numbers_refresh_by_themselves(page: Any, store: Path, server: Server) -> None:
    page.goto(STUDY)
    card = page.locator(".cards dd").first
    before = card.inner_text()
    with RaterClient(server.address, invitation(store, "pilot", 2)) as rater:
        assert rater.answer(0, "A").status_code == 200
    page.wait_for_function("text => document.querySelector('.cards dd').innerText !== text", arg=before)


def test_a_disputed_item_is_decided_by_keyboard(page: Any, store: Path) -> None:
    page.goto(f"{STUDY}/adjudicate")
    heading = page.locator("#disputed").inner_text()
    page.locator("input[name=why]").focus()
    page.keyboard.type("the first knows the budget")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_function("text => document.querySelector('#disputed')?.innerText !== text", arg=heading)
    with Store(store) as opened:
        (row,) = adjudicated_votes(Studies(opened), "pilot").iter_rows(named=True)
    assert heading.startswith(row["item"])
    assert (row["label"], row["note"]) == ("0", "the first knows the budget")


def test_a_link_is_copied_at_the_press_of_a_button(page: Any) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{STUDY}/invitations")
    page.locator("button[data-copy]").first.click()
    page.wait_for_function("document.querySelector('button[data-copy]').textContent === 'Copied'")
    assert "/join/" in page.evaluate("navigator.clipboard.readText()")
