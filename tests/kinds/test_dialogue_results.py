"""Numbers of dialogue runs against numbers worked out by hand."""

import json
from pathlib import Path

import polars as pl
import pytest

import personafit as pf
from personafit.items.dialogue import Dialogue, StopReason
from personafit.kinds.dialogue_scores import DIALOGUE_METRICS
from personafit.reports.result import Result
from tests.dialogue_world import FACETS, MD, SD, Reply, World, good_reply, make_world

ASKS = ["Dinner, please.", "What cuisine would you like?", "Thai, please.", "A Thai place is booked."]
KNOWS = ["Dinner, please.", "A Thai place on a budget?", "Yes.", "Done."]


def one(
    results: list[Result], metric: str, where: dict[str, str] | None = None, **more: str | None
) -> Result:
    """The only result that fits."""
    found = [
        r
        for r in results
        if r.metric == metric
        and r.slice == (where or {})
        and all(getattr(r, name) == value for name, value in more.items())
    ]
    assert len(found) == 1, found
    return found[0]


def by_person(marks: dict[str, int], done: dict[str, bool] | None = None) -> Reply:
    """A judge whose mark depends on the person (and on what the assistant was given)."""

    def reply(dialogue: Dialogue, question: str, call: int) -> str:
        mark = marks.get(f"{dialogue.person}/{dialogue.system_context}", marks.get(dialogue.person, 2))
        if question == "completion":
            return json.dumps({"complete": True if done is None else done[dialogue.person]})
        if question == "personalization.turns":
            return json.dumps({"scores": [mark, *[4] * (dialogue.exchanges - 1)]})
        return json.dumps({"score": mark})

    return reply


def report(world: World) -> list[Result]:
    return list(pf.load(world.run.name, store=world.store).figures)


def test_means_are_per_dialogue_and_per_person_and_coverage_counts_what_was_planned(tmp_path: Path) -> None:
    world = make_world(tmp_path)
    for task in (SD, MD):
        world.hold("ann", task, KNOWS)
    world.hold("bob", SD, KNOWS)
    world.judge(by_person({"ann": 1, "bob": 4}, {"ann": False, "bob": True}))
    results = report(world)
    total = one(results, "personalization")
    assert total.value == pytest.approx((1 + 1 + 4) / 3)
    assert (total.n, total.people) == (3, 2)
    assert total.coverage == pytest.approx(3 / 6)
    assert one(results, "personalization_by_person").value == pytest.approx((1 + 4) / 2)
    assert one(results, "completion").value == pytest.approx(1 / 3)
    assert one(results, "completion", {"tasks": "SD"}).value == pytest.approx(1 / 2)
    assert one(results, "completion", {"tasks": "MD"}).value == 0.0
    assert one(results, "personalization", {"tasks": "SD"}).coverage == pytest.approx(2 / 3)
    assert one(results, "personalization", {"tasks": "SD", "domain": "Dining"}).value == pytest.approx(2.5)
    assert one(results, "personalization", {"turn": "1"}).value == pytest.approx(2.0)
    assert one(results, "personalization", {"turn": "2"}).value == 4.0
    assert not [r for r in results if r.slice == {"turn": "3"}]


def test_what_is_counted_adds_up(tmp_path: Path) -> None:
    world = make_world(tmp_path, tasks=(SD,))
    world.hold("ann", SD, KNOWS)  # Thai and budget, both before the user said anything of the kind
    world.hold("bob", SD, ASKS)  # Greek and budget: the Thai was the user's wish
    world.hold(
        "cyd", SD, ASKS, told="Loves Thai food."
    )  # Thai and upscale: asked for what it was told, then after
    world.judge(good_reply())
    results = report(world)
    assert one(results, "coverage").value == pytest.approx((1 + 0 + 0.5) / 3)
    assert one(results, "coverage_before").value == pytest.approx(1 / 3)
    assert one(results, "coverage_after").value == pytest.approx((0 + 0 + 0.5) / 3)
    assert one(results, "reasking").value == pytest.approx(1 / 3)
    assert one(results, "contradictions").value == 0.0
    assert one(results, "exchanges").value == 2.0
    # Others' majority: for ann a tie of Greek and Thai goes to Greek, budget ties with upscale; bob: Thai, budget ties; cyd: Greek, budget.
    assert one(results, "majority_coverage").value == pytest.approx((0.5 + 0.5 + 0.0) / 3)
    assert one(results, "stopped", {"stop": "satisfied"}).value == 1.0


