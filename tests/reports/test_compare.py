"""Comparing runs: paired by item, said in words, and refused where the difference would be the instrument's."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from personafit import Store, UserError
from personafit.benchmarks import FolderBenchmark, ImportedPairs, RunConfig, write_folder
from personafit.items import FIT
from personafit.kinds import run_lines
from personafit.kinds.lines import RunLines
from personafit.reports.compare import Comparison, compare_runs, contestants, fitted_notes
from tests.scripted import run, simple_pairs, write_lines, write_pairs, write_recording

PEOPLE = 12


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.db") as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = simple_pairs(PEOPLE, 3)
    for number, row in enumerate(rows):  # questions of their own: people are the only clusters
        row["question"] += str(number)
    write_folder(tmp_path / "mine", ImportedPairs(write_pairs(tmp_path / "mine.csv", rows)))
    return tmp_path / "mine"


def judged(
    store: Store,
    folder: Path,
    name: str,
    right: Callable[[int], bool | None],
    contexts: tuple[str, ...] = ("profile",),
    limit: int | None = None,
) -> RunLines:
    """A run of a recording; `right` says for each item whether it is, or None where there is no reply."""

    def decide(context: str, item: int, order: str) -> str | None:
        fits = right(item)
        return None if fits is None else "right" if fits else "wrong"

    recording = write_recording(folder.parent / f"{name}.jsonl", FolderBenchmark(folder), decide)
    config = RunConfig(str(folder), raters=[f"replay:{recording}"], contexts=list(contexts), limit=limit)
    return run_lines(store, run(store, config).run)


def only(comparisons: list[Comparison]) -> Comparison:
    (comparison,) = comparisons
    return comparison


def test_a_clear_difference_is_called_better_in_either_direction(store: Store, folder: Path) -> None:
    good = judged(store, folder, "good", lambda item: item % 6 != 0)
    poor = judged(store, folder, "poor", lambda item: item % 3 == 0)
    forward, back = only(compare_runs(good, poor)), only(compare_runs(poor, good))
    assert forward.difference.value == pytest.approx(30 / 36 - 12 / 36)
    assert back.difference.value == pytest.approx(-(forward.difference.value or 0))
    assert (forward.difference.n, forward.difference.people) == (36, PEOPLE)
    for comparison in (forward, back):
        sentence = comparison.sentence()
        assert "good.jsonl (profile) is better than replay" in sentence
        assert "by 50.0 points of accuracy" in sentence
        assert "36 shared items, 12 people" in sentence
        # The interval goes the way the words do, whichever run came first.
        low, high = sorted(abs(end or 0) for end in (comparison.difference.low, comparison.difference.high))
        assert f"(95 % interval {100 * low:+.1f} to {100 * high:+.1f}, p" in sentence
    assert (back.difference.high or 0) < 0, "the record itself stays first minus second"
    assert forward.tested.p is not None
    assert forward.tested.p < 0.001
    assert "p < 0.001; 36 shared items" in forward.sentence()


def test_notes_on_fitted_raters_are_kept_once_and_others_are_not(store: Store, folder: Path) -> None:
    scores = judged(store, folder, "one", lambda item: True)
    assert fitted_notes([scores]) == []
    fitted = "fitted:zh was fitted on 86 of the people here: its score on them is no evidence."
    config = {**scores.run.config, "notes": ["only the General half is here", fitted]}
    noted = replace(scores, run=scores.run._replace(config=config))
    assert fitted_notes([scores, noted, noted]) == [fitted]


def test_noise_is_called_not_distinguishable(store: Store, folder: Path) -> None:
    one = judged(store, folder, "one", lambda item: item % 4 != 0)
    two = judged(store, folder, "two", lambda item: item % 4 != 1)
    comparison = only(compare_runs(one, two))
    assert "are not distinguishable: they differ by 0.0 points" in comparison.sentence()
    assert ", first minus second, p = 1.000" in comparison.sentence()
    assert comparison.tested.p == pytest.approx(1.0)


def test_a_run_compared_with_itself_scores_the_same_and_is_told_apart_by_run(
    store: Store, folder: Path
) -> None:
    scores = judged(store, folder, "one", lambda item: item % 4 != 0)
    sentence = only(compare_runs(scores, scores)).sentence()
    assert "score the same on every item (36 shared items, 12 people)" in sentence
    assert f"in {scores.run.name}" in sentence


def test_pairing_by_item_sees_what_two_separate_means_cannot(store: Store, folder: Path) -> None:
    """Few items differ, all the same way: apart the intervals overlap, paired they do not touch zero."""
    hard = [item for item in range(36) if item // 3 % 2]
    base = judged(store, folder, "base", lambda item: item not in hard)
    more = judged(store, folder, "more", lambda item: item not in hard or item % 3 == 0)
    comparison = only(compare_runs(more, base))
    assert comparison.difference.value == pytest.approx(6 / 36)
    assert (comparison.difference.low or 0) > 0
    assert "is better than" in comparison.sentence()


def test_only_items_answered_by_both_count(store: Store, folder: Path) -> None:
    one = judged(store, folder, "one", lambda item: None if item in (0, 9) else True)
    two = judged(store, folder, "two", lambda item: None if item in (5, 9) else item % 2 == 0)
    comparison = only(compare_runs(one, two))
    shared = [item for item in range(36) if item not in (0, 5, 9)]
    assert comparison.difference.n == len(shared)
    assert comparison.difference.value == pytest.approx(sum(item % 2 for item in shared) / len(shared))


def test_nothing_in_common_cannot_be_compared(store: Store, folder: Path) -> None:
    one = judged(store, folder, "one", lambda item: True if item < 5 else None)
    two = judged(store, folder, "two", lambda item: True if 5 <= item < 10 else None)
    sentence = only(compare_runs(one, two)).sentence()
    assert "cannot be compared: no item has an answer from both" in sentence


@pytest.mark.parametrize(("items", "said"), [(3, "1 person"), (15, "5 people")])
def test_fewer_than_six_people_give_counts_and_no_verdict(
    store: Store, folder: Path, items: int, said: str
) -> None:
    """Five people who all gain as much are no certainty."""
    one = judged(store, folder, "one", lambda item: True if item < items else None)
    two = judged(store, folder, "two", lambda item: item % 3 == 0 if item < items else None)
    comparison = only(compare_runs(one, two))
    assert comparison.sentence().endswith(
        f"{items // 3} of {items}, {said}: too few people to claim anything (6 are needed)."
    )
    assert f"one.jsonl (profile) {items} of {items}" in comparison.sentence()
    assert comparison.distinguishable is None


def test_a_null_result_says_what_the_runs_could_have_shown(store: Store, folder: Path) -> None:
    one = judged(store, folder, "one", lambda item: item % 5 != 0)
    two = judged(store, folder, "two", lambda item: item % 5 != 1)
    comparison = only(compare_runs(one, two))
    could = comparison.tested.detectable
    assert could is not None
    assert f"this run could have detected {100 * could:.1f} points or more" in comparison.sentence()
    assert "not shown to be equivalent within ±5.0 points" in comparison.sentence()
    wide = only(compare_runs(one, two, margin=0.9))
    assert "not distinguishable and equivalent" in wide.sentence()
    assert "equivalent within ±90.0 points, p" in wide.sentence()


def test_nothing_is_claimed_of_a_rater_that_met_the_people(store: Store, folder: Path) -> None:
    good = judged(store, folder, "good", lambda item: True)
    poor = judged(store, folder, "poor", lambda item: item % 3 == 0)
    name = good.run.config["raters"][0]["name"]
    notes = [f"{name} was fitted on 12 of the people here: its score on them is no evidence."]
    met = replace(good, run=good.run._replace(config=good.run.config | {"notes": notes}))
    comparison = only(compare_runs(met, poor))
    assert comparison.distinguishable is None
    assert f"no claim, as {name} (profile) was fitted on people of these runs" in comparison.sentence()
    assert "better" not in comparison.sentence()


def test_different_data_are_refused_unless_asked_for(store: Store, folder: Path, tmp_path: Path) -> None:
    rows = [{**row, "question": row["question"] + "?"} for row in simple_pairs(PEOPLE, 3)]
    write_folder(tmp_path / "else", ImportedPairs(write_pairs(tmp_path / "mine.csv", rows)))
    here = judged(store, folder, "here", lambda item: True)
    there = judged(store, tmp_path / "else", "there", lambda item: item % 2 == 0)
    with pytest.raises(UserError, match=r"were run on different data .*--anyway") as refused:
        compare_runs(here, there)
    assert refused.value.code == 2
    comparison = only(compare_runs(here, there, anyway=True))
    assert comparison.difference.n == 36, "the ids are the same, so they can be paired when asked to"


def test_another_wording_is_refused_unless_asked_for(store: Store, folder: Path) -> None:
    one = judged(store, folder, "one", lambda item: True)
    config = {**one.run.config, "instrument": "another wording"}
    other = replace(one, run=one.run._replace(config=config, name="other"))
    assert one.run.config["instrument"] == FIT.fingerprint
    with pytest.raises(UserError, match="asked the question differently"):
        compare_runs(one, other)
    assert len(compare_runs(one, other, anyway=True)) == 1


def test_a_sample_is_compared_on_what_it_shares_with_the_whole(store: Store, folder: Path) -> None:
    whole = judged(store, folder, "whole", lambda item: True)
    part = judged(store, folder, "part", lambda item: item % 2 == 0, limit=10)
    assert only(compare_runs(whole, part)).difference.n == 10


def test_a_win_rate_is_not_compared_with_an_accuracy(store: Store, folder: Path, tmp_path: Path) -> None:
    log = write_lines(
        tmp_path / "log.jsonl",
        [
            {"person": {"id": f"p{n}", "likes": "tea"}, "question": "Q?", "answer": "tea", "generic": "it"}
            for n in range(3)
        ],
    )
    answers = run_lines(store, run(store, RunConfig(str(log), raters=["rule:length"])).run)
    pairs = judged(store, folder, "pairs", lambda item: True)
    with pytest.raises(UserError, match=r"reports win_rate and .* accuracy"):
        compare_runs(answers, pairs)


def logged(store: Store, path: Path, rows: list[dict[str, Any]]) -> RunLines:
    """A run on a log of answers, the longer one winning."""
    config = RunConfig(str(write_lines(path, rows)), raters=["rule:length"])
    return run_lines(store, run(store, config).run)


def answer(person: int, text: str, **more: str) -> dict[str, Any]:
    """A line of a log; only an answer of some length wins."""
    who = {"id": f"p{person}", "likes": "tea"}
    return {"person": who, "question": f"Question {person}?", "answer": text, "generic": "So so.", **more}


LONG, SHORT = "A rather long answer.", "No."


def test_logs_are_paired_by_person_and_question_whatever_line_they_stand_on(
    store: Store, tmp_path: Path
) -> None:
    rows = [answer(person, LONG if person % 3 else SHORT) for person in range(6)]
    one = logged(store, tmp_path / "one.jsonl", rows)
    other = logged(store, tmp_path / "other.jsonl", list(reversed(rows)))
    found = only(compare_runs(one, other)).difference
    assert (found.value, found.low, found.high, found.n) == (0.0, None, None, 6)


def test_a_question_answered_twice_is_one_comparison(store: Store, tmp_path: Path) -> None:
    once = [answer(person, LONG, system="a") for person in range(6)]
    twice = [answer(person, text, system="b") for person in range(6) for text in (LONG, SHORT)]
    one = logged(store, tmp_path / "once.jsonl", once)
    other = logged(store, tmp_path / "twice.jsonl", twice)
    found = only(compare_runs(one, other)).difference
    assert (found.value, found.n, found.people) == (0.5, 6, 6)


def test_a_system_that_was_told_nothing_is_compared_too(store: Store, tmp_path: Path) -> None:
    bare = [answer(person, SHORT, system="bare") for person in range(6)]
    told = [answer(person, LONG, system="told", given="profile") for person in range(6)]
    both = logged(store, tmp_path / "both.jsonl", bare + told)
    names = {one.name: len(one.line.frame) for one in contestants(both)}
    assert names == {"bare (judged by rule:length)": 6, "told given profile (judged by rule:length)": 6}


def test_a_log_without_names_is_about_the_assistant_not_its_judge(store: Store, tmp_path: Path) -> None:
    old = logged(store, tmp_path / "old.jsonl", [answer(person, SHORT) for person in range(8)])
    new = logged(store, tmp_path / "new.jsonl", [answer(person, LONG) for person in range(8)])
    said = only(compare_runs(new, old)).sentence()
    ours = "your assistant.* in "
    assert re.match(f"{ours}{new.run.name} is better than {ours}{old.run.name} by 100.0 points", said)


def test_systems_of_one_run_are_compared_by_each_judge(store: Store, tmp_path: Path) -> None:
    rows = [
        answer(person, text, system=system)
        for person in range(8)
        for system, text in (("new", LONG), ("old", SHORT), ("same", SHORT))
    ]
    log = str(write_lines(tmp_path / "three.jsonl", rows))
    config = RunConfig(log, raters=["rule:length", "rule:overlap"])
    found = compare_runs(run_lines(store, run(store, config).run))
    made = [(one.first.made[0], one.second.made[0], one.first.rater, one.second.rater) for one in found]
    judges = ("rule:length", "rule:overlap")
    assert made == [("new", other, judge, judge) for judge in judges for other in ("old", "same")]
    assert found[0].difference.value == 1.0
    with pytest.raises(UserError, match="compare needs two runs, or one with two systems or raters"):
        compare_runs(logged(store, tmp_path / "one.jsonl", rows[::3]))


def test_raters_of_one_run_are_compared(store: Store, folder: Path) -> None:
    config = RunConfig(str(folder), raters=["rule:length", "rule:overlap"])
    both = only(compare_runs(run_lines(store, run(store, config).run)))
    assert [one.rater for one in (both.first, both.second)] == ["rule:length", "rule:overlap"]


def test_a_folder_may_have_a_slice_called_system(store: Store, tmp_path: Path) -> None:
    pairs = write_pairs(tmp_path / "named.csv", simple_pairs(6, system="mine"))
    write_folder(tmp_path / "named", ImportedPairs(pairs))
    scores = judged(store, tmp_path / "named", "all", lambda item: True)
    assert only(compare_runs(scores, scores)).difference.n == 6
