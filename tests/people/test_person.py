"""People: nested profiles become facets, versions follow content, and the outline reads as written."""

import pytest
from pydantic import ValidationError

from personafit.people import (
    FacetValue,
    Memory,
    Person,
    facet_values,
    flatten,
    render_person,
    select_facets,
)

FACETS: dict[str, FacetValue] = {
    "Name": "Ann",
    "Work.Job": "nurse",
    "Work.Shifts.Night": True,
    "Work.Shifts.Hours": 38.5,
    "Likes": ["tea", "chess"],
    "Workshop": "none",
}


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        ({"a": {"b": 1}}, {"a.b": 1}),
        ({"a": {"b": {"c": "x"}}, "d": False}, {"a.b.c": "x", "d": False}),
        ({"z": 1, "a": 2}, {"z": 1, "a": 2}),
        ({"likes": ["tea", 3, None, ""]}, {"likes": ["tea", "3"]}),
        ({"pets": [{"kind": "cat"}, {"kind": "dog"}]}, {"pets.1.kind": "cat", "pets.2.kind": "dog"}),
        ({"grid": [["a", "b"], "c"]}, {"grid.1": ["a", "b"], "grid.2": "c"}),
        ({"a": None, "b": "", "c": [], "d": {}}, {}),
        ({"zero": 0, "no": False}, {"zero": 0, "no": False}),
    ],
)
def test_flatten(tree: dict[str, object], expected: dict[str, object]) -> None:
    flat = flatten(tree)
    assert flat == expected
    assert list(flat) == list(expected)


def test_flattened_values_keep_their_type() -> None:
    flat = flatten({"age": 34, "vegan": True, "height": 1.7})
    assert [type(value) for value in flat.values()] == [int, bool, float]
    person = Person.model_validate({"id": "a", "language": "en", "facets": flat})
    assert [type(value) for value in person.facets.values()] == [int, bool, float]


def test_version_changes_with_anything_known_and_with_nothing_else() -> None:
    person = Person(id="a", language="en", facets=dict(FACETS))
    same = Person(id="a", language="en", facets=dict(reversed(FACETS.items())))
    assert person.version == same.version, "the order of keys in a file is not knowledge"
    changes: list[dict[str, object]] = [
        {"facets": {**FACETS, "Name": "Anne"}},
        {"language": "zh"},
        {"memories": [Memory(id="m", text="moved house", time=None, source=None)]},
        {"summaries": {"travel": "went to Rome"}},
    ]
    versions = {person.model_copy(update=change, deep=True).version for change in changes}
    fresh = {Person.model_validate({**person.model_dump(), **change}).version for change in changes}
    assert len(fresh) == len(changes)
    assert person.version not in fresh
    assert versions == fresh, "a changed copy must not keep the version of the original"


def test_a_typo_in_a_record_is_found() -> None:
    with pytest.raises(ValidationError, match="lanugage"):
        Person.model_validate({"id": "a", "language": "en", "lanugage": "zh"})


def test_select_facets_takes_paths_and_what_is_below_them_but_no_mere_prefixes() -> None:
    assert list(select_facets(FACETS, ["Work"])) == ["Work.Job", "Work.Shifts.Night", "Work.Shifts.Hours"]
    assert list(select_facets(FACETS, ["Likes", "Work.Job"])) == ["Work.Job", "Likes"]
    assert select_facets(FACETS, ["Wor"]) == {}
    assert select_facets(FACETS, []) == {}


def test_facet_values_are_all_values_in_order_without_keys() -> None:
    assert facet_values(FACETS) == ["Ann", "nurse", "True", "38.5", "tea", "chess", "none"]


def test_the_outline_opens_each_parent_once() -> None:
    person = Person(id="a", language="en", facets={**FACETS, "Daily_Life.Morning_Drink": "tea"})
    assert render_person(person) == "\n".join(
        [
            "Name: Ann",
            "Work:",
            "  Job: nurse",
            "  Shifts:",
            "    Night: True",
            "    Hours: 38.5",
            "Likes: tea; chess",
            "Workshop: none",
            "Daily Life:",
            "  Morning Drink: tea",
        ]
    )


def test_the_outline_of_some_facets_and_of_nobody() -> None:
    person = Person(id="a", language="en", facets=dict(FACETS))
    assert render_person(person, select_facets(FACETS, ["Likes"])) == "Likes: tea; chess"
    assert render_person(Person(id="b", language="en")) == ""


def test_a_parent_that_comes_back_is_opened_again() -> None:
    person = Person(id="a", language="en", facets={"A.x": 1, "B": 2, "A.y": 3})
    assert render_person(person).splitlines() == ["A:", "  x: 1", "B: 2", "A:", "  y: 3"]
