"""A biased judge corrected by few human labels: intervals that cover, labels that are worth more, and bad files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

import personafit as pf
from personafit import Store, UserError
from personafit.kinds.choice import RunScores
from personafit.reports.correction import (
    Correction,
    HumanLabels,
    _agree,
    _place,
    analyze_correction,
    correct,
    correction_results,
    read_labels,
)
from personafit.store import Item
from tests.reports.judged import Judge, World, make_world
from tests.scripted import write_lines


def whole(corrections: list[Correction]) -> Correction:
    """The one over all items."""
    (found,) = (row for row in corrections if not row.slice)
    return found


def said(votes: Mapping[str, list[str]], weights: Mapping[str, float] | None = None) -> HumanLabels:
    """Labels of whole items."""
    whole_items = {(item, ""): voted for item, voted in votes.items()}
    return HumanLabels(whole_items, weights={(item, ""): weight for item, weight in (weights or {}).items()})


@pytest.fixture(scope="module")
def tested(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A win rate of 30 people: the judge likes long answers, people do not care for length."""
    judge = Judge("long", weights={"truth": 1.0, "length": 1.0})
    folder = tmp_path_factory.mktemp("tested")
    return make_world(folder, [judge], {"mention": 2.0}, people=30, each=20, metric="win_rate", seed=1)


def people_say(world: World, rng: np.random.Generator) -> dict[str, str]:
    """What people would say about every item."""
    draws = rng.random(len(world.truth)) > expit(world.truth)
    return {item: str(int(draw)) for item, draw in zip(world.scores.items["item"], draws, strict=True)}


def biased(scores: RunScores, labels: dict[str, str], rng: np.random.Generator) -> RunScores:
    """The same run judged by someone who is right two times of three and else sides with the tested answer."""
    gold = dict(scores.items.select("item", "gold").iter_rows())
    human = np.array([float(labels[item] == gold[item]) for item in scores.items["item"]])
    judged = np.where(rng.random(len(human)) < 2 / 3, human, 1.0)
    frames = {key: frame.with_columns(pl.Series("accuracy", judged)) for key, frame in scores.scores.items()}
    return RunScores(scores.run, scores.info, scores.items, frames, scores.answers)


def test_corrected_intervals_cover_where_the_judge_alone_fails(tested: World) -> None:
    rng = np.random.default_rng(0)
    runs, hits, worth, widths = 30, np.zeros(3), 0.0, np.zeros(2)
    items = tested.scores.items["item"].to_list()
    gold = dict(tested.scores.items.select("item", "gold").iter_rows())
    people = tested.scores.items["person"].to_list()
    for _ in range(runs):
        # Everybody has their own taste: the truth is the mean over all people there could be, 60 %.
        taste = dict(zip(sorted(set(people)), np.clip(rng.normal(0.6, 0.15, 30), 0, 1), strict=True))
        won = {item: rng.random() < taste[person] for item, person in zip(items, people, strict=True)}
        labels = {item: gold[item] if won[item] else str(1 - int(gold[item])) for item in items}
        scores = biased(tested.scores, labels, rng)
        part = rng.choice(items, 150, replace=False)
        found = whole(correct(scores, said({item: [labels[item]] for item in part})))
        for place, estimate in enumerate((found.found.corrected, found.found.human, found.found.machine)):
            assert estimate.low is not None
            assert estimate.high is not None
            hits[place] += estimate.low <= 0.6 <= estimate.high
            if place < 2:
                widths[place] += estimate.high - estimate.low
        worth += found.worth.value or 0.0
    coverage = hits / runs
    assert coverage[0] >= 0.8, "how closely it covers is tested with the statistic itself"
    assert coverage[2] < 0.2
    assert widths[0] < 0.95 * widths[1]
    assert worth / runs > 170


