"""A study from form to tables: forms, votes back, and every table and figure."""

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from personafit._errors import UserError
from personafit.benchmarks.recentering.forms import import_votes, write_forms
from personafit.reporting.recentering_study import load_study, write_study
from tests.preference_world import write_pairs, write_preferences
from tests.scripted import invoke, write_lines


def _labels(folder: Path, users: int = 7) -> Path:
    """Published relevance labels: the first of four attributes is relevant; one model says yes to all, one agrees."""
    folder.mkdir(exist_ok=True)
    rows = [
        {
            "user": f"u{user}",
            "prompt_index": index,
            "prompt": f"Prompt {index}?",
            "attribute": f"The user likes thing {number} of {user}.",
            "relevant": number == 0,
            "model_votes": {"eager": True, "same": number == 0},
        }
        for user in range(users)
        for index in range(2)
        for number in range(4)
    ]
    write_lines(folder / "relevance.jsonl", rows)
    return folder


def _items(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "items.jsonl").read_text(encoding="utf-8").splitlines()]


def _vote(item: Mapping[str, Any], rater: str, label: str, target: str = "", **more: Any) -> dict[str, Any]:
    question = "preference" if target else "relevance"
    extra = {"perspective": "third-party"}
    return {
        "item": item["id"],
        "question": question,
        "target": target,
        "rater": rater,
        "label": label,
        "extra": extra,
    } | more


def test_stage_2_pools_a_prompt_over_people_in_a_drawn_order(tmp_path: Path) -> None:
    counts = write_forms(_labels(tmp_path / "data"), 2, tmp_path / "study")
    assert counts == {"pages": 2, "items": 56, "answers": 56}
    form = json.loads((tmp_path / "study" / "forms.json").read_text(encoding="utf-8"))
    assert form["question"] == "relevance"
    assert "person" in form["hidden"]
    for page in form["pages"]:
        people = [name.split("/")[1] for name in page["items"]]
        assert len(set(people)) == 7
        assert people != sorted(people)
        assert {item["group"] for item in _items(tmp_path / "study") if item["id"] in page["items"]} == {
            page["id"]
        }
    again = write_forms(tmp_path / "data", 2, tmp_path / "again")
    assert again == counts
    assert (tmp_path / "again" / "items.jsonl").read_bytes() == (
        tmp_path / "study" / "items.jsonl"
    ).read_bytes()


