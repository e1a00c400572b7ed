"""What is counted in dialogues: values in many wordings, negation, questions, memories, and the labelled turns."""

import json
from collections import Counter
from pathlib import Path

import pytest

from personafit.items.dialogue import Dialogue, DialogueTurn, StopReason
from personafit.people import Person, Task
from personafit.raters.counting import (
    MajorityGuess,
    Mark,
    Said,
    count_dialogue,
    mark_turns,
    preferences_of,
)
from personafit.raters.counting.preferences import amounts, find_mentions, range_of, value_for
from personafit.raters.text import sentences, stems

LABELLED = Path(__file__).with_name("labelled_turns.jsonl")
CLOSED = {
    "Dining.Cuisine": ["Thai", "Greek", "French"],
    "Dining.Diet": ["vegan", "halal"],
    "Train.Seat": ["window", "aisle", "no preference"],
    "Train.Class": ["first class", "standard class"],
    "Train.Time": ["morning", "evening"],
    "Sports.Favourite": ["tennis", "table tennis"],
    "Meals.Disliked ingredients": ["celery", "olives"],
}
FACETS: dict[str, str | list[str]] = {
    "Dining.Cuisine": ["Thai", "Greek"],
    "Train.Seat": "window",
    "Train.Class": "first class",
    "Train.Time": ["morning"],
    "Meals.Disliked ingredients": ["celery"],
}


def marks(
    *turns: str, system_context: str = "", facets: dict[str, str | list[str]] | None = None
) -> list[Mark]:
    mine = FACETS if facets is None else facets
    said = [Said("user" if n % 2 == 0 else "assistant", text) for n, text in enumerate(turns)]
    return mark_turns(said, preferences_of(mine, list(mine), CLOSED), system_context)


def kinds(found: list[Mark], turn: int) -> list[tuple[str, str, str]]:
    return [(m.kind, m.path.partition(".")[2], m.when) for m in found if m.turn == turn]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("science-fiction", "Science Fiction"),
        ("beaches", "beach"),
        ("6:30 AM", "6.30 am"),
        ("4 star", "four-star"),
        ("Agnès Varda", "agnes varda"),
        ("city centre", "city center"),
        ("UTC+1", "utc +1"),
        ("comedies", "comedy"),
        ("climbing", "climb"),
    ],
)
def test_wordings_that_differ_in_form_only_are_the_same(first: str, second: str) -> None:
    assert stems(first) == stems(second)


@pytest.mark.parametrize(
    ("first", "second"), [("evening", "even"), ("UTC+1", "UTC-1"), ("7:00 AM", "7:00 PM"), ("bus", "bu")]
)
def test_others_are_not(first: str, second: str) -> None:
    assert stems(first) != stems(second)


def test_an_abbreviation_ends_no_sentence() -> None:
    text = "Dr. Okafor comes at 9 a.m. on Friday. Fine?"
    assert [text[s.start : s.end].strip() for s in sentences(text)] == [
        "Dr. Okafor comes at 9 a.m. on Friday.",
        "Fine?",
    ]


def test_the_longest_wording_wins() -> None:
    (preference,) = preferences_of({"Sports.Favourite": ["tennis"]}, ["Sports.Favourite"], CLOSED)
    assert [m.value for m in find_mentions("We play table tennis today.", [preference])] == ["table tennis"]


def test_a_preference_is_covered_before_or_after_the_user_said_it() -> None:
    found = marks("Dinner?", "How about a Thai place?", "And a Greek one?", "A Greek place it is.")
    assert kinds(found, 1) == [("covers", "Cuisine", "before")]
    assert kinds(found, 2) == [("states", "Cuisine", "")]
    assert kinds(found, 3) == [("covers", "Cuisine", "after")]


@pytest.mark.parametrize(
    "text",
    [
        "I won't book a Thai place.",
        "No Thai food tonight.",
        "Anything rather than Thai.",
        "We avoid Thai restaurants.",
    ],
)
def test_a_negated_value_covers_nothing(text: str) -> None:
    assert "covers" not in [m.kind for m in marks("Dinner?", text)]


def test_another_value_contradicts_unless_it_was_asked_for_negated_or_an_addition() -> None:
    assert kinds(marks("A train?", "I took an aisle seat."), 1) == [("contradicts", "Seat", "")]
    assert kinds(marks("An aisle seat, please.", "I took an aisle seat."), 1) == []
    assert kinds(marks("A train?", "No aisle seat was free."), 1) == []
    assert kinds(marks("A train?", "If you prefer, there is an aisle seat."), 1) == []
    assert kinds(marks("Dinner?", "A French place. Or the Thai one."), 1) == [("covers", "Cuisine", "before")]
    assert kinds(marks("Dinner?", "A French place."), 1) == [("contradicts", "Cuisine", "")]


def test_the_persons_own_value_among_others_to_choose_from_covers_nothing() -> None:
    assert kinds(marks("Dinner?", "It could be a Thai place, a French one, or any other."), 1) == []


