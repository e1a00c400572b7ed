"""The starter set's conversations, attributes and dialogue tasks are whole and as large as promised."""

import json
from collections import Counter
from pathlib import Path
from typing import TypeVar

import pytest
from pydantic import BaseModel

from personafit.benchmarks.starter import FOLDER
from personafit.people import Conversation, FacetValue, Person, Task
from personafit.store import Item, Judgment, Product

DIALOGUES = FOLDER.parent / "dialogues"
M = TypeVar("M", bound=BaseModel)


def records(path: Path, record: type[M]) -> list[M]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [record.model_validate_json(line) for line in lines]


def everyone() -> dict[str, Person]:
    return {person.id: person for person in records(FOLDER / "people.jsonl", Person)}


def conversations() -> list[Conversation]:
    return records(FOLDER / "conversations.jsonl", Conversation)


def labelled(kind: str) -> list[tuple[Item, list[Judgment]]]:
    gold: dict[str, list[Judgment]] = {}
    for row in records(FOLDER / "gold.jsonl", Judgment):
        gold.setdefault(row.item, []).append(row)
    items = [item for item in records(FOLDER / "items.jsonl", Item) if item.kind == kind]
    if not items:
        pytest.skip(f"the starter set holds no {kind} items yet")
    return [(item, gold[item.id]) for item in items]


def texts() -> dict[str, Product]:
    return {product.id: product for product in records(FOLDER / "products.jsonl", Product)}


def chosen(value: FacetValue) -> list[str]:
    return value if isinstance(value, list) else [str(value)]


def test_there_are_enough_conversations_and_each_is_of_a_sensible_size() -> None:
    people, talks = everyone(), conversations()
    assert len({talk.id for talk in talks}) == len(talks)
    languages = Counter(people[talk.person].language for talk in talks)
    assert languages["en"] >= 20
    assert languages["zh"] >= 10
    assert min(Counter(talk.person for talk in talks).values()) >= 2
    for talk in talks:
        assert 6 <= len(talk.turns) <= 14, talk.id
        assert 3 <= len(talk.attributes) <= 7, talk.id
        assert [turn.role for turn in talk.turns] == [
            "assistant" if number % 2 else "user" for number in range(len(talk.turns))
        ], talk.id
        assert all(turn.text.strip() == turn.text != "" for turn in talk.turns), talk.id


def test_evidence_points_at_turns_of_the_user() -> None:
    several = 0
    for talk in conversations():
        for attribute in talk.attributes:
            assert attribute.evidence, attribute.id
            several += len(attribute.evidence) > 1
            for pointer in attribute.evidence:
                source, number = pointer.split("#")
                assert source == talk.id
                assert talk.turns[int(number)].role == "user", pointer
    assert several >= 20, "some attributes should show over several turns only"


def test_attributes_stand_alone_and_are_told_apart() -> None:
    people = everyone()
    ids = Counter((talk.person, attribute.id) for talk in conversations() for attribute in talk.attributes)
    assert set(ids.values()) == {1}
    for talk in conversations():
        opening = "用户" if people[talk.person].language == "zh" else "The user"
        assert all(attribute.text.startswith(opening) for attribute in talk.attributes), talk.id
        said = [attribute.text for attribute in talk.attributes]
        assert len(set(said)) == len(said), talk.id


def test_relevance_items_have_one_attribute_and_mostly_do_not_matter() -> None:
    products, labels = texts(), list[str]()
    languages, prompts, grades = Counter[str](), set[str](), Counter[str]()
    people = everyone()
    for item, gold in labelled("relevance"):
        assert [products[name].kind for name in item.products] == ["attribute"]
        assert len(gold) == 1
        grade = (gold[0].extra or {})["grade"]
        assert gold[0].label == ("yes" if grade in ("must", "may") else "no"), item.id
        assert gold[0].value == (gold[0].label == "yes"), item.id
        labels.append(gold[0].label or "")
        languages[people[item.person].language] += 1
        prompts.add(item.group)
        grades[grade] += 1
    assert languages["en"] >= 40
    assert languages["zh"] >= 20
    assert len(prompts) >= 8
    assert 0.25 <= labels.count("yes") / len(labels) <= 0.35
    assert grades["avoid"] >= 10


