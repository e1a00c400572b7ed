"""The head on marks: it learns what there is to learn, nothing from noise, and refuses what does not belong to it."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.models.embeddings import Vectors, unit_rows
from personafit.raters.preference import head as head_module
from personafit.raters.preference import make_preference_rater
from personafit.training.preference_head import Marked, cross_fitted, fit_head, load_marked
from tests.preference_world import pair, write_preferences


class Letters:
    """An embedder that counts letters."""

    fingerprint = "letters"

    def embed(self, texts: Sequence[str]) -> Vectors:
        return unit_rows(np.array([[text.lower().count(c) + 0.1 for c in "abcdefghij"] for text in texts]))


def _marked(signal: float) -> Marked:
    rng = np.random.default_rng(3)
    features = rng.normal(size=(300, 14))
    marks = np.clip(3 + signal * features[:, 0] + rng.normal(0, 0.6, 300), 1, 5)
    people = np.array([f"p{n % 20}" for n in range(300)])
    return Marked(features, marks, people, np.array([f"q{n % 15}" for n in range(300)]), None, "simulated")


@pytest.mark.parametrize(("signal", "least", "most"), [(0.8, 0.6, 1.0), (0.0, -0.25, 0.2)])
def test_it_learns_a_signal_and_nothing_from_noise(signal: float, least: float, most: float) -> None:
    marked = _marked(signal)
    found = cross_fitted(marked, "letters", marked.prompts)
    assert np.isfinite(found).all()
    rank = np.corrcoef(np.argsort(np.argsort(found)), np.argsort(np.argsort(marked.marks)))[0, 1]
    assert least <= rank <= most


def test_a_head_is_kept_and_read_back_and_a_changed_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from personafit.benchmarks.recentering.responses import open_responses

    monkeypatch.setattr(head_module, "make_embedder", Letters)
    marked = load_marked(open_responses(write_preferences(tmp_path / "little", people=24)), Letters())
    assert (len(marked), marked.voters, marked.ceiling) == (24, "gold", None)
    fit_head(marked, "letters").save(tmp_path, {"marks": len(marked)})
    rater = make_preference_rater(f"fitted:{tmp_path}")
    verdict = asyncio.run(rater.judge(pair()))
    assert [part.target for part in verdict.parts] == ["a0", "a1"]
    assert all(part.value is not None and 1 <= part.value <= 5 and part.label for part in verdict.parts)
    assert hash_text("What shall I bake?") in rater.fitted_on  # type: ignore[attr-defined]
    card = json.loads((tmp_path / "head.json").read_text(encoding="utf-8"))
    (tmp_path / "head.json").write_text(json.dumps({**card, "embedder": "other"}), encoding="utf-8")
    with pytest.raises(UserError, match="does not belong to its weights"):
        make_preference_rater(f"fitted:{tmp_path}")
    with pytest.raises(UserError, match="holds no fitted head"):
        make_preference_rater(f"fitted:{tmp_path / 'nowhere'}")


def test_too_few_marks_are_said(tmp_path: Path) -> None:
    from personafit.benchmarks.recentering.responses import open_responses

    with pytest.raises(ValueError, match="8 marks are too few"):
        load_marked(open_responses(write_preferences(tmp_path / "little")), Letters())
