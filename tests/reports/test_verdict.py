"""The verdict: what a report says first, about the thing that was tested."""

from pathlib import Path
from typing import Any

import pytest

import personafit as pf
from personafit.reports.result import Result
from personafit.reports.verdict import run_verdict
from personafit.statistics.clusters import CONSTANT


def result(metric: str, value: float | None, low: float | None, high: float | None, **given: Any) -> Result:
    whole: dict[str, Any] = dict.fromkeys(Result.__slots__)
    whole |= {"rater": "judge", "context": "profile", "fingerprint": "f", "slice": {}, "n": 49, "people": 30}
    whole |= {"met_people": False, "note": "over none, the larger of the two controls", "metric": metric}
    whole |= {"value": value, "low": low, "high": high}
    if low is not None and high is not None:
        whole |= {"se": (high - low) / 4.09, "df": 29.0}
    return Result(**whole | given)


def answers(lift: tuple[float, float, float], **given: Any) -> list[Result]:
    """A team's assistant whose answers were judged beside its own generic ones."""
    told = {"system": "us", "system_context": "profile"} | given
    return [
        result("win_rate", 0.75, 0.59, 0.91, **told),
        result("win_rate", 0.75, 0.59, 0.91, **told | {"slice": {"against": "generic"}}),
        result("win_rate_length_controlled", 0.7, 0.5, 0.8, **told | {"slice": {"against": "generic"}}),
        result("lift", *lift, **told),
        result("restraint", 1.0, 0.54, 1.0, **told | {"slice": {"expect": "generic"}, "n": 6}),
        result("win_rate", 0.9, 0.8, 0.95, **told | {"rater": "rule:length", "control": "longest answer"}),
    ]


def test_a_teams_own_assistant_is_the_subject_and_not_its_judge() -> None:
    verdict = run_verdict("run", "choice", answers((0.22, 0.01, 0.44)), bars=[("lift", 0.05)])
    assert verdict.sentences == [
        "Your assistant’s answers beat its own generic ones in 75.0 % of 49 questions (59.0–91.0); knowing the right person adds "
        "22.0 points (+1.0 to +44.0) over the better control; it holds back where it should in 6 of 6 questions.",
        "Gate lift=0.05: cannot tell whether lift of us given profile, judged by judge (profile) reaches 0.05: it is 0.220 (0.010 to 0.440); if that is its true value, about "
        "93 people with as many items each (152 items) would tell.",
    ]
    assert [one.outcome for one in verdict.gate] == ["cannot tell"]


def test_a_lift_that_is_not_shown_says_what_could_have_been() -> None:
    (said,) = run_verdict("run", "choice", answers((0.02, -0.1, 0.14))).sentences
    assert "no evidence that its answers fit the person they are for (lift +2.0 points" in said
    assert "this run could have detected" in said
    assert "adds" not in said


def test_a_win_by_length_alone_is_said() -> None:
    rows = answers((0.22, 0.01, 0.44))
    rows[2] = result(
        "win_rate_length_controlled",
        0.3,
        0.2,
        0.4,
        system="us",
        system_context="profile",
        slice={"against": "generic"},
    )
    assert ", but at equal length in 30.0 % (20.0–40.0);" in run_verdict("run", "choice", rows).sentence


def test_a_judge_that_failed_on_the_generic_answers_is_not_counted_as_zero() -> None:
    rows = answers((0.22, 0.01, 0.44))
    told = {"system": "us", "system_context": "profile", "slice": {"against": "generic"}, "n": 0}
    rows[1] = result("win_rate", None, None, None, **told)
    said = run_verdict("run", "choice", rows).sentence
    assert said.startswith("Your assistant’s answers have not been judged against its own generic ones;")


def test_two_systems_get_two_sentences_with_their_names() -> None:
    rows = [*answers((0.22, 0.01, 0.44)), *answers((0.02, -0.1, 0.14), system="them")]
    first, second = run_verdict("run", "choice", rows).sentences
    assert first.startswith("us (profile): its answers beat its own generic ones in 75.0 %")
    assert second.startswith("them (profile): its answers beat")
    (said,) = run_verdict("run", "choice", answers((0.22, 0.01, 0.44)), several=True).sentences
    assert said.startswith("us (profile): its answers beat"), "beside other runs"


def test_two_judges_of_one_assistant_are_named_first() -> None:
    rows = [*answers((0.22, 0.01, 0.44)), *answers((0.02, -0.1, 0.14), rater="other", fingerprint="g")]
    first, second = run_verdict("run", "choice", rows).sentences
    assert first.startswith("Judged by judge, your assistant’s answers beat its own generic ones in 75.0 %")
    assert second.startswith("Judged by other, your assistant’s answers beat")


def test_a_log_that_does_not_name_its_system_is_still_about_its_answers() -> None:
    rows = answers((0.0, -0.1, 0.1), system=None, system_context=None)
    rows[3] = result("lift", 0.0, None, None, note=CONSTANT)
    (said,) = run_verdict("run", "choice", rows).sentences
    assert "the judge chooses the same whether it is told about the person or about nobody" in said


