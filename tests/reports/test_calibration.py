"""Confidence against gold and votes: what is calibrated looks so, what is not does not, and letters have none."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from personafit import UserError
from personafit.reports.calibration import ONLY_LETTERS, RaterMargins, graded_results, rater_margins
from personafit.reports.result import Result
from personafit.statistics.calibration import calibration_error
from tests.reports.judged import Judge, make_world

TRUTH = {"mention": 1.0, "length": 0.7}


@pytest.fixture(scope="module")
def raters(tmp_path_factory: pytest.TempPathFactory) -> dict[str, RaterMargins]:
    judges = [
        Judge("honest", weights={"truth": 1.0}, position=0.7),
        Judge("boastful", weights={"truth": 4.0}),
        Judge("letters", weights={"truth": 1.0}, margins=False),
        Judge("rule:length", kind="rule", orders=1, weights={"length": 40.0}),
        Judge("python:mine:judge", kind="python", orders=1, weights={"truth": 1.0}),
        Judge("broken", failing=True),
    ]
    world = make_world(tmp_path_factory.mktemp("graded"), judges, TRUTH, votes=5, seed=4)
    return {str(rater.line.rater): rater for rater in rater_margins(world.store, world.scores)}


@pytest.fixture(scope="module")
def results(raters: dict[str, RaterMargins]) -> dict[str, list[Result]]:
    return {name: graded_results(rater) for name, rater in raters.items()}


def numbers(results: list[Result], metric: str) -> dict[tuple[str, ...], Result]:
    return {tuple(result.slice.values()): result for result in results if result.metric == metric}


def value(result: Result) -> float:
    assert result.value is not None
    return result.value


def test_both_orders_are_averaged_so_position_cancels(raters: dict[str, RaterMargins]) -> None:
    frame = raters["honest"].frame
    assert len(frame) == 800
    # Position pulled by 0.7 each way; what is left besides the truth are the person's whims.
    assert abs(float(np.mean(frame["margin"].to_numpy()))) < 0.1


def test_over_and_honest_confidence_are_told_apart(results: dict[str, list[Result]]) -> None:
    honest, boastful = results["honest"], results["boastful"]
    assert (numbers(boastful, "overconfidence")[()].low or 0) > 0
    # Gold is the majority of five, which is surer than any one vote: against it the honest judge is too modest.
    assert (numbers(honest, "overconfidence")[()].high or 0) < 0
    assert "by chance" in (numbers(boastful, "ece")[()].note or "")


def test_figures_are_those_of_the_statistics(
    raters: dict[str, RaterMargins], results: dict[str, list[Result]]
) -> None:
    frame = raters["boastful"].frame
    confidence = 1 / (1 + np.exp(-np.abs(frame["margin"].to_numpy())))
    error = calibration_error(confidence, frame["right"].to_numpy()).value
    assert value(numbers(results["boastful"], "ece")[()]) == pytest.approx(error)
    table = numbers(results["boastful"], "reliability")
    assert len(table) == 10
    assert sum(row.n for row in table.values()) == 800
    assert all(row.low is not None for row in table.values())


def test_coverage_is_of_all_items(raters: dict[str, RaterMargins]) -> None:
    few = replace(raters["honest"], frame=raters["honest"].frame.head(100))
    assert {one.coverage for one in graded_results(few)} == {100 / 800}


def test_keeping_the_confident_raises_accuracy(results: dict[str, list[Result]]) -> None:
    kept = numbers(results["honest"], "selective_accuracy")
    assert value(kept["50%",]) > value(kept["80%",]) > value(kept["100%",])
    assert kept["50%",].n == 400


def test_margins_against_votes(results: dict[str, list[Result]]) -> None:
    honest, boastful = results["honest"], results["boastful"]
    assert (numbers(honest, "share_correlation")[()].low or 0) > 0.4
    assert numbers(honest, "share_correlation")[()].n == 800
    assert value(numbers(boastful, "brier_share")[()]) > value(numbers(honest, "brier_share")[()])


def test_what_has_no_confidence_says_so(results: dict[str, list[Result]]) -> None:
    (letters,) = results["letters"]
    assert (letters.value, letters.note) == (None, ONLY_LETTERS)
    (broken,) = results["broken"]
    assert (broken.value, broken.note, broken.coverage) == (None, "nothing was answered", 0.0)
    rule = numbers(results["rule:length"], "ece")[()]
    assert rule.value is None
    assert "not a probability" in (rule.note or "")
    assert value(numbers(results["rule:length"], "selective_accuracy")["100%",]) > 0.5
    assert "log-odds" in (numbers(results["python:mine:judge"], "ece")[()].note or "")


def test_no_number_is_nan(results: dict[str, list[Result]]) -> None:
    for rows in results.values():
        for result in rows:
            assert result.value is None or np.isfinite(result.value)
            assert result.value is not None or result.note


def test_without_votes_and_with_one_person(tmp_path: Path) -> None:
    judge = Judge("honest", weights={"truth": 1.0})
    world = make_world(tmp_path, [judge], TRUTH, people=1, each=12)
    (margins,) = rater_margins(world.store, world.scores)
    rater = graded_results(margins)
    correlation = numbers(rater, "share_correlation")[()]
    assert correlation.value is None
    assert "no votes and no share" in (correlation.note or "")
    over = numbers(rater, "overconfidence")[()]
    assert over.value is not None
    assert "at least 6 people" in (over.note or "")


def test_replies_that_were_parsed_are_left_out_and_counted(tmp_path: Path) -> None:
    world = make_world(tmp_path, [Judge("j", weights={"truth": 1.0})], TRUTH, people=6, each=4)
    parsed = pl.when(pl.int_range(pl.len()) < 3).then(1.0).otherwise(pl.col("value")).alias("value")
    scores = replace(world.scores, answers=world.scores.answers.with_columns(parsed))
    (rater,) = rater_margins(world.store, scores)
    assert "3 of 48 replies named a letter without a margin" in (rater.note or "")
    assert len(rater.frame) < 24


def test_a_win_rate_has_nothing_to_be_calibrated_against(tmp_path: Path) -> None:
    world = make_world(tmp_path, [Judge("j")], people=2, each=3, metric="win_rate")
    with pytest.raises(UserError, match="has no gold that says which answer is right"):
        rater_margins(world.store, world.scores)
