"""Raw replies for a page: only what the page shows is read, long ones are cut, and what is too much is said to be left out."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from personafit.reporting import rated_items
from personafit.reporting.browse import LEFT_OUT
from personafit.reporting.rated_items import raw_replies
from personafit.store import Ask, Outcome, RunRecord, Status, Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.db") as opened:
        yield opened


@pytest.fixture
def judged(store: Store) -> RunRecord:
    """Three items about each of which one rater said a hundred letters."""
    run = store.begin_run("said-1", "data@1", {}, 3)
    asks = [
        Ask(id=item, job=item, item=item, question="fit", rater="judge", view="profile", order="", status=Status.OK,
            reply=item * 100, at=1.0)
        for item in "cab"
    ]  # fmt: skip
    store.plan_jobs(run.id, [ask.job for ask in asks])
    store.write([Outcome(ask=ask, judgments=[]) for ask in asks])
    return run


def replies(store: Store, judged: RunRecord, items: str) -> list[dict[str, Any]]:
    found = raw_replies(store, judged, {item: item for item in items}, {"judge": 0})
    return [one for asks in found.values() for one in asks]


def test_replies_come_by_item_however_few_are_read_at_a_time(
    store: Store, judged: RunRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rated_items, "ROWS", 1)
    assert [one["reply"] for one in replies(store, judged, "abc")] == ["a" * 100, "b" * 100, "c" * 100]


def test_what_the_page_does_not_show_takes_no_room(
    store: Store, judged: RunRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rated_items, "MAX_REPLIES", 150)
    everything = [(one["item"], one["reply"], one["detail"]) for one in replies(store, judged, "abc")]
    assert everything == [("a", "a" * 100, None), ("b", None, LEFT_OUT), ("c", None, LEFT_OUT)]
    assert [(one["item"], one["reply"]) for one in replies(store, judged, "c")] == [("c", "c" * 100)]


def test_a_long_reply_is_cut(store: Store, judged: RunRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rated_items, "MAX_REPLY", 10)
    (only,) = replies(store, judged, "b")
    assert only["reply"] == "bbbbbbbbbb … (90 more characters in the store)"
