"""Every analysis on a run of every kind: its figures against the stored answers by hand, or one sentence that says why there is none."""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.special import expit
from scipy.stats import spearmanr
from typer.testing import CliRunner

import personafit as pf
from personafit import Run, UserError
from personafit.api.reading import run_votes
from personafit.cli.app import app
from personafit.kinds import run_lines
from personafit.kinds.choice import choices_of
from personafit.kinds.lines import RunLines
from personafit.reports.agree import agreements
from personafit.reports.bias import bias_results, judge_bias, line_bias
from personafit.reports.calibration import graded_results, line_margins, rater_margins
from personafit.reports.correction import correct_lines, read_unit_labels
from personafit.reports.failures import answer_failures, failure_results, find_rater, line_failures
from personafit.reports.pieces import Grid, metric_name
from personafit.reports.power import plan_run
from personafit.simulate import dialogues
from personafit.statistics.power import smallest_difference, spread
from personafit.statistics.rouge import words
from tests.golden.cases import JUDGE, PLAIN, SYSTEM
from tests.reports.kinds_world import KINDS, VOTER, Kinds
from tests.scripted import write_lines

Units = dict[Any, float]


pytestmark = pytest.mark.usefixtures("elsewhere")


def opened(kinds: Kinds, kind: str, place: int = 0) -> RunLines:
    return run_lines(kinds.store, kinds.runs[kind][place])


# -- the figures by hand, from what is stored -------------------------------------------------------------------------


def right_by_hand(kinds: Kinds, place: int) -> Units:
    """Choices: the mean over both orders of being right; a tie is half right, one order alone does not count."""
    gold, scores = kinds.gold("choice"), dict[str, dict[str, float]]()
    for item, order, label in (
        kinds.answers("choice", place, (JUDGE, PLAIN)[place])
        .filter(pl.col("context") == "profile", pl.col("target") == "")
        .select("item", "order", "label")
        .iter_rows()
    ):
        scores.setdefault(item, {})[order] = 0.5 if label == "tie" else float(label == gold[item])
    return {item: float(np.mean([*found.values()])) for item, found in scores.items() if len(found) == 2}


def unmoved_by_hand(kinds: Kinds, place: int) -> Units:
    """Injection: by ask, one less how far the choice moved to the attack's target, where it was not the target before."""
    run = kinds.runs["injection"][place]
    items = {item.id: item for item in kinds.store.items(run.dataset)}
    said = {
        (item, order): label
        for item, context, order, label in kinds.answers("injection", place, (JUDGE, PLAIN)[place])
        .select("item", "context", "order", "label")
        .iter_rows()
        if context == "profile"
    }
    found = {}
    for (item, order), label in said.items():
        about = items[item].slices
        if about["version"] != "attacked" or (about["base"], order) not in said:
            continue
        target = about["target"] if about["target"] in "01" else order["AB".index(about["target"])]
        before, after = (
            0.5 if one == "tie" else float(one == target) for one in (said[about["base"], order], label)
        )
        if before < 1:
            found[item, order] = 1 - max(0.0, after - before)
    return found


def yes_by_hand(kinds: Kinds, place: int) -> Units:
    """Relevance: whether a pair is called relevant."""
    answers = kinds.answers("relevance", place, (JUDGE, f"list:{PLAIN}")[place])
    shown = answers.filter(pl.col("context") == "none").select("item", "label").iter_rows()
    return {item: float(label == "yes") for item, label in shown}


def marks_by_hand(kinds: Kinds, place: int) -> Units:
    """Preference: the mean mark over both orders."""
    answers = kinds.answers("preference", place, (JUDGE, PLAIN)[place]).filter(pl.col("target") != "")
    found: dict[Any, list[float]] = {}
    for item, target, value in answers.select("item", "target", "value").iter_rows():
        found.setdefault((item, target), []).append(value)
    return {unit: float(np.mean(values)) for unit, values in found.items()}


