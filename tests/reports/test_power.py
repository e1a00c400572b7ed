"""Planning from a stored run: its paired differences, its clusters, and what more people or items would show."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from personafit import Store, UserError
from personafit.benchmarks import FolderBenchmark, ImportedPairs, RunConfig, write_folder
from personafit.kinds import run_lines
from personafit.kinds.lines import RunLines
from personafit.reports.power import EVEN, plan_run
from personafit.statistics.power import smallest_difference, spread
from tests.scripted import run, simple_pairs, write_lines, write_pairs, write_recording

PEOPLE, EACH = 12, 4


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.db") as opened:
        yield opened


def make_pilot(tmp_path: Path, store: Store, recurring: bool) -> RunLines:
    """Two recordings: one is wrong about every fourth item, the other about everything of three people."""
    pairs = simple_pairs(PEOPLE, EACH)
    if not recurring:
        pairs = [{**row, "question": f"{row['person']}: {row['question']}"} for row in pairs]
    write_folder(tmp_path / "mine", ImportedPairs(write_pairs(tmp_path / "mine.csv", pairs)))
    benchmark = FolderBenchmark(tmp_path / "mine")
    one = write_recording(
        tmp_path / "one.jsonl",
        benchmark,
        lambda context, item, order: "right" if context == "profile" and item % 4 else "wrong",
    )
    two = write_recording(
        tmp_path / "two.jsonl",
        benchmark,
        lambda context, item, order: "right" if context == "profile" and item // EACH > 2 else "wrong",
    )
    raters = [f"replay:{one}", f"replay:{two}"]
    return run_lines(store, run(store, RunConfig(str(tmp_path / "mine"), raters=raters)).run)


@pytest.fixture(scope="module")
def pilot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunLines]:
    """Everybody has questions of their own."""
    folder = tmp_path_factory.mktemp("pilot")
    with Store(folder / "store.db") as opened:
        yield make_pilot(folder, opened, recurring=False)


@pytest.fixture(scope="module")
def recurring(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunLines]:
    """Everybody is asked the same four questions."""
    folder = tmp_path_factory.mktemp("recurring")
    with Store(folder / "store.db") as opened:
        yield make_pilot(folder, opened, recurring=True)


def test_each_rater_is_planned_against_its_best_control_and_the_other(pilot: RunLines) -> None:
    plans = plan_run(pilot)
    assert [(p.first.split("/")[-1], p.second.split("/")[-1]) for p in plans] == [
        ("one.jsonl (profile)", "rule:length (profile)"),
        ("two.jsonl (profile)", "rule:length (profile)"),
        ("one.jsonl (profile)", "two.jsonl (profile)"),
    ]
    between = plans[2]
    assert (between.n, between.pilot_people, between.people, between.items) == (48, 12, 12, 4.0)
    right_one = [item % 4 > 0 for item in range(48)]
    right_two = [item // EACH > 2 for item in range(48)]
    gaps = [float(a) - float(b) for a, b in zip(right_one, right_two, strict=True)]
    people = [item // EACH for item in range(48)]
    expected = smallest_difference(spread(gaps, people), 12, 4)
    assert between.smallest.value == pytest.approx(expected.value)
    assert between.observed == pytest.approx(sum(gaps) / 48)


def test_more_people_show_smaller_differences(pilot: RunLines) -> None:
    few, many = plan_run(pilot)[2], plan_run(pilot, people=200, items=4)[2]
    assert (many.smallest.value or 1) < (few.smallest.value or 0)
    assert "200 people with 4 items each detect a true difference of" in many.sentence()


def test_what_a_difference_takes(pilot: RunLines) -> None:
    plan = plan_run(pilot, difference=0.03)[2]
    enough = plan_run(pilot, people=int(plan.needed["people"].value or 0))[2]
    assert (enough.smallest.value or 1) <= 0.03
    # These people differ too much for any number of items: that is said, with what would do.
    assert plan.needed["items"].value is None
    assert "No number of items is enough with 12 people" in plan.sentence()
    assert "A difference of 3.0 points takes" in plan.sentence()
    assert plan.as_dict()["people_needed"] == plan.needed["people"].value


@pytest.mark.parametrize("difference", [0.0, -0.1, 1.0, 3.0, float("nan")])
def test_a_difference_is_a_fraction(pilot: RunLines, difference: float) -> None:
    with pytest.raises(UserError, match="above 0 and below 1"):
        plan_run(pilot, difference=difference)


def test_where_nothing_can_be_planned_nothing_else_is_said(tmp_path: Path, store: Store) -> None:
    rows = simple_pairs(6, 3)
    write_folder(tmp_path / "mine", ImportedPairs(write_pairs(tmp_path / "mine.csv", rows)))
    benchmark = FolderBenchmark(tmp_path / "mine")
    same = write_recording(tmp_path / "same.jsonl", benchmark, lambda context, item, order: "right")
    config = RunConfig(str(tmp_path / "mine"), raters=[f"replay:{same}"])
    (plan,) = plan_run(run_lines(store, run(store, config).run), difference=0.05)
    assert plan.sentence().endswith(
        "(undefined: the pilot's values are all the same, so any difference would show)."
    )
    assert "takes" not in plan.sentence()
    body = plan.as_dict()
    for name in ("people_needed", "items_needed"):
        assert body[name] is None
        assert "all the same" in body[f"{name}_note"]


def test_numbers_of_items_are_rounded_and_one_is_an_item(pilot: RunLines) -> None:
    plan = plan_run(pilot, items=1, difference=0.9)[2]
    assert "12 people with 1 item each detect" in plan.sentence()
    assert ", or 1 item from each of 12 people." in plan.sentence()
    assert "people with 27 items each detect" in replace(plan, items=26.6).sentence()


def test_recurring_prompts_limit_what_people_can_show(recurring: RunLines) -> None:
    plan = plan_run(recurring, difference=0.3)[2]
    assert plan.prompts == 4
    assert plan.spread.prompt == pytest.approx(0.25, abs=0.05)
    assert "12 people with 4 items each on 4 prompts cannot detect" in plan.sentence()
    assert plan.needed["people"].value is None
    assert "No number of people alone is enough with 4 prompts: at least " in plan.sentence()
    body = plan.as_dict()
    assert body["pilot"]["variance_prompts"] == plan.spread.prompt
    assert "no number of people alone" in body["people_needed_note"]
    many = plan_run(recurring, people=200, prompts=60, difference=0.3)[2]
    assert (many.smallest.value or 1) < 0.3 < (plan.smallest.value or 0)
    assert "on 60 prompts" in many.sentence()


def test_a_rater_fitted_on_these_people_is_named(pilot: RunLines) -> None:
    name = pilot.run.config["raters"][0]["name"]
    note = f"{name} was fitted on 3 of the people here: its score on them is no evidence."
    config = {**pilot.run.config, "notes": [note]}
    plans = plan_run(replace(pilot, run=pilot.run._replace(config=config)))
    assert [note.rstrip(".") in plan.notes for plan in plans] == [
        name in f"{plan.first}, {plan.second}" for plan in plans
    ]
    assert any(plan.notes for plan in plans)


def test_systems_are_planned_against_an_even_win_rate(tmp_path: Path, store: Store) -> None:
    rows = [
        {
            "person": {"id": f"p{n}", "a": "b"},
            "question": f"Q{n}?",
            "answer": "tea" * (1 + n % 2 * 9),
            "generic": "it, or that",
        }
        for n in range(8)
    ]
    log = write_lines(tmp_path / "log.jsonl", rows)
    finished = run(store, RunConfig(str(log), raters=["rule:length"], contexts=["profile"]))
    (plan,) = plan_run(run_lines(store, finished.run))
    assert plan.second == EVEN
    assert plan.observed == 0.0
    assert plan.spread.note is not None
    assert plan.smallest.value is not None


def test_one_person_cannot_be_planned_from(tmp_path: Path, store: Store) -> None:
    write_folder(tmp_path / "one", ImportedPairs(write_pairs(tmp_path / "one.csv", simple_pairs(1, 3))))
    finished = run(store, RunConfig(str(tmp_path / "one"), raters=["rule:overlap"], contexts=["profile"]))
    (plan,) = plan_run(run_lines(store, finished.run))
    assert plan.smallest.value is None
    assert "nothing can be planned (undefined: how much people differ" in plan.sentence()