def test_agreement_with_people_is_corrected_where_gold_is_another(tmp_path: Path) -> None:
    world = make_world(tmp_path, [Judge("j", weights={"truth": 1.0})], {"mention": 2.0}, people=30)
    rng = np.random.default_rng(1)
    labels = people_say(world, rng)
    everyone = whole(correct(world.scores, said({i: [v] for i, v in labels.items()})))
    assert everyone.found.corrected == everyone.found.human
    truth = everyone.found.human.value
    assert truth is not None
    hits, found = 0, list[Correction]()
    for _ in range(15):
        part = rng.choice(list(labels), 200, replace=False)
        found = correct(world.scores, said({item: [labels[item]] for item in part}))
        corrected = whole(found).found.corrected
        assert corrected.low is not None
        assert corrected.high is not None
        hits += corrected.low <= truth <= corrected.high
    assert hits >= 12
    assert whole(found).metric == "accuracy"
    assert {row.slice.get("tier") for row in found} == {None, "easy", "hard"}
    results = list(correction_results(found))
    assert {result.metric for result in results} == {
        "accuracy_corrected",
        "accuracy_human",
        "accuracy_machine",
        "effective_human_labels",
    }
    assert all(result.value is not None or result.note for result in results)


def test_a_slice_that_is_everything_is_left_out(tested: World) -> None:
    scores = tested.scores
    halved = {key: frame.with_columns(half=pl.lit("general")) for key, frame in scores.scores.items()}
    info = {**scores.info, "layout": [["half", "tier"], ["half"]]}
    one_half = RunScores(scores.run, info, scores.items, halved, scores.answers)
    found = correct(one_half, said({scores.items["item"][0]: ["0"]}))
    assert [row.slice for row in found] == [
        {},
        {"half": "general", "tier": "easy"},
        {"half": "general", "tier": "hard"},
    ]


def test_a_part_that_was_picked_is_noticed(tested: World) -> None:
    frame = next(iter(tested.scores.scores.values()))
    won = frame.filter(pl.col("accuracy") == 1.0)["item"].to_list()[:150]
    picked = whole(correct(tested.scores, said({item: ["0"] for item in won})))
    assert "does not look drawn at random" in (picked.found.corrected.note or "")


def test_few_people_and_equal_labels_give_a_sentence(tested: World) -> None:
    items = tested.scores.items.filter(pl.col("person") == "p000")["item"].to_list()
    one = whole(correct(tested.scores, said({item: ["0"] for item in items})))
    assert one.found.corrected.value is not None
    assert one.found.corrected.low is None
    assert "at least 6 people" in (one.found.corrected.note or "")
    assert one.worth.value is None
    assert one.worth.note


def test_several_voters_are_averaged_and_ties_are_halves(tested: World) -> None:
    items = tested.scores.items
    gold = dict(items.select("item", "gold").iter_rows())
    votes = {item: [gold[item], gold[item], "tie", str(1 - int(gold[item]))] for item in items["item"]}
    found = whole(correct(tested.scores, said(votes)))
    assert found.found.human.value == pytest.approx(2.5 / 4)


def test_a_tie_among_four_answers_agrees_as_often_as_guessing() -> None:
    assert _agree(["0", "1"], ["tie"]) == 0.5
    assert _agree(["0", "1"], ["tie", "0"], options=4) == (0.25 + 1.0 + 0.25 + 0.0) / 4


def test_a_run_without_answers_gives_a_sentence(tmp_path: Path) -> None:
    world = make_world(tmp_path, [Judge("broken", failing=True)], people=8, each=3)
    labels = said({item: ["0"] for item in world.scores.items["item"]})
    found = whole(correct(world.scores, labels))
    assert found.found.corrected.value is None
    assert found.found.corrected.note