def dialogues_by_hand(kinds: Kinds, place: int, question: str) -> Units:
    """Dialogue: the mark of each task's dialogue that was held with the whole history."""
    run = kinds.runs["dialogue"][place]
    marks = {
        item: value
        for item, context, asked, value in kinds.answers("dialogue", place, JUDGE)
        .select("item", "context", "question", "value")
        .iter_rows()
        if (context, asked) == ("given", question)
    }
    held = [
        one
        for one in dialogues(kinds.store, run.id)
        if one.system_context == "I" and one.system_name != "canned"
    ]
    return {(one.person, one.task.id): marks[one.id] for one in held if one.id in marks}


def rouge_by_hand(kinds: Kinds, place: int) -> Units:
    """Writing: words in common with the person's own text, twice over the words of both."""
    run = kinds.runs["writing"][place]
    own = {
        item.id: kinds.store.texts([item.products[0]])[item.products[0]]
        for item in kinds.store.items(run.dataset)
    }
    (line,) = [line for line in opened(kinds, "writing", place).lines if line.control is None]
    found = {}
    for item, text in line.frame.select("item", "text").iter_rows():
        ours, theirs = Counter(words(text)), Counter(words(own[item]))
        found[item] = 2 * sum((ours & theirs).values()) / (ours.total() + theirs.total())
    return found


def f1(said: Units, gold: dict[str, str], shared: set[Any]) -> float:
    hits = sum(said[item] and gold[item] == "yes" for item in shared)
    return float(2 * hits / (sum(said[i] for i in shared) + sum(gold[i] == "yes" for i in shared)))


BY_HAND: dict[tuple[str, str], Callable[[Kinds, int], Units]] = {
    ("choice", "accuracy"): right_by_hand,
    ("injection", "unmoved"): unmoved_by_hand,
    ("preference", "rating"): marks_by_hand,
    ("dialogue", "completion"): lambda kinds, place: dialogues_by_hand(kinds, place, "completion"),
    ("dialogue", "personalization"): lambda kinds, place: dialogues_by_hand(kinds, place, "personalization"),
    ("writing", "rouge_1"): rouge_by_hand,
}


# -- compare -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "metric"), BY_HAND)
def test_runs_are_compared_on_the_units_they_share(kinds: Kinds, kind: str, metric: str) -> None:
    one, two = (BY_HAND[kind, metric](kinds, place) for place in (0, 1))
    shared = sorted(one.keys() & two.keys())
    found = pf.compare(*(Run(kinds.store, run) for run in kinds.runs[kind]))
    (row,) = [row for row in found.as_dict()["comparisons"] if row["metric"] == metric]
    assert row["n"] == len(shared) > 5
    assert row["value"] == pytest.approx(np.mean([one[unit] - two[unit] for unit in shared]))
    assert metric_name(metric) in row["words"]
    assert row["p"] is None or row["low"] <= row["value"] <= row["high"]


def test_relevance_raters_are_compared_by_f1(kinds: Kinds) -> None:
    one, two = (yes_by_hand(kinds, place) for place in (0, 1))
    gold = kinds.gold("relevance")
    shared = one.keys() & two.keys() & gold.keys()
    (row,) = pf.compare(*(run.name for run in kinds.runs["relevance"]), store=kinds.store).as_dict()[
        "comparisons"
    ]
    assert (row["metric"], row["n"]) == ("f1", len(shared))
    assert row["value"] == pytest.approx(f1(one, gold, shared) - f1(two, gold, shared))
    assert "points of F1" in row["words"]


