"""Decisions from estimates: adjusted tests, detectable effects, equivalence, and the gate."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import nct, t, ttest_1samp

from personafit.statistics import Estimate, cluster_mean
from personafit.statistics.clusters import CONSTANT
from personafit.statistics.decisions import (
    Conclusion,
    GateDecision,
    GateOutcome,
    Hypothesis,
    decide,
    decide_together,
    equivalence_p,
    holm,
    is_constant,
    p_value,
    smallest_detectable,
)
from tests.helpers import Later

theirs: Any = Later("statsmodels.stats.api")


def estimate(value: float, se: float, people: int = 30, df: float | None = None) -> Estimate:
    """An estimate with Student's interval."""
    freedom = people - 1 if df is None else df
    half = float(t.ppf(0.975, freedom)) * se
    return Estimate(value, value - half, value + half, 5 * people, people, None, se, freedom)


def test_holm_equals_statsmodels() -> None:
    p = [0.01, 0.04, 0.03, 0.005, 0.9, 0.03]
    assert holm(p) == pytest.approx(tuple(theirs.multipletests(p, method="holm")[1]))
    assert holm([0.02, None, 0.01]) == (0.02, None, 0.02)
    assert holm([]) == ()


def test_one_value_a_person_is_the_t_test_and_tost_of_the_books() -> None:
    values = np.random.default_rng(3).normal(0.02, 0.1, 40)
    found = cluster_mean(values, np.arange(40))
    assert p_value(found) == pytest.approx(ttest_1samp(values, 0.0).pvalue)
    expected = theirs.ttost_paired(values, np.zeros(40), -0.05, 0.05)[0]
    assert equivalence_p(found, 0.05) == pytest.approx(expected)


@pytest.mark.parametrize("people", [6, 12, 100])
def test_the_detectable_effect_has_the_power_of_the_noncentral_t(people: int) -> None:
    found = smallest_detectable(estimate(0.0, 1.0, people))
    assert found is not None
    effect = theirs.TTestPower().solve_power(None, nobs=people, alpha=0.05, power=0.8)
    assert found == pytest.approx(effect * people**0.5, rel=1e-4)


def test_tests_made_together_and_broken_degrees_of_freedom_raise_the_detectable_effect() -> None:
    one = estimate(0.0, 0.04, 20, df=7.3)
    alone, among = smallest_detectable(one), smallest_detectable(one, tests=8)
    assert alone is not None
    assert among is not None
    assert among > alone
    bar = t.ppf(1 - 0.05 / 16, 7.3)
    assert nct.sf(bar, 7.3, among / 0.04) == pytest.approx(0.8, abs=1e-6)


def test_an_interval_without_a_standard_error_decides_as_it_reads() -> None:
    exact = cluster_mean(np.ones(20), np.arange(20), bounds=(0.0, 1.0))
    assert exact.se is None
    assert exact.low is not None
    at_end, just_inside = p_value(exact, exact.low), p_value(exact, exact.low + 0.01)
    assert at_end == pytest.approx(0.05)
    assert just_inside is not None
    assert just_inside > 0.05
    assert (p_value(exact, 0.5) or 1.0) < 0.001
    assert p_value(replace(exact, low=None, high=None)) is None


def test_a_claim_has_to_survive_all_looks() -> None:
    lucky, others = estimate(0.10, 0.045), [estimate(0.01 * k, 0.05) for k in range(-3, 4)]
    (alone,) = decide_together([Hypothesis(lucky)])
    assert (alone.verdict, alone.tests) == (Conclusion.ABOVE, 1)
    among = decide_together([Hypothesis(one) for one in (lucky, *others)])[0]
    assert among.verdict is Conclusion.UNCLEAR
    assert among.p == alone.p
    assert among.p_adjusted == pytest.approx(8 * (alone.p or 0))


def test_every_verdict() -> None:
    few, constant = estimate(0.4, 0.01, 5), Estimate(0.0, None, None, 40, 8, CONSTANT)
    cases = {
        Conclusion.ABOVE: estimate(0.2, 0.01),
        Conclusion.BELOW: estimate(-0.2, 0.01),
        Conclusion.EQUIVALENT: estimate(0.004, 0.01),
        Conclusion.UNCLEAR: estimate(0.02, 0.05),
        Conclusion.TOO_FEW: few,
        Conclusion.CONSTANT: constant,
        Conclusion.UNDEFINED: Estimate(None, None, None, 0, 0, "nothing to average"),
    }
    found = decide_together([Hypothesis(one) for one in cases.values()])
    assert [one.verdict for one in found] == list(cases)
    assert {one.tests for one in found} == {4}, "what cannot be tested does not count"
    assert found[3].detectable is not None
    assert found[4].detectable is None


