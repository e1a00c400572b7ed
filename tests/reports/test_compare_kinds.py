"""What is said of two lines of any kind: each metric on its own scale, judges told apart from systems, and what is refused."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from personafit import UserError
from personafit.kinds import Line, Metric
from personafit.kinds.lines import Reference, RunLines
from personafit.reports.compare import Comparison, compare_runs, rank_runs
from personafit.store import RunRecord

PEOPLE, EACH = 12, 2
MARK = Metric("personalization", bounds=(1.0, 4.0), about="product")
FAULTS = Metric("contradictions", bounds=None, about="product", better="lower")
PICKS = Metric("yes_rate", "yes", better=None)


def line(
    rater: str | None,
    system: str | None,
    system_context: str | None = "I",
    control: str | None = None,
    **columns: list[float],
) -> Line:
    count = PEOPLE * EACH
    frame = pl.DataFrame(
        {
            "unit": [f"u{n}" for n in range(count)],
            "item": [f"{system}-{n}" for n in range(count)],
            "person": [f"p{n // EACH}" for n in range(count)],
            "prompt": [f"t{n}" for n in range(count)],
            "asked": [1] * count,
            "answered": [1] * count,
            **columns,
        }
    )
    return Line(rater, rater, "given", system, system_context, frame, control)


def run_of(
    name: str,
    *lines: Line,
    judges: tuple[str, ...] = ("judge",),
    metric: Metric = MARK,
    user: str = "u",
    references: tuple[Reference, ...] = (),
    dataset: str = "tasks",
) -> RunLines:
    config = {
        "kind": "dialogue",
        "user": {"fingerprint": user},
        "raters": [{"fingerprint": judge, "name": judge, "kind": "llm"} for judge in judges],
    }
    record = RunRecord(1, name, dataset, config, 0, 0.0, None)
    info = {"view": "given", "metric": "completion", "name": "b"}
    return RunLines(record, info, "dialogue", list(lines), [metric], references=references)


def marks(mean: float, seed: int) -> list[float]:
    drawn = np.random.default_rng(seed).normal(mean, 0.4, PEOPLE * EACH)
    return [float(mark) for mark in np.clip(drawn, 1, 4)]


def only(found: list[Comparison]) -> Comparison:
    (one,) = found
    return one


def test_assistants_by_the_same_judge_are_better_or_worse_in_marks() -> None:
    good = run_of("one", line("judge", "good", personalization=marks(3.4, 1)))
    poor = run_of("two", line("judge", "poor", personalization=marks(1.9, 2)))
    found = only(compare_runs(poor, good))
    gap = np.mean(np.subtract(marks(1.9, 2), marks(3.4, 1)))
    assert found.difference.value == pytest.approx(gap)
    assert found.tested.margin == pytest.approx(0.15), "5 % of the scale from 1 to 4"
    said = found.sentence()
    assert said.startswith("good given I is better than poor given I by ")
    assert ", judged by judge)" in said
    assert f"{-gap:.2f} marks of personalization (1 to 4) (95 % interval +" in said


def test_controls_of_a_run_are_no_contestants() -> None:
    mine = run_of(
        "one",
        line("judge", "good", personalization=marks(3.4, 1)),
        line("judge", "good", "none", "no context", personalization=marks(2.4, 3)),
        line("judge", "canned", "I", "canned assistant", personalization=marks(2.0, 4)),
    )
    poor = run_of("two", line("judge", "poor", personalization=marks(1.9, 2)))
    assert only(compare_runs(mine, poor)).first.made == ("good", "I")


def test_of_faults_fewer_are_better() -> None:
    clean, sloppy = [0.0, 1.0] * PEOPLE, [2.0, 4.0] * PEOPLE
    one = run_of("one", line(None, "clean", contradictions=clean), metric=FAULTS)
    two = run_of("two", line(None, "sloppy", contradictions=sloppy), metric=FAULTS)
    for found in (only(compare_runs(one, two)), only(compare_runs(two, one))):
        assert found.sentence().startswith(
            "clean given I is better than sloppy given I by 2.50 marks of contradictions (95 % interval +"
        )
    three = run_of("three", line(None, "middling", contradictions=[1.0, 0.0] * PEOPLE), metric=FAULTS)
    (ranked,) = rank_runs([one, two, three])
    assert ranked.place == " on contradictions"
    assert "sloppy given I" not in ranked.names[:1]


def test_a_share_that_is_neither_good_nor_bad_is_above_another() -> None:
    one, two = (
        run_of(name, line(name, None, None, yes=values), judges=(name,), metric=PICKS)
        for name, values in (("many", [1.0, 1.0] * PEOPLE), ("few", [0.0, 1.0] * PEOPLE))
    )
    assert (
        "many (given) is above few (given) by 50.0 points of yes rate"
        in only(compare_runs(one, two)).sentence()
    )
    assert rank_runs([one, two, one]) == []


def test_a_judge_that_gives_higher_marks_is_not_called_better() -> None:
    people = marks(2.0, 7)
    near, far = (
        [mark + more + place % 3 / 50 * sign for place, mark in enumerate(people)]
        for more, sign in ((0.1, 1), (1.2, -1))
    )
    reference = Reference(
        "personalization", "personalization", "personalization", "people", "human", (1.0, 4.0)
    )
    one = run_of(
        "one",
        line("near", "a", personalization=near, people=people),
        judges=("near",),
        references=(reference,),
    )
    two = run_of(
        "two", line("far", "a", personalization=far, people=people), judges=("far",), references=(reference,)
    )
    higher, closer = compare_runs(one, replace(two, references=()))
    assert (
        "far on a (I) gives higher marks than near on a (I) by 1.06 marks of personalization"
        in higher.sentence()
    )
    assert "near on a (I) is closer to people than far on a (I) by 1.06 marks of" in closer.sentence()
    assert closer.difference.value == pytest.approx(-1.06)


def test_judges_and_users_must_be_the_same_unless_it_is_said() -> None:
    one = run_of("one", line("judge", "a", personalization=marks(3.0, 1)))
    other = run_of("two", line("other", "b", personalization=marks(3.0, 2)), judges=("other",))
    with pytest.raises(UserError, match="one and two have no judge in common"):
        compare_runs(one, other)
    assert len(compare_runs(one, other, anyway=True)) == 1
    talked = run_of("two", line("judge", "b", personalization=marks(3.0, 2)), user="another")
    with pytest.raises(UserError, match="held with different user agents"):
        compare_runs(one, talked)


def test_answers_that_systems_made_in_runs_of_their_own_are_paired_by_question() -> None:
    def made(name: str, mean: float) -> RunLines:
        whole = line("judge", None, None, personalization=marks(mean, len(name)))
        frame = whole.frame.with_columns(
            pl.lit(name).alias("system"),
            pl.lit("matched").alias("system_context"),
            pl.col("unit").alias("group"),
            pl.lit("bees").alias("target"),
            pl.concat_str(pl.lit(name), "unit").alias("unit"),
        )
        found = run_of(name, replace(whole, frame=frame), dataset=f"made-by-{name}")
        return replace(found, made_alike=("group", "target"))

    found = only(compare_runs(made("good", 3.4), made("poorer", 2.0)))
    assert found.difference.n == PEOPLE * EACH
    assert found.sentence().startswith("good given matched is better than poorer given matched by")


def test_users_of_two_styles_are_compared_by_the_same_assistant_and_task() -> None:
    def talked(name: str, style: str, mean: float, **more: str) -> RunLines:
        lines = [line("judge", system, personalization=marks(mean, len(name))) for system in ("a", "b")]
        found = run_of(name, *lines)
        user = {
            "fingerprint": name,
            "name": f"openai:m{',style=cot' if style == 'cot' else ''}",
            "style": style,
        }
        config = {**found.run.config, "user": user | more}
        return replace(found, run=found.run._replace(config=config))

    plain, thinking = talked("one", "vanilla", 3.4), talked("other", "cot", 2.0)
    found = compare_runs(plain, thinking)
    assert [(one.first.line.system, one.second.line.system) for one in found] == [("a", "a"), ("b", "b")]
    assert {one.difference.n for one in found} == {PEOPLE * EACH}
    assert found[0].sentence().startswith("a given I, user vanilla is above a given I, user cot by ")
    assert found[0].sentence().count("better") == 0
    knowing = talked("three", "vanilla", 2.0, history="yes")
    assert compare_runs(plain, knowing)[0].names[1].endswith("user vanilla, told its history")
    other = thinking.run.config | {"user": {"name": "openai:other"}}
    stranger = replace(thinking, run=thinking.run._replace(config=other))
    with pytest.raises(UserError, match="held with different user agents"):
        compare_runs(plain, stranger)
