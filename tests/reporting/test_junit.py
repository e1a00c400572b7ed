"""Bars for a team's CI: as JUnit cases, and as assertions in its own tests."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import orjson
import pytest

from personafit._errors import UserError
from personafit.reporting.assertions import Undecided, assert_lift, assert_metric, missed
from personafit.reporting.junit import RunCheck, write_junit, write_suites
from personafit.reporting.results import Result

ACCURACY = Result(
    rater="openai:judge",
    system=None,
    given=None,
    view="profile",
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
    replace(ACCURACY, view="none", control="no view", value=0.5),
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


def test_a_case_per_total_and_per_bar(tmp_path: Path) -> None:
    path = tmp_path / "ci" / "junit.xml"
    write_junit(path, RESULTS, [("accuracy", 0.5), ("lift", 0.05), ("restraint", 0.8), ("warmth", 0.1)])
    assert cases(path) == {
        ("personafit.accuracy", "openai:judge (profile)"): None,
        ("personafit.accuracy", "bad�<name> (profile)"): None,
        ("personafit.accuracy", "openai:judge (profile) at least 0.5"): None,
        ("personafit.accuracy", "bad�<name> (profile) at least 0.5"): (
            "accuracy of bad�<name> (profile) is 0.400 (0.350 to 0.450), below 0.5."
        ),
        ("personafit.lift", "openai:judge (profile) at least 0.05"): (
            "lift of openai:judge (profile) cannot be told to reach 0.05: it is 0.020 (-0.010 to 0.060); "
            "if that is its true value, about 35 people with as many items each (140 items) would tell."
        ),
        ("personafit.lift", "bad�<name> (profile) at least 0.05"): (
            "lift of bad�<name> (profile) cannot be told to reach 0.05: it is undefined (lift needs --context none)."
        ),
        ("personafit.restraint", "openai:judge (profile) at least 0.8"): None,
        ("personafit.warmth", "at least 0.1"): "There is no warmth in this run.",
    }
    suite = ElementTree.parse(path).getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("8", "4")


def test_no_answers_at_all_fail_their_case(tmp_path: Path) -> None:
    nothing = replace(ACCURACY, value=None, low=None, high=None, note="no item has an answer")
    write_junit(tmp_path / "junit.xml", [nothing], [])
    (failure,) = cases(tmp_path / "junit.xml").values()
    assert failure == "accuracy of openai:judge (profile) is undefined (no item has an answer)."
    write_junit(tmp_path / "empty.xml", [], [])
    assert cases(tmp_path / "empty.xml") == {}


def test_too_little_answered_is_a_case_and_a_run_that_was_not_made_an_error(tmp_path: Path) -> None:
    missed = "coverage of openai:judge (profile) is 40.0 %, below the bar of 95 %."
    runs = [RunCheck("one", [ACCURACY], missed=missed), RunCheck("two", error="there is no data.")]
    write_suites(tmp_path / "junit.xml", runs)
    assert cases(tmp_path / "junit.xml")["personafit.coverage", "enough was answered"] == missed
    first, second = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert (first.get("name"), first.get("failures"), first.get("errors")) == ("one", "1", "0")
    assert (second.get("tests"), second.get("errors")) == ("1", "1")


def test_a_place_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="choose another with --junit"):
        write_junit(tmp_path / "file" / "junit.xml", RESULTS, [])


def test_a_number_just_below_its_bar_is_shown_below_it() -> None:
    near = replace(ACCURACY, value=0.84996, low=0.84995, high=0.84997)
    assert missed(near, 0.85) == (
        "accuracy of openai:judge (profile) is 0.849960 (0.850 to 0.850), below 0.85."
    )
    assert missed(replace(ACCURACY, value=0.9, low=0.85), 0.85) is None


def test_a_lift_that_is_not_shown_does_not_pass() -> None:
    """0.306 is above 0.05, but the run does not show it: a lift of -0.1 would look the same."""
    lift = replace(ACCURACY, metric="lift", value=0.306, low=-0.136, high=0.748)
    said = missed(lift, 0.05)
    assert said is not None
    assert "cannot be told to reach 0.05: it is 0.306 (-0.136 to 0.748)" in said
    assert missed(lift, 0.05, Undecided.PASS) is None
    assert missed(replace(lift, value=-0.5, low=-0.7, high=-0.3), 0.05, Undecided.PASS) is not None


def test_what_needs_no_interval_or_has_none_at_the_gate() -> None:
    few = replace(ACCURACY, value=1.0, low=None, high=None, n=4, people=2)
    assert missed(few, 0.5) == (
        "accuracy of openai:judge (profile) cannot be told to reach 0.5: it is 1.000 over 2 people, and at least 6 are needed."
    )
    by_definition = "scores each answer by itself: order cannot matter"
    rule = replace(ACCURACY, metric="consistency", value=1.0, low=None, high=None, note=by_definition)
    assert missed(rule, 0.9) is None
    covered = replace(ACCURACY, metric="coverage", value=0.96, low=None, high=None)
    assert missed(covered, 0.95) is None
    assert missed(covered, 0.97) == "coverage of openai:judge (profile) is 0.960, below 0.97."
    met = replace(ACCURACY, low=0.9, value=0.95, high=1.0, met_people=True)
    assert "was fitted on people of this run" in (missed(met, 0.5) or "")


def test_assertions_read_a_run_folder_or_its_file(tmp_path: Path) -> None:
    body = {"benchmark": "b", "results": [r.as_dict() for r in RESULTS]}
    (tmp_path / "results.json").write_bytes(orjson.dumps(body))
    assert_lift(tmp_path, "openai:judge", at_least=-0.01)
    assert_lift(str(tmp_path / "results.json"), "openai:judge", at_least=-0.02)
    assert_metric(tmp_path, "accuracy", at_least=0.35)
    with pytest.raises(
        AssertionError, match=r"lift of openai:judge \(profile\) cannot be told to reach 0\.05"
    ):
        assert_lift(tmp_path, "openai:judge", at_least=0.05)
    with pytest.raises(AssertionError, match=r"is 0\.020 \(-0\.010 to 0\.060\), below 0\.1\."):
        assert_lift(tmp_path, "openai:judge", at_least=0.1)
    with pytest.raises(AssertionError, match="undefined"):
        assert_lift(tmp_path)
    with pytest.raises(UserError, match="has no warmth; there are accuracy, lift, restraint of"):
        assert_metric(tmp_path, "warmth")
    with pytest.raises(UserError, match="cannot be read"):
        assert_lift(tmp_path / "nowhere")
    (tmp_path / "results.json").write_text("[]")
    with pytest.raises(UserError, match=r"is not the results\.json of a run"):
        assert_lift(tmp_path)