def test_files_of_both_kinds_are_read(tested: World, tmp_path: Path) -> None:
    items = tested.scores.items["item"].to_list()
    rows: list[dict[str, Any]] = [
        {"item": items[0], "label": "0"},
        {"item": items[0], "label": "1"},
        {"item": items[1], "rater": "ann", "label": "0", "question": "fit"},
        {"item": items[1], "rater": "ann", "label": "tie"},
        {"item": items[1], "rater": "bob", "label": "1", "extra": {"perspective": "self"}},
        {"item": items[2], "rater": "ann", "status": "skipped"},
        {"item": "elsewhere/1", "label": "0"},
    ]
    labels = read_labels(write_lines(tmp_path / "human.jsonl", rows), tested.store, tested.scores)
    assert labels.votes == {(items[0], ""): ["0", "1"], (items[1], ""): ["tie", "1"]}
    assert labels.left_out == 2


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([], r"has no label .*; write lines such as .\"item\": \"ITEM\", \"label\": \"LABEL\""),
        ([{"item": "elsewhere/1", "label": "0"}], "has no label for an item of made-1"),
        ([{"label": "0"}], "line 1, field 'item' is missing"),
        ([{"item": "made/000/0"}], "line 1, field 'label' is missing"),
        ([{"item": "made/000/0", "label": "A"}], "'A' is no answer to 'made/000/0'; use 0, 1 or tie"),
        ([{"item": "made/000/0", "label": 0}], "field 'label' must be a text"),
        ([{"item": "made/000/0", "rater": "ann"}], "field 'label' is missing"),
    ],
)
def test_bad_files_are_refused_in_a_sentence(
    tested: World, tmp_path: Path, rows: list[dict[str, Any]], sentence: str
) -> None:
    path = write_lines(tmp_path / "human.jsonl", rows)
    with pytest.raises(UserError, match=sentence):
        read_labels(path, tested.store, tested.scores)