def test_votes_come_back_checked_and_make_a_majority(tmp_path: Path) -> None:
    study = tmp_path / "study"
    write_forms(_labels(tmp_path / "data"), 2, study)
    items = _items(study)
    votes = [_vote(item, who, "yes" if who != "c" else "no") for item in items for who in "abc"]
    counts = import_votes(study, [write_lines(tmp_path / "v.jsonl", votes)])
    assert counts == {"read": 168, "new": 168, "corrected": 0, "votes": 168, "gold": 56}
    changed = import_votes(study, [write_lines(tmp_path / "w.jsonl", [_vote(items[0], "a", "no")])])
    assert (changed["new"], changed["corrected"], changed["votes"]) == (0, 1, 168)
    gold = [json.loads(line) for line in (study / "gold.jsonl").read_text(encoding="utf-8").splitlines()]
    labels = {row["item"]: row for row in gold}
    assert labels[items[0]["id"]]["label"] == "no"
    assert labels[items[1]["id"]]["label"] == "yes"
    assert labels[items[1]["id"]]["extra"]["votes"] == {"no": 1, "yes": 2}
    with pytest.raises(UserError, match="is a human rater"):
        import_votes(study, [tmp_path / "w.jsonl"], "simulated")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"item": "nobody"}, "line 1, field 'item': 'nobody' is not in this study"),
        ({"label": "maybe"}, "field 'label' must be one of yes, no"),
        ({"question": "fit"}, "field 'question' must be 'relevance'"),
        ({"target": "x"}, "field 'target' must be left out"),
        ({"extra": None}, "extra.perspective' must be self or third-party"),
    ],
)
def test_votes_that_do_not_fit_are_refused_and_change_nothing(
    tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    study = tmp_path / "study"
    write_forms(_labels(tmp_path / "data"), 2, study)
    bad = write_lines(tmp_path / "v.jsonl", [_vote(_items(study)[0], "a", "yes") | change])
    with pytest.raises(UserError, match=words):
        import_votes(study, [bad])
    assert not (study / "votes.jsonl").exists()
    assert (study / "gold.jsonl").read_text(encoding="utf-8") == ""


def test_the_published_votes_make_kappas_yes_rates_and_scores(tmp_path: Path) -> None:
    study = load_study(str(_labels(tmp_path / "data")), str(tmp_path / "none.db"))
    found = {
        (r.rater, r.metric): r.value for r in study.results if r.control is None and "other" not in r.slice
    }
    assert found["eager", "yes_rate"] == 1.0
    assert found["same", "yes_rate"] == 0.25
    assert found["eager", "precision"] == 0.25
    assert found["eager", "recall"] == 1.0
    assert found["same", "f1"] == 1.0
    blocks = {
        (r.slice["first"], r.slice["second"]): r.value
        for r in study.results
        if r.metric == "kappa_block" and not r.control
    }
    assert blocks["gold", "llm"] == pytest.approx(0.5)
    assert any("majority can be compared" in note for note in study.notes)
    assert not (tmp_path / "none.db").exists()
    published = {
        (r.slice["first"], r.slice["second"]): r.value
        for r in study.results
        if r.metric == "kappa_block" and r.control
    }
    assert published["human", "human"] == pytest.approx(0.426)


def test_people_models_and_runs_meet_in_a_simulated_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_preferences(tmp_path / "little")
    invoke(
        monkeypatch,
        tmp_path,
        "data",
        "forms",
        "recentering",
        "--data",
        "little",
        "--stage",
        "3",
        "--out",
        "study",
    )
    items = _items(tmp_path / "study")
    votes = [
        _vote(item, who, str(1 + (number + shift) % 5), item["products"][2])
        for number, item in enumerate(items)
        for shift, who in enumerate("abc")
    ]
    write_lines(tmp_path / "v.jsonl", votes)
    invoke(monkeypatch, tmp_path, "data", "votes", "study", "v.jsonl", "--kind", "simulated")
    invoke(monkeypatch, tmp_path, "run", "responses", "--data", "study")
    invoke(monkeypatch, tmp_path, "run", "responses", "--data", "study", "--limit", "2")
    capsys.readouterr()
    invoke(monkeypatch, tmp_path, "study", "study", "--out", "tables")
    shown = capsys.readouterr().out
    assert shown.count("judged only a part of the pairs and is left out.") == 1
    assert "simulated" in shown
    assert "The marks of stage 3 are by simulated raters, not by people." in shown
    body = json.loads((tmp_path / "tables" / "study.json").read_text(encoding="utf-8"))
    metrics = {(r["rater"], r["metric"]) for r in body["results"]}
    assert {
        ("simulated", "human_spearman"),
        ("rule:mention", "spearman"),
        ("rule:length", "mention_effect"),
    } <= metrics
    with (tmp_path / "tables" / "judges.csv").open(encoding="utf-8") as file:
        rows = {row["rater"]: row for row in csv.DictReader(file)}
    assert float(rows["rule:mention"]["rating"]) == pytest.approx(4.0)
    assert rows["simulated"]["what"] == "simulated people"
    for name in ("marks.png", "marks.svg"):
        assert (tmp_path / "tables" / name).stat().st_size > 1000


def test_a_study_of_both_stages_writes_all_tables(tmp_path: Path) -> None:
    data = _labels(tmp_path / "data")
    write_pairs(data)
    written = write_study(load_study(str(data), str(tmp_path / "none.db")), tmp_path)
    assert {
        "kappa_blocks.csv",
        "kappa_pairs.csv",
        "yes_rates.csv",
        "relevance_scores.csv",
        "generators.csv",
    } <= set(written)
    assert {
        "kappa_matrix.png",
        "kappa_matrix.svg",
        "yes_rates_and_scores.png",
        "mention.svg",
        "study.json",
    } <= set(written)
    matrix = (tmp_path / "kappa_matrix.svg").read_text(encoding="utf-8")
    assert "<title>Kappa, the highest first: " in matrix
    assert "<image" not in matrix, "a picture would keep its light colours in the dark"


def test_what_is_no_study_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="neither a folder of"):
        load_study("nothing", str(tmp_path / "s.db"))
    with pytest.raises(UserError, match="--stage 4"):
        write_forms(tmp_path, 4, tmp_path / "out")


def test_models_that_judge_what_they_wrote_are_held_against_their_own_naming(tmp_path: Path) -> None:
    writers = ("gpt-9", "gpt-8", "claude-9")
    write_forms(write_pairs(tmp_path / "data", generators=writers), 3, tmp_path / "study")
    items = _items(tmp_path / "study")
    liking = {"gpt-9": 2, "gpt-8": 1, "claude-9": -1}
    votes = [
        _vote(item, judge, str(3 + (more if item["slices"]["generator"].startswith("gpt") else 0)), target)
        for item in items
        for judge, more in liking.items()
        for target in item["products"][2:]
    ]
    import_votes(tmp_path / "study", [write_lines(tmp_path / "v.jsonl", votes)], "llm")
    study = load_study(str(tmp_path / "study"), str(tmp_path / "none.db"))
    effects = {
        r.rater: r.value
        for r in study.results
        if r.metric == "mention_effect" and r.control == "votes in the data"
    }
    named = [item for item in items if item["slices"]["generator"].startswith("gpt")]
    assert len(named) == 16
    # Only the bees are named, and every attribute of those answers is liked: the effect is smaller than the liking.
    assert effects["gpt-9"] > effects["gpt-8"] > 0 > effects["claude-9"]  # type: ignore[operator]
    (against,) = [r for r in study.results if r.metric == "mention_rate_against_effect" and r.control is None]
    assert against.n == 3
    assert against.value == pytest.approx(0.866, abs=0.001)
    assert study.preferences is not None
    assert study.preferences.people_are is None
