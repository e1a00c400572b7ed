"""What the item browser is given: blocks that come back as they went in, and raw replies as far as a page has room."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import polars as pl
import pytest

from personafit import Status, Store
from personafit.reports import browse
from personafit.reports.browse import LEFT_OUT, frame_blocks, list_blocks, raw_replies
from personafit.reports.totals import load_totals
from personafit.store import Ask, Outcome, RunRecord
from tests.reports.test_report_page import make_report
from tests.reports.unpacking import unpacked

HOSTILE = [
    "</script><!-- & \u2028\u2029 \U0001f600",
    'quote " backslash \\ newline \n nul \x00',
    "\u202eright to left\ufeff",
    "",
    "你好",
]
TEXTS = ["Apples", "pears", "plums", "kiwis"]
ASKS = 18  # an item: three raters, three contexts, two orders


def test_lists_come_back_in_order_and_nothing_in_a_block_looks_like_markup() -> None:
    values = [*HOSTILE, {"a": [1, None, 2.5]}, None]
    blocks = list_blocks(values, 3)
    assert len(blocks) == 3
    assert [value for block in blocks for value in unpacked(block)] == values
    assert not set("<>&\"'\\ \n") & set("".join(blocks))
    assert list_blocks([], 3) == []
    texts = [f"Answer {n}: a plan for the week that fits what you like, step by step." for n in range(200)]
    assert sum(map(len, list_blocks(texts, 100))) < len(orjson.dumps(texts)) / 4


def test_rows_come_back_in_order() -> None:
    frame = pl.DataFrame(
        {
            "text": [[text] for text in HOSTILE],
            "value": [[0.1234, None], [float("nan")], [], [-1e-9], [float("inf")]],
        }
    )
    blocks = frame_blocks(frame, 2)
    rows = [row for block in blocks for row in unpacked(block)]
    assert len(blocks) == 3
    assert [row["text"] for row in rows] == [[text] for text in HOSTILE]
    assert [row["value"] for row in rows] == [[0.1234, None], [None], [], [-1e-9], [None]]


def asks(folder: Path) -> list[dict[str, Any]]:
    """What the page of a run of choices holds of every item's asks."""
    with Store(folder / "store.db") as store:
        blocks = browse.browser_data(store, load_totals(store, store.run("last")))["blocks"]["asks"]
    return [item for block in blocks for item in unpacked(block)]


def test_replies_of_a_part_of_a_run_are_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_report(tmp_path, TEXTS)
    monkeypatch.setattr(browse, "READ", 5)
    monkeypatch.setattr("personafit.reports.totals.MAX_ITEMS", 2)
    replies = [reply for item in asks(tmp_path) for reply in item["reply"]]
    assert len(replies) == 2 * ASKS
    assert set(replies) < {f"reply {text}" for text in TEXTS}


def test_replies_fill_the_room_and_then_there_is_a_remark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_report(tmp_path, TEXTS)
    monkeypatch.setattr(browse, "READ", 5)
    whole = [reply for item in asks(tmp_path) for reply in item["reply"]]
    assert whole == [f"reply {text}" for text in TEXTS for _ in range(ASKS)]
    monkeypatch.setattr(browse, "MAX_REPLIES", len("reply Apples") * ASKS + 1)
    first, *others = asks(tmp_path)
    assert first["reply"] == ["reply Apples"] * ASKS
    assert set(first["detail"]) == {None}
    assert [item["detail"] for item in others] == [[LEFT_OUT] * ASKS] * 3
    assert {reply for item in others for reply in item["reply"]} == {None}
    monkeypatch.setattr(browse, "MAX_REPLY", 8)
    assert asks(tmp_path)[0]["reply"][0] == "reply Ap … (4 more characters in the store)"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.db") as opened:
        yield opened


@pytest.fixture
def judged(store: Store) -> RunRecord:
    """Three items about each of which one rater said a hundred letters."""
    run = store.begin_run("said-1", "data@1", {}, 3)
    asks = [
        Ask(id=item, job=item, item=item, question="fit", rater="judge", context="profile", order="", status=Status.OK,
            reply=item * 100, at=1.0)
        for item in "cab"
    ]  # fmt: skip
    store.plan_jobs(run.id, [ask.job for ask in asks])
    store.write([Outcome(ask=ask, judgments=[]) for ask in asks])
    return run


def test_replies_about_parts_of_items_come_by_item_and_what_is_not_shown_takes_no_room(
    store: Store, judged: RunRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    def replies(items: str) -> list[tuple[str, str | None, str | None]]:
        found = raw_replies(store, judged, {item: item for item in items}, ["judge"])
        return [(one["item"], one["reply"], one["detail"]) for asks in found.values() for one in asks]

    monkeypatch.setattr(browse, "READ", 1)
    assert [reply for _, reply, _ in replies("abc")] == ["a" * 100, "b" * 100, "c" * 100]
    monkeypatch.setattr(browse, "MAX_REPLIES", 150)
    assert replies("abc") == [("a", "a" * 100, None), ("b", None, LEFT_OUT), ("c", None, LEFT_OUT)]
    assert replies("c") == [("c", "c" * 100, None)]
    monkeypatch.setattr(browse, "MAX_REPLY", 10)
    assert replies("b") == [("b", "bbbbbbbbbb … (90 more characters in the store)", None)]