def test_a_missing_file_is_named(tested: World, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a file; --human"):
        read_labels(tmp_path / "nowhere.jsonl", tested.store, tested.scores)


def test_labels_of_one_tier_are_not_read_as_labels_of_all(tested: World) -> None:
    frame = next(iter(tested.scores.scores.values()))
    rng = np.random.default_rng(5)
    hard = frame.filter(pl.col("tier") == "hard")["item"].to_list()
    noticed = 0
    for _ in range(10):
        labels = {item: ["0"] for item in rng.choice(hard, 60, replace=False)}
        found = correct(tested.scores, said(labels))
        everything = whole(found)
        assert everything.found.corrected.value is None
        assert everything.worth.value is None
        noticed += "labels come only from tier hard, none from easy" in (
            everything.found.corrected.note or ""
        )
        (own,) = (row for row in found if row.slice == {"tier": "hard"})
        assert own.found.corrected.value is not None, "the tier itself is corrected"
    assert noticed == 10


def test_labels_are_never_worth_more_than_labels_on_all_items(tested: World) -> None:
    scores = tested.scores
    rng = np.random.default_rng(6)
    gold = dict(scores.items.select("item", "gold").iter_rows())
    labels = people_say(tested, rng)
    human = np.array([float(labels[item] == gold[item]) for item in scores.items["item"]])
    frames = {key: frame.with_columns(pl.Series("accuracy", human)) for key, frame in scores.scores.items()}
    perfect = RunScores(scores.run, scores.info, scores.items, frames, scores.answers)
    part = rng.choice(scores.items["item"].to_list(), 100, replace=False)
    found = whole(correct(perfect, said({item: [labels[item]] for item in part})))
    assert found.worth.value is not None
    assert found.worth.value <= len(scores.items)


def test_labels_may_name_answers(tested: World, tmp_path: Path) -> None:
    items = list(tested.store.items("made@1"))[:2]
    path = write_lines(
        tmp_path / "labels.jsonl",
        [{"item": items[0].id, "label": items[0].products[1]}, {"item": items[1].id, "label": "1"}],
    )
    labels = read_labels(path, tested.store, tested.scores)
    assert labels.votes == {(items[0].id, ""): ["1"], (items[1].id, ""): ["1"]}


@pytest.mark.parametrize(("name", "place"), [("answer", "1"), ("generic", "0"), ("tie", "tie"), ("1", "1")])
def test_in_a_run_of_answers_labels_are_called_by_what_they_are(name: str, place: str) -> None:
    item = Item(id="i", person="p", prompt="?", products=["aa", "bb"], slices={"against": "generic"})
    assert _place(name, item, "1", Path("f"), 1) == place
    with pytest.raises(
        UserError,
        match=r"'wrong' is no answer to 'i'; use answer, generic, 0, 1 or tie, or the id of a text \(aa, bb\)",
    ):
        _place("wrong", item, "1", Path("f"), 1)


def test_weights_are_of_all_labels_or_none_and_above_0(tested: World, tmp_path: Path) -> None:
    items = tested.scores.items["item"].to_list()[:2]
    good = [{"item": item, "label": "0", "weight": 3} for item in items]
    read = read_labels(write_lines(tmp_path / "a.jsonl", good), tested.store, tested.scores)
    assert read.weights == {(item, ""): 3.0 for item in items}
    half = [good[0], {"item": items[1], "label": "0"}]
    with pytest.raises(UserError, match=r"some labels have a 'weight' and that of"):
        read_labels(write_lines(tmp_path / "b.jsonl", half), tested.store, tested.scores)
    with pytest.raises(UserError, match=r"line 1, field 'weight' must be a number above 0"):
        read_labels(
            write_lines(tmp_path / "c.jsonl", [{**good[0], "weight": 0}]), tested.store, tested.scores
        )


def test_weighted_labels_undo_the_draw(tested: World) -> None:
    """As `label --stratify accuracy` draws: as many items the judge calls lost as won, with what each stands for."""
    scores = tested.scores
    frame = next(iter(scores.scores.values()))
    rng = np.random.default_rng(7)
    gold = dict(scores.items.select("item", "gold").iter_rows())
    labels = people_say(tested, rng)
    truth = np.mean([labels[item] == gold[item] for item in labels])
    off, weighted = [], []
    for _ in range(15):
        drawn: dict[str, float] = {}
        for _, part in frame.drop_nulls("accuracy").group_by("accuracy"):
            chosen = rng.choice(part["item"].to_list(), min(50, len(part)), replace=False)
            drawn |= dict.fromkeys(map(str, chosen), len(part) / len(chosen))
        votes = {item: [labels[item]] for item in drawn}
        row = whole(correct(scores, said(votes, weights=drawn))).found
        assert row.corrected.value is not None
        assert "random" not in (row.corrected.note or "")
        weighted.append(row.corrected.value - truth)
        off.append((whole(correct(scores, said(votes))).found.human.value or 0.0) - truth)
    assert abs(np.mean(weighted)) < 0.03
    assert abs(np.mean(weighted)) < abs(np.mean(off))


def test_labels_by_name_of_a_log_of_answers_correct_its_win_rate(tmp_path: Path) -> None:
    """People prefer the assistant's answer to the generic one in six of nine cases, whichever stands first in the store."""
    rows = [
        {
            "person": {"Job": f"job {n}"},
            "question": f"Question {n}?",
            "answer": f"Mine, {n}",
            "generic": f"Anyone's, {n}",
        }
        for n in range(9)
    ]
    with Store(tmp_path / "store.db") as store:
        run = pf.evaluate(rows, raters="rule:length", store=store, progress=False)
        with pytest.raises(UserError, match=r'lines such as {"item": "ITEM", "label": "LABEL"}'):
            analyze_correction(store, run.record)
        items = run.items["item"].to_list()
        labels = [{"item": item, "label": "answer" if n < 6 else "generic"} for n, item in enumerate(items)]
        found = analyze_correction(store, run.record, write_lines(tmp_path / "human.jsonl", labels))
    (human,) = (
        one
        for one in found.figures
        if one.metric == "win_rate_human" and not one.slice and one.rater == "rule:length"
    )
    assert human.value == pytest.approx(6 / 9)
    assert human.n == 9