def test_judges_of_the_same_answers_are_compared_by_how_close_they_are_to_people(kinds: Kinds) -> None:
    one, two = (marks_by_hand(kinds, place) for place in (0, 1))
    people = {
        (row["item"], row["target"]): row["human"]
        for row in opened(kinds, "preference").lines[0].frame.iter_rows(named=True)
    }
    shared = [unit for unit in one.keys() & two.keys() if people[unit] is not None]
    rows = pf.compare(*(Run(kinds.store, run) for run in kinds.runs["preference"])).as_dict()["comparisons"]
    (far,) = [row for row in rows if row["metric"] == "distance from people"]
    gaps = [abs(one[unit] - people[unit]) - abs(two[unit] - people[unit]) for unit in shared]
    assert far["value"] == pytest.approx(np.mean(gaps))
    assert far["margin"] == pytest.approx(0.05 * 4), "a share of the scale from 1 to 5"
    lowest = min(row["p"] for row in rows)
    assert [row["p_holm"] for row in rows if row["p"] == lowest] == [pytest.approx(min(1.0, 2 * lowest))]


def test_another_metric_can_be_named_and_an_unknown_one_is_refused(kinds: Kinds) -> None:
    names = [run.name for run in kinds.runs["dialogue"]]
    (row,) = pf.compare(*names, metric="naturalness", store=kinds.store).as_dict()["comparisons"]
    assert row["metric"] == "naturalness"
    assert row["margin"] == pytest.approx(0.05 * 4)
    with pytest.raises(UserError, match=r"has no metric 'charm'; it has completion, personalization"):
        pf.compare(*names, metric="charm", store=kinds.store)


def test_runs_of_two_kinds_have_nothing_in_common(kinds: Kinds) -> None:
    with pytest.raises(
        UserError,
        match=r"is a run of writing items and .* one of dialogue items: nothing is measured in both",
    ):
        pf.compare(Run(kinds.store, kinds.runs["writing"][0]), Run(kinds.store, kinds.runs["dialogue"][0]))


# -- power -------------------------------------------------------------------------------------------------------------


def test_a_dialogue_run_is_planned_against_the_better_of_its_controls(kinds: Kinds) -> None:
    plans = {plan.metric.name: plan for plan in plan_run(opened(kinds, "dialogue"), difference=0.1)}
    assert set(plans) == {"completion", "personalization"}
    plan = plans["personalization"]
    lines = {
        (line.system, line.system_context): line.frame
        for line in opened(kinds, "dialogue").lines
        if line.context == "given"
    }
    own = (SYSTEM, "I")
    means = {
        key: float(frame["personalization"].drop_nulls().to_numpy().mean()) for key, frame in lines.items()
    }
    controls = [(SYSTEM, "none"), ("canned", "I")]
    best = max(controls, key=lambda key: means[key])
    mine = lines[own].select("unit", "person", "prompt", "personalization")
    both = mine.join(lines[best].select("unit", other="personalization"), on="unit").drop_nulls()
    gaps = (both["personalization"] - both["other"]).to_numpy()
    people, prompts = both["person"].to_numpy(), both["prompt"].to_numpy()
    counts = len(set(people)), len(gaps) / len(set(people)), len(set(prompts))
    assert plan.observed == pytest.approx(gaps.mean())
    assert plan.smallest == smallest_difference(spread(gaps, people, prompts), *counts)
    assert plan.difference == pytest.approx(0.3), "a tenth of the scale from 1 to 4"
    assert (
        "A difference of 0.30 marks" in plan.sentence() or "For a difference of 0.30 marks" in plan.sentence()
    )
    assert "of personalization (1 to 4)" in plan.sentence()


@pytest.mark.parametrize(
    ("kind", "metric", "against"),
    [
        ("choice", None, "rule:"),
        ("relevance", None, "(none)"),
        ("preference", None, "no preference"),
        ("preference", "win_rate", "an even win rate"),
        ("injection", "moved_beyond_placebo", "no effect"),
        ("writing", None, "given none"),
    ],
)
def test_runs_of_every_kind_can_be_pilots(kinds: Kinds, kind: str, metric: str | None, against: str) -> None:
    plan = plan_run(opened(kinds, kind), metric=metric)[0]
    assert against in plan.second
    assert plan.as_dict()["metric"] == plan.metric.name
    assert plan.n > 5


def test_a_single_rater_without_controls_is_no_pilot(kinds: Kinds) -> None:
    with pytest.raises(UserError, match="a second rater or system, or a control, makes a pair"):
        plan_run(opened(kinds, "injection"))


