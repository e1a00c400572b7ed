"""Numbers of a run, from recorded replies whose scores are known: lift, restraint, coverage, controls, flat records."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from personafit import Store
from personafit.api.places import results_object
from personafit.benchmarks import FolderBenchmark, ImportedPairs, RunConfig, write_folder
from personafit.reports.line_results import results_of
from personafit.reports.result import Result
from personafit.reports.totals import RunTotals, load_totals
from tests.scripted import SHOWN_UNDER, run, simple_pairs, write_pairs, write_recording

Decide = Callable[[str, int, str], str | None]
PEOPLE, QUESTIONS = 6, 2
ITEMS = PEOPLE * QUESTIONS


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store(tmp_path_factory.mktemp("store") / "store.db") as opened:
        yield opened


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve pairs; the first four are marked as better answered without the person; half are hard."""
    place = tmp_path_factory.mktemp("pairs")
    rows = simple_pairs(PEOPLE, QUESTIONS)
    for number, row in enumerate(rows):
        row |= {"tier": "hard" if number % 2 else "easy", "expect": "generic" if number < 4 else "personal"}
    write_folder(place / "mine", ImportedPairs(write_pairs(place / "pairs.csv", rows)))
    return place / "mine"


@pytest.fixture(scope="module")
def lifted(store: Store, folder: Path) -> RunTotals:
    """A rater that is right with the person, on 3 of 12 without, on 6 of 12 with the wrong one."""
    return judged(store, folder, with_person)


def judged(store: Store, folder: Path, decide: Decide, contexts: tuple[str, ...] = SHOWN_UNDER) -> RunTotals:
    """A finished run of recorded replies."""
    said = folder / f"said-{len(list(folder.glob('said-*')))}.jsonl"
    recording = write_recording(said, FolderBenchmark(folder), decide)
    finished = run(store, RunConfig(str(folder), raters=[f"replay:{recording}"], contexts=list(contexts)))
    return load_totals(store, finished.run)


def number(
    scores: RunTotals, metric: str, context: str = "profile", rater: str = "replay", **where: str
) -> Result:
    """The one result of that name."""
    (found,) = (
        result
        for result in results_of(scores.opened, scores.added)
        if (result.rater or "").startswith(rater)
        and (result.metric, result.context, result.slice) == (metric, context, where)
    )
    return found


def with_person(context: str, item: int, order: str) -> str:
    """Right with the person; without, right on 3 of 12; with the wrong person, on 6 of 12."""
    right = {"profile": 12, "none": 3, "wrong:profile": 6}[context]
    return "right" if item < right else "wrong"


def test_lift_is_the_context_minus_the_larger_control_paired_by_item(lifted: RunTotals) -> None:
    scores = lifted
    assert [number(scores, "accuracy", context).value for context in SHOWN_UNDER] == [1.0, 0.25, 0.5]
    lift = number(scores, "lift")
    # Four of the items, of two people, are marked expect: generic: they count in restraint and not in lift.
    assert (lift.value, lift.n, lift.people) == (0.75, ITEMS - 4, PEOPLE - 2)
    assert "the larger of the two controls" in (lift.note or "")


def test_numbers_of_items_are_whole_numbers(lifted: RunTotals) -> None:
    found = results_of(lifted.opened, lifted.added)
    assert {type(count) for one in found for count in (one.n, one.people)} == {int}


def test_lift_is_over_none_where_none_is_larger(store: Store, folder: Path) -> None:
    swapped = {"none": "wrong:profile", "wrong:profile": "none", "profile": "profile"}
    scores = judged(store, folder, lambda context, item, order: with_person(swapped[context], item, order))
    lift = number(scores, "lift")
    assert lift.value == 0.75
    assert "over none" in (lift.note or "")


def test_lift_can_be_negative_and_is_given_by_slice(store: Store, folder: Path) -> None:
    def worse(context: str, item: int, order: str) -> str:
        return "wrong" if context == "profile" and item % 2 else "right"

    scores = judged(store, folder, worse)
    assert number(scores, "lift").value == -0.5
    assert number(scores, "lift", tier="easy").value == 0.0
    assert number(scores, "lift", tier="hard").value == -1.0


def test_control_contexts_have_no_lift_and_without_controls_lift_is_null_with_a_note(
    store: Store, folder: Path, lifted: RunTotals
) -> None:
    assert {r.context for r in results_of(lifted.opened, lifted.added) if r.metric == "lift"} == {"profile"}
    alone = judged(store, folder, with_person, contexts=("profile", "none"))
    lift = number(alone, "lift")
    assert (lift.value, lift.low, lift.high, lift.n) == (None, None, None, 0)
    assert lift.note == "lift needs --context wrong:profile"


def test_restraint_is_accuracy_where_the_less_personal_answer_is_right(store: Store, folder: Path) -> None:
    scores = judged(store, folder, lambda context, item, order: "wrong" if item in (0, 5) else "right")
    restraint = number(scores, "restraint", expect="generic")
    assert (restraint.value, restraint.n, restraint.people) == (0.75, 4, 2)


