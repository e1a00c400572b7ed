"""Raw replies in a page with little room: in the order shown as far as they fit, a remark for the rest, however they were read."""

from pathlib import Path
from typing import Any

import pytest

from personafit.reporting import browse, load_totals
from personafit.reporting.browse import unpacked
from personafit.store import Store
from tests.reporting.test_report_page import make_report

TEXTS = ["Apples", "pears", "plums", "kiwis"]
ASKS = 18  # an item: three raters, three views, two orders


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_report(tmp_path, TEXTS)
    return tmp_path


def asks(folder: Path) -> list[dict[str, Any]]:
    """What the page holds of every item's asks."""
    with Store(folder / "store.db") as store:
        blocks = browse.browser_data(store, load_totals(store, store.run("last")))["blocks"]["asks"]
    return [item for block in blocks for item in unpacked(block)]


def replies(items: list[dict[str, Any]]) -> list[str | None]:
    """Replies of all items that have no detail, whose place a remark would take."""
    return [reply for item in items for reply in item["reply"]]


@pytest.mark.parametrize("read", [1, 5, 1_000])
def test_replies_in_parts_are_those_of_one_go(
    folder: Path, monkeypatch: pytest.MonkeyPatch, read: int
) -> None:
    whole = asks(folder)
    assert replies(whole) == [f"reply {text}" for text in TEXTS for _ in range(ASKS)]
    monkeypatch.setattr(browse, "READ", read)
    monkeypatch.setattr(browse, "_characters", lambda *_: browse.MAX_REPLIES + 1)
    assert asks(folder) == whole


@pytest.mark.parametrize("read", [1, 5, 1_000])
def test_beyond_the_room_there_is_a_remark(folder: Path, monkeypatch: pytest.MonkeyPatch, read: int) -> None:
    monkeypatch.setattr(browse, "READ", read)
    monkeypatch.setattr(browse, "MAX_REPLIES", len("reply Apples") * ASKS + 1)
    first, *others = asks(folder)
    assert replies([first]) == ["reply Apples"] * ASKS
    assert set(first["detail"]) == {None}
    assert [item["detail"] for item in others] == [[browse.LEFT_OUT] * ASKS] * 3
    assert set(replies(others)) == {None}


def test_a_long_reply_is_cut_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browse, "MAX_REPLY", 8)
    whole = replies(asks(folder))
    assert whole[0] == "reply Ap … (4 more characters in the store)"
    monkeypatch.setattr(browse, "_characters", lambda *_: browse.MAX_REPLIES + 1)
    assert replies(asks(folder)) == whole
