"""Bars for a team's CI: as JUnit cases, and as assertions in its own tests."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from personafit import Run, UserError
from personafit.reports.gate import GateVerdict, RunCheck, Undecided, gate_verdicts, write_junit
from personafit.reports.result import Result
from personafit.testing import assert_lift, assert_metric

ACCURACY = Result(
    rater="openai:judge",
    system=None,
    system_context=None,
    context="profile",
    metric="accuracy",
    slice={},
    value=0.7,
    low=0.6,
    high=0.8,
    n=40,
    people=10,
    coverage=1.0,
    control=None,
    fingerprint="f",
    note=None,
)
RESULTS = [
    ACCURACY,
    replace(ACCURACY, slice={"tier": "hard"}, value=0.1, low=0.0, high=0.2),
    replace(ACCURACY, context="none", control="no view", value=0.5),
    replace(ACCURACY, metric="lift", value=0.02, low=-0.01, high=0.06),
    replace(ACCURACY, rater="bad\x00<name>", value=0.4, low=0.35, high=0.45),
    replace(
        ACCURACY,
        rater="bad\x00<name>",
        metric="lift",
        value=None,
        low=None,
        high=None,
        note="lift needs --context none",
    ),
    replace(ACCURACY, metric="restraint", slice={"expect": "generic"}, value=0.9, low=0.85, high=0.95),
]


def cases(path: Path) -> dict[tuple[str, str], str | None]:
    root = ElementTree.parse(path).getroot()
    found: dict[tuple[str, str], str | None] = {}
    for case in root.iter("testcase"):
        failure = case.find("failure")
        found[case.get("classname", ""), case.get("name", "")] = None if failure is None else failure.text
    return found


def verdict(result: Result, bar: float) -> GateVerdict:
    (found,) = gate_verdicts([result], [(result.metric, bar)])
    return found


def test_a_case_per_total_and_per_bar(tmp_path: Path) -> None:
    path = tmp_path / "ci" / "junit.xml"
    bars = [("accuracy", 0.5), ("lift", 0.05), ("restraint", 0.8), ("warmth", 0.1)]
    write_junit(path, [RunCheck("run", RESULTS, gate_verdicts(RESULTS, bars))])
    assert cases(path) == {
        ("personafit.accuracy", "openai:judge (profile)"): None,
        ("personafit.accuracy", "bad�<name> (profile)"): None,
        ("personafit.accuracy", "openai:judge (profile) at least 0.5"): None,
        ("personafit.accuracy", "bad�<name> (profile) at least 0.5"): (
            "accuracy of bad�<name> (profile) is 0.400 (0.350 to 0.450), below 0.5."
        ),
        ("personafit.lift", "openai:judge (profile) at least 0.05"): (
            "cannot tell whether lift of openai:judge (profile) reaches 0.05: it is 0.020 (-0.010 to 0.060); "
            "if that is its true value, about 35 people with as many items each (140 items) would tell."
        ),
        ("personafit.lift", "bad�<name> (profile) at least 0.05"): (
            "cannot tell whether lift of bad�<name> (profile) reaches 0.05: it is undefined (lift needs --context none)."
        ),
        ("personafit.restraint", "openai:judge (profile) at least 0.8"): None,
        (
            "personafit.warmth",
            "at least 0.1",
        ): "There is no warmth in this run; there are accuracy, lift, restraint.",
    }
    suite = ElementTree.parse(path).getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("8", "4")
    types = [failure.get("type") for failure in suite.iter("failure")]
    assert types == ["fails", "cannot tell", "cannot tell", "fails"]


def test_no_answers_at_all_fail_their_case(tmp_path: Path) -> None:
    nothing = replace(ACCURACY, value=None, low=None, high=None, note="no item has an answer")
    write_junit(tmp_path / "junit.xml", [RunCheck("run", [nothing])])
    (failure,) = cases(tmp_path / "junit.xml").values()
    assert failure == "accuracy of openai:judge (profile) is undefined (no item has an answer)."
    write_junit(tmp_path / "empty.xml", [RunCheck("run")])
    assert cases(tmp_path / "empty.xml") == {}


def test_too_little_answered_is_a_case_and_a_run_that_was_not_made_an_error(tmp_path: Path) -> None:
    missed = "coverage of openai:judge (profile) is 40.0 %, below the bar of 95 %."
    runs = [RunCheck("one", [ACCURACY], missed=missed), RunCheck("two", error="there is no data.")]
    write_junit(tmp_path / "junit.xml", runs)
    assert cases(tmp_path / "junit.xml")["personafit.coverage", "enough was answered"] == missed
    first, second = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert (first.get("name"), first.get("failures"), first.get("errors")) == ("one", "1", "0")
    assert (second.get("tests"), second.get("errors")) == ("1", "1")


def test_a_place_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="choose another with --junit"):
        write_junit(tmp_path / "file" / "junit.xml", [RunCheck("run", RESULTS)])


def test_a_number_just_below_its_bar_is_shown_below_it() -> None:
    near = verdict(replace(ACCURACY, value=0.84996, low=0.84995, high=0.84997), 0.85)
    assert near.reason == "accuracy of openai:judge (profile) is 0.849960 (0.850 to 0.850), below 0.85."
    assert not verdict(replace(ACCURACY, value=0.9, low=0.85), 0.85).stops()


def test_a_lift_that_is_not_shown_does_not_pass() -> None:
    """0.306 is above 0.05, but the run does not show it: a lift of -0.1 would look the same."""
    lift = verdict(replace(ACCURACY, metric="lift", value=0.306, low=-0.136, high=0.748), 0.05)
    assert lift.reason.startswith(
        "cannot tell whether lift of openai:judge (profile) reaches 0.05: it is 0.306"
    )
    assert lift.stops()
    assert not lift.stops(Undecided.PASS)
    below = verdict(replace(ACCURACY, metric="lift", value=-0.5, low=-0.7, high=-0.3), 0.05)
    assert below.stops(Undecided.PASS)


def test_what_needs_no_interval_or_has_none_at_the_gate() -> None:
    few = verdict(replace(ACCURACY, value=1.0, low=None, high=None, n=4, people=2), 0.5)
    assert few.reason == (
        "cannot tell whether accuracy of openai:judge (profile) reaches 0.5: it is 1.000 over 2 people, and at least 6 are needed."
    )
    by_definition = "scores each answer by itself: order cannot matter"
    rule = replace(ACCURACY, metric="consistency", value=1.0, low=None, high=None, note=by_definition)
    assert not verdict(rule, 0.9).stops()
    met = replace(ACCURACY, low=0.9, value=0.95, high=1.0, met_people=True)
    assert "was fitted on people of this run" in verdict(met, 0.5).reason


def test_shares_compare_the_value_and_slices_are_gated_by_name() -> None:
    results = [replace(one, coverage=0.96) for one in RESULTS[:3]]
    (enough,) = gate_verdicts(results, [("coverage", 0.95)])
    (little,) = gate_verdicts(results, [("coverage", 0.97)])
    assert (enough.outcome, little.outcome) == ("passes", "fails")
    assert little.reason == "coverage of openai:judge (profile) is 0.960, below 0.97."
    (hard,) = gate_verdicts(results, [("accuracy[tier=hard]", 0.5)])
    assert hard.outcome == "fails"
    assert hard.reason.startswith("accuracy[tier=hard] of openai:judge (profile) is 0.100 (0.000 to 0.200)")
    (absent,) = gate_verdicts(results, [("accuracy[tier=harder]", 0.5)])
    assert absent.stops(Undecided.PASS)
    assert absent.reason.endswith("the slices of accuracy are tier=hard.")


def test_a_gate_on_anything_wants_the_answers_made() -> None:
    """A system that makes no answer loses it, and a lift over the rest may still be high: what is missing may not be like the rest."""
    lift = replace(
        ACCURACY, metric="lift", value=0.3, low=0.2, high=0.4, system="us", system_context="profile"
    )
    made = replace(lift, metric="made", rater=None, context=None, value=0.6, low=None, high=None)
    passes, missing = gate_verdicts([lift, made], [("lift", 0.05)])
    assert (passes.outcome, missing.outcome) == ("passes", "fails")
    assert missing.reason == "share of answers made by us given profile is 0.600, below 0.95."
    assert [one.outcome for one in gate_verdicts([lift, made], [("lift", 0.05), ("made", 0.5)])] == [
        "passes"
    ] * 2
    assert len(gate_verdicts([lift, replace(made, value=0.96)], [("lift", 0.05)])) == 1
    assert gate_verdicts([lift, made], []) == []


class Judged(Run):
    """A run that has these results."""

    def __init__(self, results: list[Result], stale: int = 0) -> None:
        self._found, self._stale = results, stale

    def figures_by(self, metric: str) -> list[Result]:
        return self._found

    @property
    def answers(self) -> dict[str, int]:
        return {"stale": self._stale}


def test_assertions_hold_a_run_against_their_bars() -> None:
    run = Judged(RESULTS)
    assert_lift(run, "openai:judge", at_least=-0.01)
    assert_metric(run, "accuracy", at_least=0.35)
    with pytest.raises(
        AssertionError, match=r"cannot tell whether lift of openai:judge \(profile\) reaches 0\.05"
    ):
        assert_lift(run, "openai:judge", at_least=0.05)
    assert_lift(run, "openai:judge", at_least=0.05, undecided="pass")
    with pytest.raises(AssertionError, match=r"is 0\.020 \(-0\.010 to 0\.060\), below 0\.1\."):
        assert_lift(run, "openai:judge", at_least=0.1)
    with pytest.raises(AssertionError, match="undefined"):
        assert_lift(run)
    with pytest.raises(
        UserError, match="There is no warmth in this run; there are accuracy, lift, restraint"
    ):
        assert_metric(run, "warmth")
    with pytest.raises(
        UserError, match="There is no lift of openai:other in this run; there are those of bad"
    ):
        assert_lift(run, "openai:other")
    run = Judged(RESULTS, stale=60)
    with pytest.raises(AssertionError, match="60 answers were reused from an earlier run"):
        assert_metric(run, "accuracy", "openai:judge")
    assert_metric(run, "accuracy", "openai:judge", reuse=True)
    run = Judged([replace(one, coverage=0.6) for one in RESULTS])
    with pytest.raises(AssertionError, match=r"coverage of openai:judge \(profile\) is 0\.600, below 0\.95"):
        assert_metric(run, "accuracy", "openai:judge")


def test_a_rater_is_named_without_its_price_and_timeout(tmp_path: Path) -> None:
    spec = "openai:judge@http://host/v1,effort=low,price=1/2,timeout=30"
    results = [
        replace(ACCURACY, rater=spec),
        replace(ACCURACY, rater="openai:judge@http://host/v1,effort=high"),
    ]
    run = Judged(results)
    assert_metric(run, "accuracy", "openai:judge@http://host/v1,effort=low", at_least=0.5)
    assert_metric(run, "accuracy", "openai:judge@http://host/v1", at_least=0.5)
    with pytest.raises(UserError, match="There is no accuracy of openai:judge@http://other/v1"):
        assert_metric(run, "accuracy", "openai:judge@http://other/v1", at_least=0.5)
    gate = gate_verdicts(results[:1], [("accuracy", 0.5)])
    write_junit(tmp_path / "j.xml", [RunCheck("run", results[:1], gate)])
    assert ("personafit.accuracy", "openai:judge@http://host/v1 (profile) at least 0.5") in cases(
        tmp_path / "j.xml"
    )