def test_the_larger_of_two_controls_costs_a_claim_of_doing_worse_only() -> None:
    for value, times in ((-0.1, 2.0), (0.1, 1.0)):
        (plain,) = decide_together([Hypothesis(estimate(value, 0.03))])
        (picked,) = decide_together([Hypothesis(estimate(value, 0.03), picked_from=2)])
        assert picked.p == pytest.approx(times * (plain.p or 0))
    (highest,) = decide_together([Hypothesis(estimate(0.1, 0.03), picked_from=2, picked_highest=True)])
    assert highest.p == pytest.approx(2 * (p_value(estimate(0.1, 0.03)) or 0))


def test_equivalence_over_the_larger_of_two_controls_costs_twice() -> None:
    for value in (-0.01, 0.01):
        (plain,) = decide_together([Hypothesis(estimate(value, 0.02))])
        (picked,) = decide_together([Hypothesis(estimate(value, 0.02), picked_from=2)])
        assert plain.verdict is Conclusion.EQUIVALENT
        assert picked.p_equivalent == pytest.approx(2 * (plain.p_equivalent or 0))
        assert picked.verdict is Conclusion.UNCLEAR


def test_half_of_few_is_no_tie_throughout() -> None:
    half = cluster_mean([1.0, 0.0, 1.0, 0.0], ["a", "a", "b", "b"], bounds=(0.0, 1.0))
    assert not is_constant(half, 0.5)
    ties = cluster_mean(np.full(8, 0.5), np.arange(8), bounds=(0.0, 1.0))
    assert is_constant(ties, 0.5)
    assert not is_constant(ties, 0.0)


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [
        (0.05, 0.4, GateOutcome.PASSES),
        (0.049, 0.4, GateOutcome.CANNOT_TELL),
        (-0.1, 0.05, GateOutcome.CANNOT_TELL),
        (-0.1, 0.049, GateOutcome.FAILS),
    ],
)
def test_the_interval_decides_at_the_gate(low: float, high: float, outcome: GateOutcome) -> None:
    assert decide(Estimate((low + high) / 2, low, high, 40, 10), 0.05).outcome is outcome


def test_a_lift_whose_interval_spans_the_bar_cannot_be_told() -> None:
    found = decide(Estimate(0.306, -0.136, 0.748, 36, 12), 0.05)
    assert found.outcome is GateOutcome.CANNOT_TELL
    assert found.people is not None
    assert found.people > 12
    assert found.items == found.people * 3


def test_as_many_people_as_the_gate_asks_for_tell_four_times_in_five() -> None:
    rng = np.random.default_rng(5)
    pilot = cluster_mean(rng.normal(0.1, 0.3, 30), np.arange(30))
    pilot = replace(pilot, value=0.1, low=0.1 - 0.3 * 2.045 / 30**0.5, high=0.1 + 0.3 * 2.045 / 30**0.5)
    people = decide(pilot, 0.05).people
    assert people is not None
    told = [
        decide(cluster_mean(rng.normal(0.1, 0.3, people), np.arange(people)), 0.05).outcome
        is GateOutcome.PASSES
        for _ in range(400)
    ]
    assert 0.74 < np.mean(told) < 0.86


def test_what_the_gate_cannot_weigh() -> None:
    nothing = Estimate(None, None, None, 0, 0, "no item has an answer")
    assert decide(nothing, 0.5) == GateDecision(GateOutcome.CANNOT_TELL)
    four = Estimate(1.0, None, None, 8, 4)
    assert decide(four, 0.5) == GateDecision(GateOutcome.CANNOT_TELL, 6, 12)
    on_the_bar = Estimate(0.5, 0.4, 0.6, 40, 10)
    assert decide(on_the_bar, 0.5) == GateDecision(GateOutcome.CANNOT_TELL)
    share = Estimate(0.97, None, None, 8, 4)
    assert decide(share, 0.95, certain=True).outcome is GateOutcome.PASSES
    assert decide(share, 0.98, certain=True).outcome is GateOutcome.FAILS
