"""The head on marks: it learns what there is to learn, nothing from noise, and refuses what does not belong to it."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from personafit import UserError
from personafit._hashing import hash_text
from personafit.items.preference import PREFERENCES
from personafit.models import embeddings as embeddings_module
from personafit.models.embeddings import Vectors, unit_rows
from personafit.raters import make_rater
from personafit.raters.fitted import open_fitted, save_fitted
from personafit.raters.fitted.head import PreferenceHead
from personafit.train import preference as training_module
from personafit.train.cards import write_rater
from personafit.train.preference import (
    ALONE,
    BOTH,
    GAIN,
    PEOPLE,
    PROMPTS,
    SPEARMAN,
    MarkedPairs,
    card,
    cross_fitted,
    fit_head,
    head_quality,
    load_marked,
)
from tests.preference_world import pair, write_preferences
from tests.scripted import invoke


class Letters:
    """An embedder that counts letters."""

    fingerprint = "letters"

    def embed(self, texts: Sequence[str]) -> Vectors:
        return unit_rows(np.array([[text.lower().count(c) + 0.1 for c in "abcdefghij"] for text in texts]))


def _marked(signal: float) -> MarkedPairs:
    rng = np.random.default_rng(3)
    features = rng.normal(size=(300, 14))
    marks = np.clip(3 + signal * features[:, 0] + rng.normal(0, 0.6, 300), 1, 5)
    people = np.array([f"p{n % 20}" for n in range(300)])
    return MarkedPairs(
        features, marks, people, np.array([f"q{n % 15}" for n in range(300)]), None, "simulated"
    )


@pytest.mark.parametrize(("signal", "least", "most"), [(0.8, 0.6, 1.0), (0.0, -0.25, 0.2)])
def test_it_learns_a_signal_and_nothing_from_noise(signal: float, least: float, most: float) -> None:
    marked = _marked(signal)
    found = cross_fitted(marked, "letters", marked.prompts)
    assert np.isfinite(found).all()
    rank = np.corrcoef(np.argsort(np.argsort(found)), np.argsort(np.argsort(marked.marks)))[0, 1]
    assert least <= rank <= most


@pytest.mark.parametrize(("signal", "gains"), [(0.8, True), (0.0, False)])
def test_it_is_measured_beside_the_answers_alone(signal: float, gains: bool) -> None:
    figures = head_quality(_marked(signal), "letters")
    found = {(one.metric, one.split, one.control): one.estimate for one in figures}
    for split in (PROMPTS, PEOPLE, BOTH):
        gain = found[GAIN, split, None]
        assert gain.value == pytest.approx(
            (found[SPEARMAN, split, None].value or 0) - (found[SPEARMAN, split, ALONE].value or 0)
        )
        assert gain.low is not None
        assert (gain.low > 0) == gains
        assert found[SPEARMAN, split, None].n == 300, "every mark was left out once"


def test_a_head_that_left_both_out_saw_neither(monkeypatch: pytest.MonkeyPatch) -> None:
    marked, seen = _marked(0.8), []

    def watch(given: MarkedPairs, embedder: str, rows: NDArray[np.intp]) -> PreferenceHead:
        seen.append(rows)
        return fit_head(given, embedder, rows)

    monkeypatch.setattr(training_module, "fit_head", watch)
    cross_fitted(marked, "letters", marked.prompts, marked.people)
    assert len(seen) == 25
    folds = {frozenset(marked.people[rows]) for rows in seen}
    assert len(folds) == 5, "a fifth of the people at a time"
    assert all(len(set(marked.people[rows])) == 16 and len(set(marked.prompts[rows])) == 12 for rows in seen)


def test_its_card_says_what_it_is_worth(tmp_path: Path) -> None:
    marked = _marked(0.8)
    figures = head_quality(marked, "letters")
    head = fit_head(marked, "letters")
    write_rater(tmp_path, head, figures, card(head, marked, figures, "little"), "little")
    assert len(json.loads((tmp_path / "quality.json").read_text(encoding="utf-8"))) == len(figures)
    said = (tmp_path / "card.md").read_text(encoding="utf-8")
    assert "Fitted on 300 marks" in said
    assert "15 prompts, 20 people, marks of simulated raters" in said
    assert "The marks are simulated" in said
    for row in ("head", "answers alone"):
        assert f"| {row} |" in said


def test_what_cannot_be_left_out_is_said(tmp_path: Path) -> None:
    marked = replace(_marked(0.8), prompts=np.array(["the only one"] * 300), voters="human", ceiling=0.4)
    figures = head_quality(marked, "letters")
    text = card(fit_head(marked, "letters"), marked, figures, "little")
    assert "| prompts left out | 0 | – |" in text
    assert "Single raters correlate with each other at 0.40" in text
    assert "simulated" not in text


def test_a_head_is_kept_and_read_back_and_a_changed_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from personafit.benchmarks.responses import open_responses

    monkeypatch.setitem(embeddings_module.EMBEDDERS, embeddings_module.DEFAULT, Letters)
    marked = load_marked(open_responses(write_preferences(tmp_path / "little", people=24)), Letters())
    assert (len(marked), marked.voters, marked.ceiling) == (24, "gold", None)
    path = save_fitted(fit_head(marked, "letters"), tmp_path)
    rater = make_rater(f"fitted:{tmp_path}", PREFERENCES)
    verdict = asyncio.run(rater.rate(pair()))
    assert [one.part.target for one in verdict.answers] == ["a0", "a1"]
    assert all(one.value is not None and 1 <= one.value <= 5 and one.label for one in verdict.answers)
    assert hash_text("What shall I bake?") in rater.fitted_on
    document = json.loads(path.read_text(encoding="utf-8"))
    document["model"]["embedder_fingerprint"] = "other"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(UserError, match="two files do not belong together"):
        make_rater(f"fitted:{tmp_path}", PREFERENCES)
    save_fitted(fit_head(marked, "other letters"), tmp_path)
    with pytest.raises(UserError, match="fitted with another version of the embedder 'use'"):
        make_rater(f"fitted:{tmp_path}", PREFERENCES)
    with pytest.raises(UserError, match="nowhere is missing; `personafit train preference"):
        make_rater(f"fitted:{tmp_path / 'nowhere'}", PREFERENCES)


def test_too_few_marks_are_said(tmp_path: Path) -> None:
    from personafit.benchmarks.responses import open_responses

    with pytest.raises(ValueError, match="8 marks are too few"):
        load_marked(open_responses(write_preferences(tmp_path / "little")), Letters())


def test_the_command_prints_the_card_it_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(embeddings_module.EMBEDDERS, embeddings_module.DEFAULT, Letters)
    write_preferences(tmp_path / "little", people=24)
    invoke(monkeypatch, tmp_path, "train", "preference", "--data", "little", "--out", "head")
    written = (tmp_path / "head" / "card.md").read_text(encoding="utf-8")
    assert written in capsys.readouterr().out
    assert "from little" in written
    open_fitted(tmp_path / "head", "preference")
