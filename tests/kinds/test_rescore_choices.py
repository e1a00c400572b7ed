"""Reading stored replies again: a better parser adds judgments, keeps the old ones and asks nobody."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from sqlalchemy import select

import personafit as pf
from personafit import QuestionSet, Store
from personafit.benchmarks import ImportedPairs, RunConfig, write_folder
from personafit.items import ChoiceQuestion
from personafit.kinds.choice import ChoiceKind
from personafit.reports.run_report import open_report
from personafit.store import RunRecord, run_answers
from personafit.store import tables as t
from tests.scripted import run, simple_pairs, write_lines, write_pairs

REPLIES: dict[str, dict[str, Any]] = {
    "pairs/2|profile|01|0": {"reply": "A"},
    "pairs/2|profile|10|0": {"reply": "I would pick A!!"},  # today's parser cannot read this one
    "pairs/3|profile|01|0": {"reply": "Both."},
    "pairs/3|profile|10|0": {"reply": "…", "letter_scores": {"A": -1.0, "B": -2.0}},
}


class Better(ChoiceQuestion):
    """A parser that learnt to read one more form."""

    def parse(self, reply: str, count: int) -> str | None:
        match = re.fullmatch(r"I would pick ([A-H])!*", reply)
        return match[1] if match else super().parse(reply, count)


class Forgetful(ChoiceQuestion):
    """A parser that reads nothing."""

    def parse(self, reply: str, count: int) -> str | None:
        return None


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.db") as opened:
        yield opened


@pytest.fixture
def judged(tmp_path: Path, store: Store) -> RunRecord:
    """A finished run of a recording whose replies are partly unreadable."""
    write_folder(
        tmp_path / "mine", ImportedPairs(write_pairs(tmp_path / "pairs.csv", simple_pairs(people=2)))
    )
    recording = write_lines(tmp_path / "said.jsonl", [{"key": key, **row} for key, row in REPLIES.items()])
    config = RunConfig(str(tmp_path / "mine"), raters=[f"replay:{recording}"], contexts=["profile"])
    return run(store, config).run


def counts(store: Store) -> tuple[int, int]:
    """How many asks and judgments there are."""
    return len(store.frame(select(t.asks.c.id))), len(store.frame(select(t.judgments.c.ask)))


def said(store: Store, judged: RunRecord) -> dict[tuple[str, str], tuple[str, str | None]]:
    """What counts for each item and order of the recording."""
    frame = run_answers(store, judged.id).filter(pl.col("order") != "")
    rows = frame.select("item", "order", "status", "label").iter_rows()
    return {(item, order): (status, label) for item, order, status, label in rows}


def coverage(store: Store, judged: RunRecord) -> float | None:
    (total,) = (
        result
        for result in open_report(store, judged).results
        if (result.rater or "").startswith("replay") and result.metric == "accuracy" and not result.slice
    )
    return total.coverage


def test_a_better_parser_adds_judgments_keeps_the_old_and_asks_nobody(
    store: Store, judged: RunRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    asks, judgments = counts(store)
    before = said(store, judged)
    assert before["pairs/2", "10"] == ("unparsed", None)
    assert before["pairs/3", "01"] == ("unparsed", None)
    assert before["pairs/3", "10"] == ("ok", "1")
    assert coverage(store, judged) == 0.5
    monkeypatch.setattr(ChoiceKind, "asks", QuestionSet("choice", (Better(),)))
    assert pf.rescore(judged.name, store=store) == (3, 1)
    assert counts(store) == (asks, judgments + 1)
    after = said(store, judged)
    assert after["pairs/2", "10"] == ("ok", "1"), "the letter A of order 10 is product 1"
    assert {key: after[key] for key in after if key != ("pairs/2", "10")} == {
        key: before[key] for key in before if key != ("pairs/2", "10")
    }
    assert coverage(store, judged) == 0.75
    readings = store.frame(
        select(t.judgments.c.parse, t.judgments.c.status)
        .where(t.judgments.c.item == "pairs/2", t.judgments.c.rater == _replay(judged))
        .order_by(t.judgments.c.parse)
    )
    assert sorted(readings.rows()) == [(0, "ok"), (0, "unparsed"), (1, "ok")]


def test_a_worse_parser_supersedes_too_and_can_be_undone(
    store: Store, judged: RunRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = said(store, judged)
    with monkeypatch.context() as patch:
        patch.setattr(ChoiceKind, "asks", QuestionSet("choice", (Forgetful(),)))
        assert pf.rescore(judged.name, store=store) == (3, 1)
        assert said(store, judged)["pairs/2", "01"] == ("unparsed", None)
        assert said(store, judged)["pairs/3", "10"] == ("ok", "1")
    assert pf.rescore(judged.name, store=store) == (3, 1)
    assert said(store, judged) == before


def test_rules_leave_nothing_to_read_again(tmp_path: Path, store: Store) -> None:
    pairs = write_pairs(tmp_path / "pairs.csv", simple_pairs(people=2))
    write_folder(tmp_path / "mine", ImportedPairs(pairs))
    finished = run(store, RunConfig(str(tmp_path / "mine")))
    assert pf.rescore(finished.run.name, store=store) == (0, 0)


def _replay(judged: RunRecord) -> str:
    (found,) = (rater["fingerprint"] for rater in judged.config["raters"] if rater["kind"] == "replay")
    return str(found)