def test_what_a_person_does_not_want_is_covered_by_leaving_it_out() -> None:
    assert kinds(marks("A soup?", "A soup without celery."), 1) == [
        ("covers", "Disliked ingredients", "before")
    ]
    assert kinds(marks("A soup, no celery.", "A soup without celery."), 1) == [
        ("covers", "Disliked ingredients", "after")
    ]
    assert kinds(marks("A soup?", "Chop the celery first."), 1) == [
        ("contradicts", "Disliked ingredients", "")
    ]


def test_asking_is_a_fault_only_for_what_is_known() -> None:
    question = "Would you like a window or an aisle seat?"
    assert kinds(marks("A train?", question), 1) == []
    assert kinds(marks("A train?", question, system_context="Takes a window seat."), 1) == [
        ("reasks", "Seat", "")
    ]
    assert kinds(marks("A train, window seat.", question), 1) == [("reasks", "Seat", "")]
    assert kinds(marks("A train?", "What cuisine do you like?", system_context="Loves Greek food."), 1) == [
        ("reasks", "Cuisine", "")
    ]
    # Naming what is known and asking for a yes is a proposal.
    assert kinds(
        marks("A train?", "Shall I take a window seat?", system_context="Takes a window seat."), 1
    ) == [("covers", "Seat", "before")]


def test_clock_times_stand_for_parts_of_the_day() -> None:
    assert kinds(marks("A train?", "There is one at 8:15."), 1) == [("covers", "Time", "before")]
    assert kinds(marks("A train?", "There is one at 6 pm."), 1) == [("contradicts", "Time", "")]


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [("3-7 days", 3, 7), ("1-2 weeks", 7, 14), ("$50-$100", 50, 100), ("1 month+", 30, float("inf"))],
)
def test_ranges_are_read(value: str, low: float, high: float) -> None:
    found = range_of(value)
    assert found is not None
    assert (found.low, found.high) == (low, high)


def test_a_memory_needs_a_history() -> None:
    claim = "As you told me last time, you adore cheesecake."
    assert kinds(marks("Dinner?", claim), 1) == [("invents", "", "")]
    assert kinds(marks("Dinner?", claim, system_context="She adores cheesecake."), 1) == []
    assert kinds(marks("I adore cheesecake.", "As you said, you adore cheesecake."), 1) == []
    assert kinds(marks("Dinner?", "What do you usually order?"), 1) == []


def test_a_user_leaks_what_nobody_asked_for_and_strays_from_the_profile() -> None:
    found = marks(
        "Thai food, please.",
        "Which seat would you like on the train?",
        "The window. I hate Thai food, never Thai.",
        "Noted.",
    )
    assert kinds(found, 0) == [("leaks", "Cuisine", "")]
    assert ("states", "Seat", "") in kinds(found, 2)
    assert ("strays", "Cuisine", "") in kinds(found, 2)
    assert kinds(marks("I want an aisle seat."), 0) == [("strays", "Seat", "")]


def test_alike_attributes_of_two_domains_are_told_apart_by_what_is_spoken_of() -> None:
    facets: dict[str, str | list[str]] = {"Flights.Seat": "aisle", "Train.Seat": "window"}
    closed = {"Flights.Seat": ["aisle", "window"], "Train.Seat": ["aisle", "window"]}
    said = [
        Said("user", "A flight and a train, please."),
        Said("assistant", "For the train I took an aisle seat."),
    ]
    found = mark_turns(said, preferences_of(facets, list(facets), closed), "")
    assert [(m.kind, m.path) for m in found] == [("contradicts", "Train.Seat")]


def test_another_domains_preference_applied_where_it_is_wrong_was_carried_there() -> None:
    facets: dict[str, str | list[str]] = {"Flights.Seat": "aisle", "Train.Seat": "window"}
    closed = {"Flights.Seat": ["aisle", "window"], "Train.Seat": ["aisle", "window"]}
    task = Task(
        id="MD-1",
        person="ann",
        domains=["Flights", "Train"],
        description="",
        intent="Travel.",
        goal="Both.",
        preferences=list(facets),
    )
    said = [
        "A flight and a train.",
        "An aisle seat on the flight?",
        "Yes.",
        "On the train I took an aisle seat as well.",
    ]
    turns = tuple(
        DialogueTurn("user" if n % 2 == 0 else "assistant", text, n, f"a{n}", f"t{n}")
        for n, text in enumerate(said)
    )
    ends = (turns, StopReason.SATISFIED)
    talk = Dialogue("d", "s", "data", "ann", task, "s", "helper", "u", "user", "none", "c", "b", 0, 0, *ends)
    counted = count_dialogue(talk, Person(id="ann", language="en", facets=dict(facets)), closed, "")
    assert [(mark.turn, mark.path) for mark in counted.carried()] == [(3, "Train.Seat")]
    assert counted.switches == (3,)
    assert counted.coverage() == 0.5
    assert counted.coverage(domain="Train") == 0.0