def test_a_context_is_compared_by_task_with_no_context(tmp_path: Path) -> None:
    world = make_world(tmp_path, ("none", "I", "wrong:I"), tasks=(SD,))
    marks = {
        "ann/none": 1,
        "ann/I": 3,
        "bob/none": 2,
        "bob/I": 3,
        "cyd/none": 2,
        "cyd/I": 2,
        "ann/wrong:I": 1,
        "bob/wrong:I": 1,
    }
    for person in FACETS:
        for system_context in ("none", "I", "wrong:I"):
            if (person, system_context) != ("cyd", "wrong:I"):
                world.hold(person, SD, KNOWS, system_context=system_context)
    world.judge(by_person(marks))
    results = report(world)
    effect = one(results, "personalization_effect", {"against": "none"}, system_context="I")
    assert effect.value == pytest.approx((2 + 1 + 0) / 3)
    assert (effect.low, effect.high, effect.people) == (None, None, 3), (
        "three people are too few for an interval"
    )
    assert one(results, "personalization_effect", {"against": "wrong:I"}, system_context="I").n == 2
    assert one(results, "personalization", system_context="none").control == "no context"
    assert one(results, "personalization", system_context="wrong:I").control == "wrong person"


def test_spoilt_dialogues_are_named_and_the_score_stands_without_them(tmp_path: Path) -> None:
    world = make_world(tmp_path, tasks=(SD,))
    world.hold("ann", SD, ["Thai food on a budget, please.", "Done."])  # told everything in the first turn
    world.hold("bob", SD, KNOWS)
    world.hold(
        "cyd",
        SD,
        [
            "Dinner?",
            "A place is booked for you at eight tonight.",
            "A place is booked for you at eight tonight.",
            "Good.",
        ],
    )
    world.judge(by_person({"ann": 4, "bob": 2, "cyd": 1}, {"ann": True, "bob": False, "cyd": True}))
    results = report(world)
    shares = {r.metric: r.value for r in results if r.metric.startswith("user_")}
    assert shares["user_leaked"] == pytest.approx(1 / 3)
    assert shares["user_echoed"] == pytest.approx(1 / 3)
    assert shares["user_early"] == pytest.approx(1 / 3)  # bob was satisfied with what was not done
    assert shares["user_helped"] == pytest.approx(1 / 3)
    assert shares["user_hurt"] == pytest.approx(2 / 3)
    assert one(results, "personalization").value == pytest.approx(7 / 3)
    # Bob stays: leaving out what judges call undone would raise completion by itself.
    assert one(results, "personalization", {"simulator": "unspoilt"}).value == 2.0
    assert one(results, "completion", {"simulator": "unspoilt"}).value == 0.0


def test_preferences_lost_after_a_change_of_domain_are_counted(tmp_path: Path) -> None:
    world = make_world(tmp_path, tasks=(MD,))
    world.hold(
        "ann",
        MD,
        [
            "Dinner and a train.",
            "A Thai restaurant for dinner?",
            "Thai, yes. Now the train, window seat.",
            "The train is booked. What cuisine would you like for dinner?",
        ],
    )
    world.judge(good_reply())
    results = report(world)
    assert one(results, "lost_after_switch", {"tasks": "MD"}).value == 1.0


def test_half_a_dialogue_counts_as_missing_and_not_as_bad(tmp_path: Path) -> None:
    world = make_world(tmp_path, tasks=(SD,))
    world.hold("ann", SD, KNOWS)
    world.hold("bob", SD, ["Dinner?"], stop=StopReason.EMPTY)
    world.judge(good_reply())
    results = report(world)
    assert one(results, "coverage").value == 1.0
    assert one(results, "coverage").coverage == pytest.approx(1 / 3)
    assert one(results, "stopped", {"stop": "empty"}).value == pytest.approx(1 / 3)


def test_counts_do_not_fall_below_zero_and_equal_marks_show_no_interval() -> None:
    people = pl.DataFrame(
        {"person": list("abcdef"), "prompt": list("uvwxyz"), "count": [4.0] + [0.0] * 5, "mark": [3.0] * 6}
    )
    metrics = {metric.name: metric for metric in DIALOGUE_METRICS if not metric.under}
    counted = metrics["contradictions"].of(people.rename({"count": "contradictions"}))
    assert counted.value == pytest.approx(4 / 6)
    assert counted.low == 0.0
    assert (counted.high or 0.0) > 2.0
    mark = metrics["personalization"].of(people.rename({"mark": "personalization"}))
    assert (mark.value, mark.low, mark.high) == (3.0, None, None)
    assert mark.note == "no interval: every item has the same value"
    best = metrics["personalization"].of(people.with_columns(personalization=4.0))
    assert best.low == pytest.approx(1 + 3 * 0.025 ** (1 / 6))
    assert best.high == 4.0


def test_three_people_show_no_interval(tmp_path: Path) -> None:
    world = make_world(tmp_path, tasks=(SD,))
    world.hold("ann", SD, ["Dinner?", "A French place, upscale."])
    world.hold("bob", SD, KNOWS)
    world.hold("cyd", SD, KNOWS)
    world.judge(good_reply(3))
    results = report(world)
    count, mark = one(results, "contradictions"), one(results, "personalization")
    assert count.value == pytest.approx(4 / 3)
    assert mark.value == 3.0
    assert [(one.low, one.high) for one in (count, mark)] == [(None, None)] * 2