def test_a_run_with_only_questions_where_the_person_should_not_matter_has_a_verdict() -> None:
    told = {"system": "us", "n": 6}
    rows = [
        result("win_rate", None, None, None, **told | {"n": 0}),
        result("consistency", 1.0, None, None, **told),
        result("restraint", 1.0, 0.54, 1.0, **told | {"slice": {"expect": "generic"}}),
    ]
    verdict = run_verdict("run", "choice", rows)
    assert verdict.sentence == "Your assistant holds back where it should in 6 of 6 questions."


def test_one_of_anything_is_singular() -> None:
    (said,) = run_verdict("run", "choice", [result("accuracy", 0.5, None, None, n=1, people=1)]).sentences
    assert said == "judge chooses the right answer in 0.5 of 1 question."


def test_a_judge_that_gave_no_answer_is_named_after_the_system() -> None:
    rows = [*answers((0.22, 0.01, 0.44)), result("win_rate", None, None, None, n=0, system="v2")]
    said = run_verdict("run", "choice", rows).sentences
    assert said[0].startswith("us (profile): its answers beat")
    assert said[1] == "v2: nothing can be said, as judge gave no answer that could be scored."


def test_a_control_asked_for_by_name_is_described_as_any_rater_is() -> None:
    rows = [result("f1", 0.4, 0.3, 0.5, rater="rule:overlap", control="shared words", fingerprint="o")]
    (said,) = run_verdict("run", "relevance", rows, named=("o",)).sentences
    assert said.startswith(
        "rule:overlap picks the attributes that people call relevant with F1 40.0 % (30.0–50.0)"
    )
    (said,) = run_verdict("run", "relevance", rows).sentences
    assert said.startswith(
        "Only controls were run. The best of them, rule:overlap (shared words), reaches F1 40.0 %"
    )


def test_the_best_control_is_named_by_its_total_and_not_by_one_systems_slice() -> None:
    rows = [
        result("rating", 3.6, 3.3, 3.9, rater="rule:length", control="longer answer", n=100),
        result("rating", 3.9, 3.7, 4.1, rater="rule:length", control="longer answer", system="one", n=50),
    ]
    (said,) = run_verdict("run", "preference", rows).sentences
    assert said.endswith("reaches rating 3.60 (3.30–3.90) on 100 items of 30 people.")


@pytest.mark.parametrize(
    ("low", "high", "outcome"), [(0.1, 0.4, "passes"), (-0.3, 0.02, "fails"), (-0.1, 0.7, "cannot tell")]
)
def test_the_gate_has_three_outcomes(low: float, high: float, outcome: str) -> None:
    rows = answers(((low + high) / 2, low, high))
    (gate,) = run_verdict("run", "choice", rows, bars=[("lift", 0.05)]).gate
    assert gate.outcome == outcome
    assert gate.sentence.startswith(f"Gate lift=0.05: {outcome}")


def test_the_page_the_terminal_and_json_say_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {
            "person": {"id": f"p{n}", "pet": "cats"},
            "question": f"Question {n}?",
            "chosen": "cats, cats and cats",
            "rejected": "dogs",
        }
        for n in range(8)
    ]
    run = pf.evaluate(rows, raters="rule:name", store=tmp_path / "s.db", progress=False)
    said = run.verdict.sentence
    assert said in run.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert run.as_dict()["verdict"]["sentence"] == said
    run.print()
    assert said in " ".join(capsys.readouterr().out.split())


def test_marks_of_several_systems_say_whose_answers_they_are_about() -> None:
    rows = [
        result("length_difference", 999.0, 110.0, 1888.0, rater=None, fingerprint=None, system="gpt"),
        result("rating", 3.5, 3.2, 3.8),
        result("rating", 3.6, 3.3, 3.9, system="gpt", system_context="attributes:all"),
        result("rating", 3.4, 3.1, 3.7, system="gpt", system_context="attributes:human"),
    ]
    whole, first, second = run_verdict("run", "preference", rows).sentences
    assert whole.startswith("judge rates the personalized answers 3.50 (3.20–3.80) on a scale")
    assert "gpt told “attributes:all”: its personalized answers are rated 3.60" in first
    assert "gpt told “attributes:human”: its personalized answers are rated 3.40" in second
    unread = [
        rows[0],
        *(
            result("rating", None, None, None, system=one.system, system_context=one.system_context)
            for one in rows[1:]
        ),
    ]
    said = run_verdict("run", "preference", unread).sentences
    assert said[0] == "Nothing can be said about judge: it gave no answer that could be scored."
    assert len(said) == 3
    assert "999" not in " ".join(said)


def test_a_judge_without_a_dialogue_to_judge_is_not_said_to_have_answered_badly() -> None:
    rows = [result("completion_unparsed", 0.0, None, None, system="us", n=6)]
    said = run_verdict("run", "dialogue", rows).sentence
    assert said.startswith("us: no dialogue finished that could be judged, on 6 tasks")
    coverage = [result("coverage_before", 0.0, None, None, system="canned", control="canned assistant")]
    assert run_verdict("run", "dialogue", coverage).sentence == "Nothing has been judged in run yet."
