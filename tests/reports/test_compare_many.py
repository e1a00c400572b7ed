"""Many runs at once: Holm's adjustment, and a ranking with intervals."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from personafit import Store
from personafit.benchmarks import FolderBenchmark, ImportedPairs, RunConfig, write_folder
from personafit.kinds import run_lines
from personafit.kinds.lines import RunLines
from personafit.reports.collect import compared_part
from personafit.reports.compare import compare_runs, rank_runs
from personafit.reports.pieces import Grid, Picture
from personafit.statistics.decisions import holm
from tests.scripted import run, simple_pairs, write_lines, write_pairs, write_recording

PEOPLE, EACH = 12, 4
ITEMS = PEOPLE * EACH


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.db") as opened:
        yield opened


@pytest.fixture
def judged(tmp_path: Path, store: Store) -> Callable[[str, list[bool]], RunLines]:
    """Makes a run of a recording that is right about some items and wrong about the others."""
    rows = simple_pairs(PEOPLE, EACH)
    for number, row in enumerate(rows):  # questions of their own: people are the only clusters
        row["question"] += str(number)
    write_folder(tmp_path / "mine", ImportedPairs(write_pairs(tmp_path / "mine.csv", rows)))
    benchmark = FolderBenchmark(tmp_path / "mine")

    def make(name: str, right: list[bool]) -> RunLines:
        recording = write_recording(
            tmp_path / f"{name}.jsonl",
            benchmark,
            lambda context, item, order: "right" if right[item] else "wrong",
        )
        config = RunConfig(str(tmp_path / "mine"), raters=[f"replay:{recording}"], contexts=["profile"])
        return run_lines(store, run(store, config).run)

    return make


def right(share: float, seed: int) -> list[bool]:
    drawn: list[bool] = (np.random.default_rng(seed).random(ITEMS) < share).tolist()
    return drawn


def test_one_comparison_needs_no_adjustment(judged: Callable[..., RunLines]) -> None:
    runs = [judged("one", right(0.9, 1)), judged("two", right(0.5, 2))]
    (listed,) = compare_runs(*runs)
    assert listed.tested.p_adjusted == listed.tested.p
    assert rank_runs(runs) == [], "two are no ranking"


def test_every_run_against_the_first_with_holm(judged: Callable[..., RunLines]) -> None:
    runs = [judged("base", right(0.85, 1)), judged("same", right(0.85, 2)), judged("poor", right(0.2, 3))]
    same, poor = compare_runs(*runs)
    adjusted = holm([same.tested.p, poor.tested.p])
    assert (same.tested.p_adjusted, poor.tested.p_adjusted) == adjusted
    assert poor.distinguishable
    assert "base.jsonl (profile) is better than replay:" in poor.sentence()
    assert "over 2 comparisons" in poor.sentence()
    assert same.distinguishable is False
    assert "are not distinguishable: they differ by" in same.sentence()


def test_a_difference_that_holm_takes_back_is_not_claimed(judged: Callable[..., RunLines]) -> None:
    base = [True] * ITEMS
    # Wrong about one item of each of five people out of twelve: apart p is a little below 0.05.
    little = [not (item % EACH == 0 and item // EACH < 5) for item in range(ITEMS)]
    runs = [judged("base", base), *(judged(f"other{k}", little) for k in range(3))]
    (alone,) = compare_runs(*runs[:2])
    assert alone.tested.p is not None
    assert 0.01 < alone.tested.p < 0.05
    assert "is better than" in alone.sentence()
    for comparison in compare_runs(*runs):
        assert comparison.tested.p_adjusted == pytest.approx(3 * alone.tested.p)
        assert not comparison.distinguishable
        assert "are not distinguishable once all 3 comparisons are counted: they differ by 10.4 points" in (
            comparison.sentence()
        )


def test_three_contestants_are_ranked(judged: Callable[..., RunLines]) -> None:
    runs = [judged("fair", right(0.6, 1)), judged("good", right(0.95, 2)), judged("poor", right(0.2, 3))]
    (ranked,) = rank_runs(runs)
    assert [name.split("/")[-1] for name in ranked.names] == [
        "good.jsonl (profile)",
        "fair.jsonl (profile)",
        "poor.jsonl (profile)",
    ]
    values = [e.value for e in ranked.strengths]
    assert values == sorted(values, key=lambda v: -(v or 0))
    assert all(e.low is not None and e.low < (e.value or 0) < (e.high or 0) for e in ranked.strengths)
    assert all((tested.estimate.value or 0.0) > 0 for tested in ranked.contrasts.values())
    assert "good.jsonl (profile) ranks above" in ranked.sentences()[0]
    body: dict[str, Any] = ranked.as_dict()
    assert [row["rank"] for row in body["contestants"]] == [1, 2, 3]
    assert len(body["contrasts"]) == 3


def test_equals_are_not_distinguishable_in_rank(judged: Callable[..., RunLines]) -> None:
    runs = [judged(f"rater{k}", right(0.7, 10 + k)) for k in range(3)]
    (ranked,) = rank_runs(runs)
    assert all("not distinguishable in rank" in sentence for sentence in ranked.sentences())
    assert all("this run could have detected " in sentence for sentence in ranked.sentences())
    assert all(
        "in log-odds or more; not shown to be equivalent within ±0.20 in log-odds)" in s
        for s in ranked.sentences()
    )
    body = ranked.as_dict()
    assert all(row["detectable"] > 0 for row in body["contrasts"])
    (wide,) = rank_runs(runs, margin=0.45)
    assert all("not distinguishable in rank and equivalent (Holm p" in one for one in wide.sentences())


def test_nothing_is_claimed_of_a_rank_that_rests_on_people_a_rater_was_fitted_on(
    judged: Callable[..., RunLines],
) -> None:
    runs = [judged("fair", right(0.6, 1)), judged("good", right(0.95, 2)), judged("poor", right(0.2, 3))]
    (rater,) = [one for one in runs[1].run.config["raters"] if not one["control"]]
    note = f"{rater['name']} was fitted on 12 of the people here: its score on them is no evidence."
    met = runs[1].run._replace(config={**runs[1].run.config, "notes": [note]})
    (ranked,) = rank_runs([runs[0], replace(runs[1], run=met), runs[2]])
    first, second = ranked.sentences()
    assert "no claim, as " in first
    assert "ranks above" in second
    assert [row["distinguishable"] for row in ranked.as_dict()["contrasts"]] == [None, None, True]


def test_the_same_answers_do_not_rank_above_themselves(judged: Callable[..., RunLines]) -> None:
    same = right(0.7, 1)
    one, other = judged("one", same), judged("other", right(0.4, 2))
    copy = replace(one, run=one.run._replace(name="copy"))
    (ranked,) = rank_runs([one, copy, other, one])
    assert len(ranked.names) == 3, "a run given twice is ranked once"
    first, second = ranked.names[:2]
    assert ranked.sentences()[0] == f"{first} and {second} do equally well against everyone: they rank alike."


def test_a_contestant_who_never_loses_has_no_strength(judged: Callable[..., RunLines]) -> None:
    none = judged("none", [False] * ITEMS)
    copy = replace(none, run=none.run._replace(name="copy"))
    (ranked,) = rank_runs([judged("all", [True] * ITEMS), none, copy])
    assert all(e.value is None for e in ranked.strengths)
    assert ranked.sentences() == [f"The ranking is {ranked.note}."]
    assert "won or lost every comparison" in (ranked.note or "")


def test_systems_are_ranked_by_each_judge_apart(tmp_path: Path, store: Store) -> None:
    runs = []
    for system, wins in (("poor", 2), ("fair", 4), ("good", 6)):
        rows = [
            {
                "person": {"id": f"p{n}", "likes": "tea"},
                "question": f"Q{n}?",
                "answer": "tea " * (1 + ((n * 3) % 8 < wins) * 4),
                "generic": "tea, or so",
                "system": system,
                "given": "profile",
            }
            for n in range(8)
        ]
        log = write_lines(tmp_path / f"{system}.jsonl", rows)
        config = RunConfig(str(log), raters=["rule:length"], contexts=["profile"])
        runs.append(run_lines(store, run(store, config).run))
    (ranked,) = rank_runs(runs)
    assert ranked.judge == "rule:length"
    assert set(ranked.names) == {f"{system} given profile" for system in ("poor", "fair", "good")}
    part = compared_part(store, [one.run for one in runs])  # logs of their own on the same questions
    assert part is not None
    assert [type(piece) for piece in part.lead] == [Picture, Grid]
    assert part.sentences[0].startswith("poor given profile and fair given profile are not distinguishable")