def test_the_place_in_the_list_does_not_tell_what_matters() -> None:
    places: dict[str, list[bool]] = {}
    for item, gold in labelled("relevance"):
        places.setdefault(item.id.rsplit("/", 1)[1], []).append(gold[0].label == "yes")
    first = places["1"]
    assert sum(first) / len(first) <= 0.6


def test_preference_items_rate_every_attribute_and_personal_is_not_always_better() -> None:
    products, values = texts(), list[float]()
    rated = labelled("preference")
    assert len(rated) >= 12
    for item, gold in rated:
        kinds = [products[name].kind for name in item.products]
        assert kinds == ["answer", "answer"] + ["attribute"] * (len(kinds) - 2)
        assert [row.target for row in gold] == item.products[2:]
        assert all(row.label == str(int(row.value or 0)) for row in gold)
        values += [float(row.value or 0) for row in gold]
    assert set(values) == {1, 2, 3, 4, 5}
    assert 0.3 <= sum(value <= 3 for value in values) / len(values) <= 0.6


def test_preferences_of_dialogue_people_are_values_of_the_ontology() -> None:
    ontology = json.loads((DIALOGUES / "ontology.json").read_text(encoding="utf-8"))
    people = records(DIALOGUES / "people.jsonl", Person)
    assert len(ontology) >= 8
    assert all(3 <= len(attributes) <= 6 for attributes in ontology.values())
    assert {person.id for person in people} <= set(everyone())
    for person in people:
        assert person.language == everyone()[person.id].language
        for path, value in person.facets.items():
            domain, name = path.split(".")
            if domain != "Demographics":
                rule = ontology[domain][name]
                assert isinstance(value, list) == rule["multiple"], (person.id, path)
                assert set(chosen(value)) <= set(rule["values"]), (person.id, path)


def test_most_preferences_can_be_read_from_the_summaries() -> None:
    found = []
    for person in records(DIALOGUES / "people.jsonl", Person):
        domains = {path.split(".")[0] for path in person.facets} - {"Demographics"}
        assert domains == set(person.summaries)
        for domain, summary in person.summaries.items():
            size = len(summary) if person.language == "zh" else len(summary.split())
            assert (150 <= size <= 280) if person.language == "zh" else (80 <= size <= 150), (
                person.id,
                domain,
            )
            for path, value in person.facets.items():
                if path.startswith(f"{domain}."):
                    found += [one.lower() in summary.lower() for one in chosen(value)]
    assert sum(found) / len(found) >= 0.8


def test_tasks_name_preferences_their_person_has() -> None:
    people = {person.id: person for person in records(DIALOGUES / "people.jsonl", Person)}
    tasks = records(DIALOGUES / "tasks.jsonl", Task)
    assert len({(task.person, task.id) for task in tasks}) == len(tasks)
    assert Counter(task.kind for task in tasks)["SD"] >= 8
    assert Counter(task.kind for task in tasks)["MD"] >= 4
    languages = Counter(people[task.person].language for task in tasks)
    assert languages["en"] >= 8
    assert languages["zh"] >= 4
    assert len({task.person for task in tasks}) >= 6
    for task in tasks:
        assert set(task.situation) == {"location", "device", "time_of_day", "day", "surroundings"}
        assert all(task.situation.values())
        assert task.id.startswith(task.kind)
        assert set(task.preferences) <= set(people[task.person].facets), task.id
        assert {path.split(".")[0] for path in task.preferences} == set(task.domains), task.id


def test_people_who_share_a_task_are_told_the_same() -> None:
    seen: dict[str, tuple[str, str, str]] = {}
    for task in records(DIALOGUES / "tasks.jsonl", Task):
        said = (task.description, task.intent, task.goal)
        assert seen.setdefault(task.id, said) == said, task.id
    assert len(seen) >= 12