# -- agree -------------------------------------------------------------------------------------------------------------


def kappa(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> float:
    labels = np.union1d(one, other)
    chance = sum((one == label).mean() * (other == label).mean() for label in labels)
    return float(((one == other).mean() - chance) / (1 - chance))


def found_pair(kinds: Kinds, kind: str, question: str, figure: str, who: str) -> float:
    rows = pf.agree(Run(kinds.store, kinds.runs[kind][0])).as_dict()["results"]
    (row,) = [
        row
        for row in rows
        if (row["part"], row["figure"], row["question"]) == ("pair", figure, question)
        and row["first"] == JUDGE
        and row["second"] == who
    ]
    return float(row["value"])


def test_relevance_raters_agree_with_gold(kinds: Kinds) -> None:
    said, gold = yes_by_hand(kinds, 0), kinds.gold("relevance")
    shared = sorted(said.keys() & gold.keys())
    ours, theirs = np.array([said[i] for i in shared]), np.array([float(gold[i] == "yes") for i in shared])
    name = kinds.store.dataset_info(kinds.runs["relevance"][0].dataset)["gold"]
    assert found_pair(kinds, "relevance", "relevance", "kappa", name) == pytest.approx(kappa(ours, theirs))


def test_preference_judges_agree_with_people_by_rank_and_by_the_nearest_mark(kinds: Kinds) -> None:
    frame = opened(kinds, "preference").lines[0].frame.drop_nulls(["rating", "human"])
    ours, theirs = frame["rating"].to_numpy(), frame["human"].to_numpy()
    name = str(opened(kinds, "preference").references[0].who)
    rank = found_pair(kinds, "preference", "preference", "spearman", name)
    assert rank == pytest.approx(spearmanr(ours, theirs).statistic)
    exact = found_pair(kinds, "preference", "preference", "kappa", name)
    assert exact == pytest.approx(kappa(np.rint(ours), np.rint(theirs)))


@pytest.mark.parametrize("question", ["personalization", "completion"])
def test_dialogue_judges_agree_with_who_voted(kinds: Kinds, question: str) -> None:
    run = kinds.runs["dialogue"][0]
    marks = {
        row["item"]: row["value"]
        for row in kinds.answers("dialogue", 0, JUDGE)
        .filter(question=question, context="given")
        .iter_rows(named=True)
    }
    votes = voted(kinds, question)
    shared = sorted(marks.keys() & votes.keys())
    assert len(shared) > 10
    expected = kappa(np.array([marks[i] for i in shared]), np.array([votes[i] for i in shared]))
    assert found_pair(kinds, "dialogue", question, "kappa", "median of people") == pytest.approx(expected)
    assert run.config["kind"] == "dialogue"


def voted(kinds: Kinds, question: str) -> dict[str, float]:
    """What the one voter said of each dialogue."""
    from sqlalchemy import select

    from personafit.store import tables as t

    query = select(t.judgments.c.item, t.judgments.c.value).where(
        t.judgments.c.rater == VOTER, t.judgments.c.question == question
    )
    return dict(kinds.store.frame(query).iter_rows())


@pytest.mark.parametrize("kind", ["choice", "relevance", "preference", "dialogue"])
def test_raters_of_a_study_stand_beside_those_of_a_run(kinds: Kinds, kind: str) -> None:
    run = kinds.runs[kind][1]  # in the first dialogues people voted
    url = kinds.store.url
    name = f"study-{kind}"
    command(
        "label", "new", name, "--from", run.name, "--overlap", "3", "--simulated", "--no-quiz", "--store", url
    )
    command("label", "simulate", name, "--store", url)
    found = pf.agree(run.name, store=kinds.store).as_dict()["raters"]
    asked = {one["question"] for one in found}
    for question in asked:
        who = [one["kind"] for one in found if one["question"] == question]
        assert who.count("simulated") == 3
        assert "llm" in who
    beside = pf.agree(name, run.name, store=kinds.store).as_dict()["raters"]
    assert {one["question"] for one in beside} == asked


def test_attacked_choices_agree_with_gold_as_they_were(kinds: Kinds) -> None:
    source = run_votes(kinds.store, kinds.runs["injection"][0])
    (table,) = [one.ratings for one in agreements(source)]
    clean = [
        i for i in kinds.store.items(kinds.runs["injection"][0].dataset) if i.slices["version"] == "clean"
    ]
    assert len(table.people) <= len(clean)
    assert set(source.people.values()) <= {item.slices["of"] for item in clean}
    assert len(set(table.people)) <= len(set(source.people.values()))


# -- calibration -------------------------------------------------------------------------------------------------------


def test_the_confidence_of_relevance_raters_is_held_against_gold(kinds: Kinds) -> None:
    gold = kinds.gold("relevance")
    answers = kinds.answers("relevance", 0, JUDGE).filter(
        pl.col("context") == "none", ~pl.col("value").is_in([0.0, 1.0])
    )
    margin, truth = answers["value"].to_numpy(), np.array([gold[item] == "yes" for item in answers["item"]])
    right = np.where(margin == 0, 0.5, (margin > 0) == truth)
    margins = {str(one.line.rater): one for one in line_margins(kinds.store, opened(kinds, "relevance"))}
    found = {one.metric: one for one in graded_results(margins[JUDGE]) if not one.slice}
    assert found["overconfidence"].value == pytest.approx(np.mean(expit(np.abs(margin)) - right))
    assert found["overconfidence"].n == len(margin)
    assert margins["rule:bm25"].note == "a rule's scores are not probabilities"
    (listed,) = [
        one
        for one in line_margins(kinds.store, opened(kinds, "relevance", 1))
        if "list:" in str(one.line.rater)
    ]
    assert "only words were read" in str(listed.note)


def test_the_confidence_of_a_judge_under_attack_is_that_on_the_choices_as_they_were(kinds: Kinds) -> None:
    scores = choices_of(kinds.store, kinds.runs["injection"][0])
    assert scores is not None
    (judge,) = [one for one in rater_margins(kinds.store, scores) if one.line.rater == JUDGE]
    assert set(judge.frame["item"]) <= set(scores.items["item"])
    assert set(scores.items["version"]) == {"clean"}
    assert judge_bias(kinds.store, scores)[0].line.rater == JUDGE
    who = find_rater(scores, None)
    assert failure_results(scores, answer_failures(kinds.store, scores, who), who)


# -- correct -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["relevance", "preference"])
def test_a_mean_is_corrected_by_what_people_said_of_some_units(
    kinds: Kinds, kind: str, tmp_path: Any
) -> None:
    lines = opened(kinds, kind)
    (reference,) = lines.references
    frame = lines.lines[0].frame
    part = frame.filter(pl.col(reference.people).is_not_null()).gather_every(2)
    rows = [
        {
            "item": row["item"],
            "label": ("yes" if row[reference.people] else "no")
            if kind == "relevance"
            else row[reference.people],
            **({"target": row["target"]} if "target" in row else {}),
        }
        for row in part.iter_rows(named=True)
    ]
    labels = read_unit_labels(write_lines(tmp_path / "labels.jsonl", rows), lines)
    found = next(one for one in correct_lines(lines, labels) if not one.slice)
    judged = frame.filter(pl.col(reference.answer).is_not_null())
    chosen = judged.join(part.select("unit"), on="unit", how="semi")
    alone = judged.join(part.select("unit"), on="unit", how="anti")
    human, said, rest = (
        one.cast(pl.Float64).to_numpy()
        for one in (chosen[reference.people], chosen[reference.answer], alone[reference.answer])
    )
    assert found.metric == reference.metric
    assert found.found.human.value == pytest.approx(human.mean())
    assert found.found.machine.value == pytest.approx(np.concatenate([said, rest]).mean())
    weight = found.found.weight
    assert weight is not None
    low, high = reference.bounds
    expected = np.clip(human.mean() + weight * (rest.mean() - said.mean()), low, high)
    if found.found.corrected.value is not None:  # else the labelled part does not look drawn at random
        assert found.found.corrected.value == pytest.approx(expected)


def test_dialogue_judges_are_corrected_by_votes_in_the_store(kinds: Kinds) -> None:
    found = {
        (one.metric, one.line.system, one.line.system_context): one
        for one in correct_lines(opened(kinds, "dialogue"))
        if not one.slice
    }
    votes = voted(kinds, "personalization")
    marked = set(
        kinds.answers("dialogue", 0, JUDGE)
        .filter(question="personalization", context="given")["item"]
        .to_list()
    )
    held = [one for one in dialogues(kinds.store, kinds.runs["dialogue"][0].id) if one.system_context == "I"]
    for system in (SYSTEM, "canned"):
        both = [one.id for one in held if one.system_name == system and one.id in votes and one.id in marked]
        human = found["personalization", system, "I"].found.human
        assert human.n == len(both) > 5
        assert human.value == pytest.approx(np.mean([votes[item] for item in both]))


def test_bad_labels_are_one_sentence(kinds: Kinds, tmp_path: Any) -> None:
    lines = opened(kinds, "preference")
    item, target = lines.lines[0].frame.select("item", "target").row(0)
    bad = [
        (
            {"item": item, "target": target, "label": "6"},
            "line 1, field 'label': '6' is no answer; use a mark from 1 to 5",
        ),
        ({"item": item, "target": "nothing", "label": "3"}, "'nothing' is nothing that was judged in"),
        ({"item": "elsewhere", "target": target, "label": "3"}, "has no label for an item of"),
        ({"item": item, "target": target, "label": "3", "weight": -1}, "must be a number above 0"),
    ]
    for number, (row, sentence) in enumerate(bad):
        path = write_lines(tmp_path / f"bad-{number}.jsonl", [row])
        with pytest.raises(UserError) as error:
            read_unit_labels(path, lines)
        assert sentence in str(error.value)
    dialogues_held = opened(kinds, "dialogue")
    held = dialogues_held.lines[0].frame["item"][0]
    path = write_lines(tmp_path / "bare.jsonl", [{"item": held, "label": "3"}])
    with pytest.raises(UserError, match=r"'question' is missing; .* asks completion"):
        read_unit_labels(path, dialogues_held)
    path = write_lines(tmp_path / "elsewhere.jsonl", [{"item": "x", "label": "3"}])
    with pytest.raises(UserError, match=r'write lines such as {"item": "ITEM"'):
        read_unit_labels(path, dialogues_held)


# -- bias --------------------------------------------------------------------------------------------------------------


def test_what_pulls_at_raters_is_a_difference_of_means(kinds: Kinds) -> None:
    lines = opened(kinds, "preference")
    biases = line_bias(lines)
    found = {(bias.line.rater, one.name): one for bias in biases for one in bias.effects}
    frame = lines.lines[0].frame.drop_nulls(["rating", "human", "names"])
    mark, people = frame["rating"].to_numpy(), frame["human"].to_numpy()
    named = frame["names"].to_numpy()
    effects = [values[named].mean() - values[~named].mean() for values in (mark, people)]
    pull = found[JUDGE, "mention"]
    assert [pull.judge.value, pull.people.value] == pytest.approx(effects)
    assert pull.difference.value == pytest.approx(effects[0] - effects[1])
    assert found[JUDGE, "level"].difference.value == pytest.approx((mark - people).mean())
    both = lines.lines[0].frame.drop_nulls(["first", "last"])
    half = (both["first"] - both["last"]).to_numpy() / 2
    assert found[JUDGE, "position"].judge.value == pytest.approx(half.mean())
    assert found[JUDGE, "position"].tests
    assert not found["rule:length", "length"].tests, "of controls nothing is claimed"
    assert str(found[JUDGE, "length"].sentence).startswith(f"{JUDGE}: ")
    names = {one.metric for one in bias_results(biases)}
    assert {"bias_level_over_people", "bias_mention", "bias_length_people", "bias_position"} <= names


def test_relevance_raters_are_asked_whether_they_pick_more_than_people(kinds: Kinds) -> None:
    said, gold = yes_by_hand(kinds, 0), kinds.gold("relevance")
    gap = np.mean([said[item] - (gold[item] == "yes") for item in said])
    (bias,) = [one for one in line_bias(opened(kinds, "relevance")) if one.line.rater == JUDGE]
    found = {one.name: one for one in bias.effects}
    assert found["level"].difference.value == pytest.approx(gap)
    assert set(found) == {"level", "hedged", "list_length"}
    assert "people in yes_rate" in str(found["level"].sentence)


# -- failures ----------------------------------------------------------------------------------------------------------


def test_the_answers_furthest_from_people_come_first(kinds: Kinds) -> None:
    marks = marks_by_hand(kinds, 0)
    (found,) = line_failures(opened(kinds, "preference"))
    people = {
        (row["item"], row["target"]): row["human"]
        for row in opened(kinds, "preference").lines[0].frame.iter_rows(named=True)
    }
    far = {unit: abs(mark - people[unit]) for unit, mark in marks.items() if people[unit] is not None}
    assert found.units["far"].to_list() == pytest.approx(
        sorted(far.values(), reverse=True)[: len(found.units)]
    )
    whole = {one.metric: one.value for one in found.results if set(one.slice) == {"question"}}
    assert whole == pytest.approx(
        {"wrong_share": np.mean([gap >= 2 for gap in far.values()]), "distance": np.mean([*far.values()])}
    )


def test_wrong_pairs_and_far_dialogues_and_unlike_texts_are_shown(kinds: Kinds) -> None:
    said, gold = yes_by_hand(kinds, 0), kinds.gold("relevance")
    (pairs,) = line_failures(opened(kinds, "relevance"))
    wrong = {item for item in said if said[item] != (gold[item] == "yes")}
    assert set(pairs.units["item"]) <= wrong
    assert {
        one.metric: one.value for one in pairs.results if set(one.slice) == {"question"}
    } == pytest.approx({"wrong_share": len(wrong) / len(said)})
    questions = {one.results[0].slice["question"] for one in line_failures(opened(kinds, "dialogue"))}
    assert questions == {"completion", "personalization"}
    (texts,) = line_failures(opened(kinds, "writing", 1))
    assert texts.units["said"].to_list() == pytest.approx(sorted(rouge_by_hand(kinds, 1).values()))
    with pytest.raises(UserError, match="has no rater 'nobody'; it has"):
        line_failures(opened(kinds, "relevance"), "nobody")


# -- the commands ------------------------------------------------------------------------------------------------------


def command(*arguments: str, code: int = 0) -> str:
    """What a command prints."""
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == code, done.output
    return done.stdout


COMMANDS = [
    ("analyze power", ("choice", "relevance", "preference", "dialogue", "writing")),
    ("agree", ("choice", "injection", "relevance", "preference", "dialogue")),
    ("analyze bias", ("choice", "injection", "relevance", "preference")),
    ("analyze correct", ("relevance", "preference", "dialogue")),
    ("analyze calibration", ("choice", "injection", "relevance")),
    ("analyze failures", KINDS),
]


@pytest.mark.parametrize(("name", "kind"), [(name, read[-1]) for name, read in COMMANDS])
def test_commands_print_tables_and_one_object(kinds: Kinds, name: str, kind: str) -> None:
    run = kinds.runs[kind][0].name
    words = [*name.split(), run, "--store", kinds.store.url]
    assert len(command(*words).splitlines()) > 3
    body = json.loads(command(*words, "--json"))
    assert body.get("results") or body.get("plans")


def test_compare_prints_sentences_and_one_object(kinds: Kinds) -> None:
    names = [run.name for run in kinds.runs["writing"]]
    said = command("compare", *names, "--store", kinds.store.url)
    body = json.loads(command("compare", *names, "--store", kinds.store.url, "--json"))
    sentences = " ".join(row["words"] for row in body["comparisons"])
    assert " ".join(said.split()).startswith(" ".join(sentences.split()))


@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name, read in COMMANDS for kind in read])
def test_every_analysis_says_something_and_shows_its_own_figures(kinds: Kinds, name: str, kind: str) -> None:
    run, analysis = Run(kinds.store, kinds.runs[kind][0]), name.removeprefix("analyze ")
    found = pf.agree(run) if name == "agree" else pf.analyze(run, analysis)
    body = found.as_dict()
    assert body.get("results") or body.get("plans")
    part = found.part(pictures=False)
    grids = [piece for piece in part.pieces() if isinstance(piece, Grid)]
    assert grids or (analysis, kind) == ("bias", "choice"), "of that judge no effect can be measured"
    assert part.sentences
    assert all(sentence.endswith((".", "!")) for sentence in part.sentences)
    if name in ("agree", "analyze power"):
        return
    values = np.array([one.value for one in found.figures if one.value is not None])
    shown = [cell.sort for grid in grids for row in grid.rows for cell in row.cells if cell.interval]
    units = analysis == "failures" and kind not in ("choice", "injection")  # each with what was said of it
    assert bool(shown) is (bool(grids) and not units)
    assert all(value is not None and np.isclose(values, value, atol=1e-12).any() for value in shown)
    assert bool(found.hints) is (kind == "injection"), "that only the choices before the attack are read"


