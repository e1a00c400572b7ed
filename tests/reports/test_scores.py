"""A run opened up by the item, from pages read again or from those that adding it up has kept."""

from pathlib import Path

import pytest
from polars.testing import assert_frame_equal

import personafit as pf
from personafit import Store
from personafit.kinds.choice import load_scores
from personafit.reports.run_report import open_report
from personafit.reports.totals import load_totals
from personafit.store import Judgment, run_answers
from tests.reports.test_report_page import make_report


def test_pages_that_were_kept_are_those_that_would_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_report(tmp_path, ["one", "two", "three"])
    with Store(tmp_path / "store.db") as store:
        run = store.run("made-1")
        kept = load_totals(store, run).pages
        assert kept is not None
        fresh, held, read = load_scores(store, run), load_scores(store, run, kept), run_answers(store, run.id)
        shared = [name for name in read.columns if name in held.answers.columns]
        assert {"item", "job", "question", "target", "status", "label", "value", "order"} <= set(shared)
        assert_frame_equal(held.answers.select(shared), read.select(shared))
        assert_frame_equal(fresh.items, held.items)
        assert list(fresh.scores) == list(held.scores)
        for key, frame in fresh.scores.items():
            assert_frame_equal(frame, held.scores[key])
        monkeypatch.setattr("personafit.reports.totals.MAX_ITEMS", 2)
        assert load_totals(store, run).pages is None, "a part of a run is not the run"


def test_what_was_said_of_parts_of_answers_stands_apart(tmp_path: Path) -> None:
    make_report(tmp_path, ["one", "two", "three"])
    with Store(tmp_path / "store.db") as store:
        run = store.run("made-1")
        answers = load_scores(store, run).answers
        store.add_judgments(
            [Judgment(ask="0-0-profile-01", item="made/0", rater="f0", target="depth", value=1.0)]
        )
        scores = load_scores(store, run)
        assert len(scores.parts) == 1
        assert_frame_equal(scores.answers, answers)


def test_a_run_without_the_contexts_of_a_lift_says_which_one_it_lacks(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    pf.evaluate("starter", contexts=["profile", "none"], limit=4, store=store, progress=False)
    pf.evaluate("starter", limit=4, store=store, progress=False)
    with Store(store) as opened:
        whole, part = (
            open_report(opened, run).table()
            for run in sorted(opened.runs(), key=lambda one: len(one.contexts), reverse=True)
        )
    assert part.note.endswith("Lift needs --context wrong:profile.")
    assert "needs" not in whole.note
