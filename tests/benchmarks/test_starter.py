"""The starter set is whole, and simple rules fail on it."""

import json
import re
from collections.abc import Callable

import pytest

from personafit.benchmarks import check_folder, starter
from personafit.benchmarks.starter import FOLDER
from personafit.people import facet_values


def test_it_checks_out_and_is_as_large_as_promised() -> None:
    assert check_folder(FOLDER) == []
    benchmark = starter()
    items = list(benchmark.items())
    people = list(benchmark.people())
    assert len(people) >= 8
    assert len(items) >= 60
    assert {person.language for person in people} == {"en", "zh"}
    assert len({item.slices["category"] for item in items}) == 8
    assert sum(item.slices["expect"] == "generic" for item in items) >= 10
    assert {(gold.extra or {})["tier"] for gold in benchmark.gold()} == {"easy", "medium", "hard"}
    assert "not the result of a human study" in benchmark.info.description


def second_person(text: str, name: str) -> int:
    return (
        len(re.findall(r"\b(?:you|your|yours)\b", text, re.IGNORECASE)) + text.count("你") + text.count("您")
    )


def markup(text: str, name: str) -> int:
    return len(re.findall(r"\*\*|`|^\s*(?:[-*]|\d+\.)\s", text, re.MULTILINE))


def naming(text: str, name: str) -> int:
    return sum(text.count(part) for part in {name, *name.split()})


@pytest.mark.parametrize("rule", [lambda text, name: len(text), second_person, markup, naming])
def test_shortcuts_score_like_a_coin(rule: Callable[[str, str], int]) -> None:
    benchmark = starter()
    texts = {product.id: product.text for product in benchmark.products()}
    people = {person.id: person for person in benchmark.people()}
    gold = {row.item: int(row.label or "") for row in benchmark.gold()}
    credits = []
    for item in benchmark.items():
        name = str(people[item.person].facets["Name"])
        scores = [rule(texts[product], name) for product in item.products]
        right, wrong = scores[gold[item.id]], scores[1 - gold[item.id]]
        credits.append(1.0 if right > wrong else 0.5 if right == wrong else 0.0)
    assert 0.45 <= sum(credits) / len(credits) <= 0.55


def test_nobody_is_told_by_the_product_ids() -> None:
    gold = {row.item: int(row.label or "") for row in starter().gold()}
    rows = map(json.loads, (FOLDER / "items.jsonl").read_text(encoding="utf-8").splitlines())
    ones = [row["products"][gold[row["id"]]].endswith("-1") for row in rows]
    assert 0.4 < sum(ones) / len(ones) < 0.6


def test_profiles_have_values_to_overlap_with() -> None:
    assert all(len(" ".join(facet_values(person.facets))) > 100 for person in starter().people())