def test_somebody_without_a_preference_cannot_be_contradicted() -> None:
    assert preferences_of({"Train.Seat": "no preference"}, ["Train.Seat"], CLOSED) == ()


def test_the_majority_is_everybody_elses() -> None:
    facets: list[dict[str, str | list[str]]] = [
        {"A.X": "red", "A.Y": ["p", "q"]},
        {"A.X": "red", "A.Y": ["q"]},
        {"A.X": "blue"},
    ]
    people = {f"p{n}": Person(id=f"p{n}", language="en", facets=dict(one)) for n, one in enumerate(facets)}
    guess = MajorityGuess(people)
    assert (
        guess.guess(people["p0"], "A.X") == "blue"
    )  # of the one red and the one blue that are left, the first
    assert guess.guess(people["p2"], "A.X") == "red"
    assert guess.coverage(people["p0"], ["A.X", "A.Y"]) == 0.5
    assert guess.coverage(people["p2"], ["A.Y"]) is None


FLOORS = {  # precision and recall on the held-out half; docs/measurements/dialogues.md shows the figures themselves
    "before": (0.93, 0.93),
    "after": (0.80, 0.85),
    "contradicts": (0.95, 0.93),
    "reasks": (0.90, 0.88),
    "invents": (0.90, 0.80),
}


def labelled(half: str) -> dict[str, Counter[str]]:
    """Hits, false alarms and misses per mark over the labelled turns of a half."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in FLOORS}
    for line in LABELLED.read_text(encoding="utf-8").splitlines():
        scene = json.loads(line)
        if scene["half"] != half:
            continue
        preferences = preferences_of(scene["facets"], list(scene["facets"]), scene["closed"])
        before = [Said(turn["role"], turn["text"]) for turn in scene["said"]]
        for turn in scene["turns"]:
            said = [*before, Said("assistant", turn["text"])]
            found = [m for m in mark_turns(said, preferences, scene["given"]) if m.turn == len(before)]
            got: dict[str, set[object]] = {
                "before": {(m.path, m.value) for m in found if m.when == "before"},
                "after": {(m.path, m.value) for m in found if m.when == "after"},
                "contradicts": {m.path for m in found if m.kind == "contradicts"},
                "reasks": {m.path for m in found if m.kind == "reasks"},
                "invents": {"yes" for m in found if m.kind == "invents"},
            }
            wanted: dict[str, set[object]] = {
                "before": {tuple(pair) for pair in turn["before"]},
                "after": {tuple(pair) for pair in turn["after"]},
                "contradicts": set(turn["contradicts"]),
                "reasks": set(turn["reasks"]),
                "invents": {"yes"} if turn["invented"] else set(),
            }
            for name in FLOORS:
                counts[name]["hits"] += len(got[name] & wanted[name])
                counts[name]["alarms"] += len(got[name] - wanted[name])
                counts[name]["misses"] += len(wanted[name] - got[name])
    return counts


def test_the_labelled_turns_are_enough_and_in_two_halves() -> None:
    rows = [json.loads(line) for line in LABELLED.read_text(encoding="utf-8").splitlines()]
    turns = Counter(row["half"] for row in rows for _ in row["turns"])
    assert sum(turns.values()) >= 200
    assert min(turns["tuning"], turns["held-out"]) >= 100


@pytest.mark.parametrize("name", list(FLOORS))
def test_marks_agree_with_the_labels_on_the_half_no_rule_was_tuned_on(name: str) -> None:
    found = labelled("held-out")[name]
    precision, recall = FLOORS[name]
    assert found["hits"] / (found["hits"] + found["alarms"]) >= precision
    assert found["hits"] / (found["hits"] + found["misses"]) >= recall


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("It is $1,200.", "over $1,000"),
        ("It is $1.5k.", "over $1,000"),
        ("It is $1.", "under $50"),
        ("It is under $1,000.", "$50-$1,000"),
    ],
)
def test_sums_with_thousands(text: str, value: str) -> None:
    (amount,) = amounts(text)
    assert value_for(amount, ["under $50", "$50-$1,000", "over $1,000"]) == value


@pytest.mark.parametrize(
    ("text", "covered"),
    [
        ("我特别推荐川菜。", True),
        ("我分别订了川菜和汤。", True),
        ("无论如何川菜都有。", True),
        ("别点川菜。", False),
        ("没有川菜。", False),
    ],
)
def test_words_that_hold_a_chinese_negation_are_none(text: str, covered: bool) -> None:
    preferences = preferences_of({"餐饮.菜系": "川菜"}, ["餐饮.菜系"], {"餐饮.菜系": ["川菜", "粤菜"]})
    marks = mark_turns([Said("assistant", text)], preferences, "")
    assert [mark.kind for mark in marks] == (["covers"] if covered else [])
