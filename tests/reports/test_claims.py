"""Sentences that claim something: each rests on a test that counts all the others, and a null result says what it could show."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.stats import t

from personafit.kinds import Line, Metric
from personafit.reports.choice import DEFINITIONS, legend
from personafit.reports.claims import (
    LEGEND,
    ClaimWords,
    FigureUnit,
    claim,
    counted,
    lift_claims,
    same_words,
)
from personafit.reports.compare import Comparison, Contestant
from personafit.reports.dialogue import context_effect
from personafit.reports.preference import preferred
from personafit.reports.relevance import against_control, picks, without_prompt
from personafit.reports.result import Figures, Result
from personafit.statistics import Estimate
from personafit.statistics.clusters import CONSTANT, too_few
from personafit.statistics.decisions import Hypothesis, HypothesisTest, decide_together

OVER_NONE = "over none, the larger of the two controls"
OVER_WRONG = "over wrong:profile, the larger of the two controls"


def estimate(value: float, se: float, people: int = 30) -> Estimate:
    half = float(t.ppf(0.975, people - 1)) * se
    return Estimate(value, value - half, value + half, 4 * people, people, None, se, people - 1)


def lift(value: float, se: float = 0.02, rater: str = "judge", note: str = OVER_NONE) -> Result:
    found = replace(estimate(value, se), note=note)
    return Result.of(found, metric="lift", rater=rater, context="profile", fingerprint=rater)


def finding(value: float, se: float = 0.02, null: float = 0.0) -> HypothesisTest:
    return decide_together([Hypothesis(estimate(value, se), null)])[0]


def only(sentences: list[str]) -> str:
    said, legend_ = sentences
    assert legend_ == LEGEND
    return said


def test_a_shown_lift_is_claimed_with_its_figure_and_interval() -> None:
    assert only(lift_claims([lift(0.1)])) == "judge: uses the profile (lift +10.0 points, +5.9 to +14.1)."


def test_a_null_result_says_what_the_run_could_have_shown() -> None:
    assert only(lift_claims([lift(0.02, 0.06)])) == (
        "judge: no evidence that it uses the profile (lift +2.0 points, −10.3 to +14.3; this run could have detected "
        "17.4 points or more; not shown to be equivalent within ±5.0 points)."
    )
    near = only(lift_claims([lift(0.002, 0.01)]))
    assert near.startswith("judge: the profile changes its score by less than 5.0 points (lift +0.2 points")
    assert "equivalent within ±5.0 points, p < 0.001)." in near
    assert "equivalent within ±1.0 points" in only(lift_claims([lift(0.002, 0.01)], margin=0.01))


@pytest.mark.parametrize(
    ("note", "said"),
    [
        (OVER_NONE, "judge: does worse with the profile than without (lift −10.0 points"),
        (OVER_WRONG, "judge: does worse with the profile than with a wrong person's (lift −10.0 points"),
    ],
)
def test_doing_worse_names_the_control_it_is_worse_than(note: str, said: str) -> None:
    assert only(lift_claims([lift(-0.1, note=note)])).startswith(said)


def test_no_claim_about_a_rater_that_met_these_people_nor_is_it_counted() -> None:
    rows = [replace(lift(0.3, rater="fitted:mine"), met_people=True), lift(0.05)]
    met, other, _ = lift_claims(rows)
    assert met == "fitted:mine: no claim, as it was fitted on people of this run (lift +30.0 points)."
    assert other == only(lift_claims([rows[1]]))


def test_controls_and_slices_make_no_claims() -> None:
    rows = [replace(lift(0.3), control="longest answer"), replace(lift(0.3), slice={"tier": "hard"})]
    assert lift_claims(rows) == []


def test_few_people_and_constants_are_no_claims() -> None:
    few = Result.of(
        Estimate(0.25, None, None, 8, 4, too_few(4)), metric="lift", rater="judge", context="profile"
    )
    assert lift_claims([few]) == [
        "judge: lift +25.0 points on 8 items of 4 people, too few people to claim anything (6 are needed)."
    ]
    same = Result.of(
        Estimate(0.0, None, None, 40, 8, f"{CONSTANT}; {OVER_NONE}"),
        metric="lift",
        rater="judge",
        context="profile",
    )
    assert lift_claims([same]) == [
        "judge: the same answers with the profile and without (lift 0.0 points on 40 items of 8 people)."
    ]
    assert same_words(same, difference=True) == "same answers"
    ties = Estimate(0.5, None, None, 40, 8, CONSTANT)
    assert same_words(ties) == "ties throughout"


def test_eight_raters_that_ignore_the_person_are_seldom_said_to_use_it() -> None:
    rng = np.random.default_rng(11)
    claims = 0
    for _ in range(150):
        rows = [lift(value, 0.02, f"r{k}") for k, value in enumerate(0.02 * rng.standard_t(29, 8))]
        claims += any("uses" in said and "evidence" not in said for said in lift_claims(rows)[:-1])
    assert claims <= 0.06 * 150
    alone = sum(abs(rng.standard_t(29, 8)).max() > 2.045 for _ in range(150))
    assert alone > 0.25 * 150, "unadjusted, a third of such runs would claim something"


def test_counts_of_few() -> None:
    assert counted(Estimate(1.0, None, None, 4, 2)) == "4 of 4, 2 people"
    assert counted(Estimate(0.625, None, None, 4, 1)) == "2.5 of 4, 1 person"


def test_two_are_compared_with_all_that_is_known() -> None:
    def said(*gaps: Estimate) -> str:
        one, two = (
            Contestant("run", Line(name, name, "profile", None, None, pl.DataFrame())) for name in "ab"
        )
        tested = decide_together([Hypothesis(gap) for gap in gaps])[0]
        return Comparison(one, two, Metric("accuracy"), gaps[0], tested, (12.0, 9.5)).sentence()

    assert said(Estimate(0.2, None, None, 15, 5)) == (
        "a (profile) 12 of 15, b (profile) 9.5 of 15, 5 people: too few people to claim anything (6 are needed)."
    )
    assert said(Estimate(0.2, None, None, 30, 10, CONSTANT)) == (
        "a (profile) and b (profile) differ by 20.0 points of accuracy (30 shared items, 10 people): without an interval "
        "nothing can be told."
    )
    counted_all = said(estimate(0.05, 0.022), *(estimate(0.0, 0.02) for _ in "abc"))
    assert (
        "are not distinguishable once all 4 comparisons are counted: they differ by 5.0 points" in counted_all
    )
    assert "Holm p = 0.123 over 4 comparisons" in counted_all
    assert "this run could have detected" in counted_all


def test_relevance_claims() -> None:
    def picked(times: float, null: float) -> str:
        found = [("over_selection", times), ("recall", 0.9)]
        figures = Figures(
            Result.of(estimate(value, 0.1), metric=name, rater="r", context="none") for name, value in found
        )
        return picks("r", "none", figures, finding(times, 0.1, null))

    assert picked(2.0, 1.2).endswith("it over-selects.")
    assert picked(1.3, 1.2) == "r picks 1.3 times as many attributes as people do."
    assert "it leaves out" in picked(0.3, 1 / 1.2)
    assert against_control("r", "rule:overlap", finding(0.1)).startswith(
        "r: beats the best control, rule:overlap (F1 +10.0"
    )
    assert "not distinguishable from the control rule:overlap" in against_control(
        "r", "rule:overlap", finding(0.02, 0.05)
    )
    assert without_prompt("r", finding(0.1)) == []
    assert "no evidence that it uses the prompt" in without_prompt("r", finding(0.02, 0.05))[0]


def test_dialogue_and_mark_claims() -> None:
    assert context_effect("bot", "profile", "none", finding(0.5, 0.1), "").startswith(
        "bot: being told “profile” helps (personalization over none, +0.50 marks"
    )
    judged = Result.of(estimate(3.1, 0.15), metric="rating", rater="j")
    unclear, clear = finding(3.1, 0.15, 3.0), finding(3.9, 0.1, 3.0)
    said = preferred("j", judged, unclear, "")
    assert said.startswith("j: no evidence that it prefers either answer (this run could have detected")
    assert preferred("j", judged, clear, "tail") == "j: prefers the personalized answers; tail."
    people = replace(judged, control="people")  # the verdict is not about them
    assert "either answer (mean 3.10 marks, 2.79 to 3.41; this run" in preferred("p", people, unclear, "")
    assert preferred("p", people, clear, "").startswith("p: prefers the personalized answers (mean 3.90")


def test_other_modules_can_make_their_own_claims() -> None:
    words = ClaimWords(
        "agrees less than people do", "agrees more", "no gap is shown", "no gap", "the same labels"
    )
    unit = FigureUnit(1.0, "of kappa", 2)
    assert claim("judge", finding(0.2, 0.02), words, "gap", unit) == (
        "judge: agrees less than people do (gap +0.20 of kappa, +0.16 to +0.24)."
    )


def test_figures_are_defined_where_they_stand() -> None:
    said = legend(["lift", "restraint", "accuracy_debiased", "consistency", "unknown", "lift"])
    for metric in ("lift", "restraint", "accuracy_debiased", "consistency"):
        assert DEFINITIONS[metric] in said
    assert said.count("Lift:") == 1
    assert "unknown" not in said
