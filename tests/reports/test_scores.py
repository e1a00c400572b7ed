"""A run opened up by the item, from answers read again or from those that adding it up has kept."""

from pathlib import Path

import pytest
from polars.testing import assert_frame_equal

from personafit.kinds.choice_scores import load_scores
from personafit.reports import load_totals
from personafit.reports.totals import held_answers
from personafit.store import Judgment, Store, run_answers
from tests.reports.test_report_page import make_report


def test_answers_that_were_kept_are_those_that_would_be_read(tmp_path: Path) -> None:
    make_report(tmp_path, ["one", "two", "three"])
    with Store(tmp_path / "store.db") as store:
        run = store.run("made-1")
        held = held_answers(store, load_totals(store, run))
        assert held is not None
        read = run_answers(store, run.id)
        shared = [name for name in read.columns if name in held.columns]
        assert {"item", "job", "question", "target", "status", "label", "value", "order"} <= set(shared)
        assert_frame_equal(held.select(shared), read.select(shared))
        fresh, kept = load_scores(store, run), load_scores(store, run, held)
        assert_frame_equal(fresh.items, kept.items)
        assert list(fresh.scores) == list(kept.scores)
        for key, frame in fresh.scores.items():
            assert_frame_equal(frame, kept.scores[key])


def test_nothing_is_held_of_a_run_too_long_or_with_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_report(tmp_path, ["one", "two", "three"])
    with Store(tmp_path / "store.db") as store:
        run = store.run("made-1")
        part = Judgment(ask="0-0-profile-01", item="made/0", rater="f0", target="depth", value=1.0)
        with monkeypatch.context() as patch:
            patch.setattr("personafit.reports.totals.MAX_ITEMS", 2)
            assert held_answers(store, load_totals(store, run)) is None
        store.add_judgments([part])
        assert held_answers(store, load_totals(store, run)) is None
        assert len(load_scores(store, run).parts) == 1