# -- what has no meaning -----------------------------------------------------------------------------------------------

NO_MEANING: list[tuple[str, str, str]] = [
    ("agree", "writing", "in which nobody is asked to judge: there are no raters who could agree"),
    ("bias", "writing", "in which nobody is asked to judge: there is no judge whose bias could be measured"),
    ("bias", "dialogue", "its raters rate one product at a time"),
    ("correct", "writing", "there is no judge to correct"),
    ("calibration", "writing", "nobody is asked to judge, so there is no confidence"),
    ("calibration", "preference", "whose raters give marks and no probabilities"),
    ("calibration", "dialogue", "whose raters give marks and no probabilities"),
    ("correct", "dialogue", "people have not rated any of its items"),
    ("failures", "dialogue", "people have not rated any of its items"),
    *(
        (
            "aspects",
            kind,
            f"is a run of {kind} items: only raters that choose between answers mark them by aspect",
        )
        for kind in ("relevance", "preference", "dialogue", "writing")
    ),
    ("aspects", "injection", "has no marks by aspect"),
]


@pytest.mark.parametrize(("analysis", "kind", "sentence"), NO_MEANING)
def test_what_has_no_meaning_is_said_in_one_sentence(
    kinds: Kinds, analysis: str, kind: str, sentence: str
) -> None:
    run = kinds.runs[kind][1]  # of the second dialogues nobody voted
    lines = run_lines(kinds.store, run)
    calls: dict[str, Callable[[], object]] = {
        "agree": lambda: pf.agree(run.name, store=kinds.store),
        "aspects": lambda: pf.analyze(run.name, "aspects", store=kinds.store),
        "bias": lambda: line_bias(lines),
        "correct": lambda: correct_lines(lines),
        "calibration": lambda: line_margins(kinds.store, lines),
        "failures": lambda: line_failures(lines),
    }
    with pytest.raises(UserError) as error:
        calls[analysis]()
    said = str(error.value)
    assert sentence in said
    assert said.startswith(run.name)
    assert said.endswith(".")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_either_choices_or_has_lines_that_name_what_is_asked(kinds: Kinds, kind: str) -> None:
    lines = opened(kinds, kind)
    choices = choices_of(kinds.store, kinds.runs[kind][0]) is not None
    assert choices is (kind in ("choice", "injection"))
    for reference in lines.references:
        assert lines.metric(reference.metric)
        assert any(reference.answer in line.frame.columns for line in lines.lines)
        assert any(reference.people in line.frame.columns for line in lines.lines)
