"""The starter set is whole, and simple rules fail on it in either language."""

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from personafit import UserError
from personafit.benchmarks import check_folder, open_benchmark, starter
from personafit.benchmarks.starter import FOLDER
from personafit.people import facet_values
from personafit.store import Item


def choices() -> list[Item]:
    return [item for item in starter().items() if item.kind == "choice"]


def right_places() -> dict[str, int]:
    """Item to the place of the right answer."""
    asked = {item.id for item in choices()}
    return {row.item: int(row.label or "") for row in starter().gold() if row.item in asked}


def test_data_of_ones_own_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="run starter brings its own data"):
        open_benchmark("starter", tmp_path)


def test_it_checks_out_and_is_as_large_as_promised() -> None:
    assert check_folder(FOLDER) == []
    benchmark = starter()
    items = choices()
    people = list(benchmark.people())
    assert len(people) >= 24
    assert len(items) >= 240
    assert {item.person for item in items} == {person.id for person in people}
    assert {person.language for person in people} == {"en", "zh"}
    assert len({item.slices["category"] for item in items}) == 8
    assert sum(item.slices["expect"] == "generic" for item in items) >= 40
    rejects = Counter(item.slices["reject"] for item in items)
    assert len(rejects) == 6
    assert min(rejects.values()) >= 12
    assert "not the result of a human study" in benchmark.info.description


def test_tiers_and_halves_are_of_a_size() -> None:
    asked = {item.id for item in choices()}
    tiers = Counter((row.extra or {})["tier"] for row in starter().gold() if row.item in asked)
    assert set(tiers) == {"easy", "medium", "hard"}
    assert all(0.25 <= count / len(asked) <= 0.42 for count in tiers.values())
    halves = Counter(item.slices["half"] for item in choices())
    assert 0.45 <= halves["specific"] / len(asked) <= 0.55


def test_a_mirrored_pair_cannot_be_read_without_the_person() -> None:
    """The same two answers to the same question: each is right for one of the two people."""
    right = right_places()
    pairs: dict[frozenset[str], list[Item]] = {}
    for item in choices():
        pairs.setdefault(frozenset(item.products), []).append(item)
    mirrored = [pair for pair in pairs.values() if len(pair) > 1]
    for pair in mirrored:
        assert len(pair) == 2
        first, second = pair
        assert first.prompt == second.prompt
        assert first.person != second.person
        assert first.products[right[first.id]] != second.products[right[second.id]], first.id
    specific = sum(item.slices["half"] == "specific" for item in choices())
    assert 2 * len(mirrored) >= 0.9 * specific


def second_person(text: str, name: str) -> int:
    return (
        len(re.findall(r"\b(?:you|your|yours)\b", text, re.IGNORECASE)) + text.count("你") + text.count("您")
    )


def markup(text: str, name: str) -> int:
    return len(re.findall(r"\*\*|`|^\s*(?:[-*]|\d+\.)\s", text, re.MULTILINE))


def naming(text: str, name: str) -> int:
    return sum(text.count(part) for part in {name, *name.split()})


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("rule", [lambda text, name: len(text), second_person, markup, naming])
def test_shortcuts_score_like_a_coin(rule: Callable[[str, str], int], language: str) -> None:
    benchmark = starter()
    texts = {product.id: product.text for product in benchmark.products()}
    people = {person.id: person for person in benchmark.people() if person.language == language}
    right_place = right_places()
    credits = []
    for item in choices():
        if item.person not in people:
            continue
        name = str(people[item.person].facets["Name"])
        scores = [rule(texts[product], name) for product in item.products]
        right, wrong = scores[right_place[item.id]], scores[1 - right_place[item.id]]
        credits.append(1.0 if right > wrong else 0.5 if right == wrong else 0.0)
    assert 0.45 <= sum(credits) / len(credits) <= 0.55


def test_nobody_is_told_by_the_order_or_the_product_ids() -> None:
    right = right_places()
    rows = map(json.loads, (FOLDER / "items.jsonl").read_text(encoding="utf-8").splitlines())
    ones = [row["products"][right[row["id"]]].endswith("-1") for row in rows if row["id"] in right]
    assert 0.45 <= sum(ones) / len(ones) <= 0.55
    assert 0.45 <= sum(place == 0 for place in right.values()) / len(right) <= 0.55


def test_profiles_have_values_to_overlap_with() -> None:
    assert all(len(" ".join(facet_values(person.facets))) > 100 for person in starter().people())