def test_restraint_without_marked_items_is_null_with_a_note(store: Store, tmp_path: Path) -> None:
    write_folder(tmp_path / "plain", ImportedPairs(write_pairs(tmp_path / "plain.csv", simple_pairs(3))))
    restraint = number(judged(store, tmp_path / "plain", lambda *_: "right"), "restraint")
    assert (restraint.value, restraint.low, restraint.n) == (None, None, 0)
    assert "no item is marked" in (restraint.note or "")


def test_coverage_counts_failed_unparsed_and_unasked_and_the_mean_does_not(
    store: Store, folder: Path
) -> None:
    def gaps(context: str, item: int, order: str) -> str | None:
        if item == 0:
            return None  # both orders fail
        if item == 1 and order == "10":
            return "Both are nice."
        return "right"

    scores = judged(store, folder, gaps)
    accuracy = number(scores, "accuracy")
    assert (accuracy.value, accuracy.n) == (1.0, ITEMS - 2), "an item needs both orders"
    assert accuracy.coverage == (2 * ITEMS - 3) / (2 * ITEMS)
    assert number(scores, "consistency").n == ITEMS - 2
    # All planned asks: the replayed rater's two orders and two rules in one order, under three contexts each.
    asked, answered = scores.coverage()
    assert answered / asked == pytest.approx(1 - 3 * 3 / (3 * ITEMS * (2 + 1 + 1)))


def test_what_was_never_asked_lowers_coverage_too(store: Store, folder: Path) -> None:
    """A lane that stopped early leaves planned asks without a row; they count all the same."""
    scores = judged(store, folder, lambda context, item, order: None)
    accuracy = number(scores, "accuracy")
    assert (accuracy.value, accuracy.n, accuracy.coverage) == (None, 0, 0.0)
    assert accuracy.note == "no item has an answer"
    replayed = scores.run.config["raters"][0]["fingerprint"]
    asked = sum(count for (rater, _), count in scores.statuses.items() if rater == replayed)
    assert 0 < asked < 2 * ITEMS * len(SHOWN_UNDER), "the lane must have stopped before the end"
    lift = number(scores, "lift")
    assert lift.value is None
    assert lift.note


def test_consistency_stands_apart_from_accuracy(store: Store, folder: Path) -> None:
    def first_place(context: str, item: int, order: str) -> str:
        return "A"

    scores = judged(store, folder, first_place)
    assert number(scores, "accuracy").value == 0.5
    assert number(scores, "accuracy_debiased").value == 0.5
    consistency = number(scores, "consistency")
    assert (consistency.value, consistency.n) == (0.0, ITEMS)
    rule = number(scores, "consistency", rater="rule:length")
    assert (rule.value, rule.low, rule.high) == (1.0, None, None)
    assert "order cannot matter" in (rule.note or "")


def test_controls_are_marked(lifted: RunTotals) -> None:
    scores = lifted
    marks = {(r.rater or "", r.context): r.control for r in results_of(scores.opened, scores.added)}
    replay = next(name for name, _ in marks if name.startswith("replay"))
    assert marks == {
        (replay, "profile"): None,
        (replay, "none"): "no view",
        (replay, "wrong:profile"): "wrong person",
        **{("rule:length", context): "longest answer" for context in SHOWN_UNDER},
        **{("rule:overlap", context): "most overlap" for context in SHOWN_UNDER},
    }


def test_recurring_prompts_are_said(lifted: RunTotals) -> None:
    """Six people put the same two questions, so prompts are clusters as well."""
    note = number(lifted, "accuracy", context="wrong:profile").note
    assert "clustered by person and prompt" in (note or "")


def test_records_are_flat_with_exactly_the_promised_keys_and_no_nan(store: Store, folder: Path) -> None:
    scores = judged(store, folder, lambda context, item, order: "right" if context == "profile" else None)
    body = results_object("mine", results_of(scores.opened, scores.added))
    assert list(body) == ["benchmark", "results"]
    assert body["results"]
    for record in body["results"]:
        assert list(record) == [
            *(
                "rater",
                "system",
                "system_context",
                "context",
                "metric",
                "slice",
                "value",
                "low",
                "high",
                "n",
                "people",
            ),
            *("coverage", "control", "fingerprint", "note", "se", "df", "met_people", "better"),
        ]
        assert (record["system"], record["system_context"]) == (None, None)
        assert all(isinstance(value, str) for value in record["slice"].values())
        if record["value"] is None:
            assert record["note"], record
        else:
            assert -1 <= record["value"] <= 1
            assert record["low"] is None or record["low"] <= record["value"] <= record["high"]
    totals = [record for record in body["results"] if record["slice"] == {}]
    assert {record["metric"] for record in totals} >= {"accuracy", "accuracy_debiased", "consistency", "lift"}
    assert {tuple(record["slice"].items()) for record in body["results"]} == {
        (),
        (("tier", "easy"),),
        (("tier", "hard"),),
        (("expect", "generic"),),
    }
