"""A team's own pairs as they come: people described on some lines only, columns that are called like ours, lists of ids."""

import asyncio
import json
from pathlib import Path

import pytest

from personafit import Store, UserError
from personafit.benchmarks import ImportedPairs, RunConfig
from personafit.benchmarks.config import chosen_people
from personafit.benchmarks.rows import file_benchmark
from personafit.engine import Silence
from personafit.people import Person
from personafit.run import execute
from tests.scripted import write_pairs


def row(number: int, person: str, **more: str) -> dict[str, str]:
    """A pair of which the chosen answer is the longer one."""
    texts = {"question": f"Q {number}?", "chosen": f"the longer {number}", "rejected": f"short {number}"}
    return {**texts, "person": person, **more}


def test_a_line_that_leaves_a_persons_fields_empty_is_no_other_person(tmp_path: Path) -> None:
    rows = [row(1, "u1", **{"person.Age": "34"}), row(2, "u1", **{"person.Age": ""})]
    with pytest.raises(UserError, match="line 3, field 'person': 'u1' was described differently before"):
        ImportedPairs(write_pairs(tmp_path / "pairs.csv", rows))
    rows[1] = row(2, "u2", **{"person.Age": ""})
    people = {
        person.id: person.facets for person in ImportedPairs(write_pairs(tmp_path / "two.csv", rows)).people()
    }
    assert people == {"u1": {"Age": "34"}, "u2": {}}


def test_pairs_may_come_as_objects_too(tmp_path: Path) -> None:
    rows = [row(1, "u1") | {"person": {"id": "u1", "Age": 34}}, row(2, "somebody who likes tea")]
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    benchmark = ImportedPairs(path)
    assert [person.facets for person in benchmark.people()] == [
        {"Age": 34},
        {"About": "somebody who likes tea"},
    ]
    assert [item.id for item in benchmark.items()] == ["pairs/1", "pairs/2"]
    path.write_text('{"question": "Q?", "chosen": "a", "person": "x y"}\n', encoding="utf-8")
    with pytest.raises(UserError, match="line 1, field 'rejected' is missing"):
        ImportedPairs(path)


def test_people_of_a_table_may_be_known_by_id_or_are_refused(tmp_path: Path) -> None:
    path = write_pairs(tmp_path / "pairs.csv", [row(1, "u1"), row(2, "u2")])
    known = {name: Person(id=name, language="en", facets={"Age": 34}) for name in ("u1", "u2")}
    assert [person.facets for person in file_benchmark(path, known).people()] == [{"Age": 34}] * 2
    with pytest.raises(UserError, match="line 2, field 'person': nothing is known about 'u1'"):
        file_benchmark(path)


def test_a_file_named_like_a_published_benchmark_has_none_of_its_figures(tmp_path: Path) -> None:
    pairs = ImportedPairs(write_pairs(tmp_path / "prefeval.csv", [row(1, "somebody"), row(2, "else")]))
    assert pairs.info.name == "prefeval"
    assert pairs.published() == []


def test_a_column_called_item_is_no_id(tmp_path: Path) -> None:
    rows = [row(n, f"somebody called {n % 3}", item="book", prompt="novel") for n in range(6)]
    pairs = ImportedPairs(write_pairs(tmp_path / "pairs.csv", rows))
    with Store(tmp_path / "store.db") as store:
        config = RunConfig("pairs", contexts=["none"], raters=["rule:length"], limit=3)
        finished = asyncio.run(execute(store, config, Silence(), pairs))
    selected = finished.run.config["selected"]
    assert len(selected) == 3
    assert set(selected) <= {item.id for item in pairs.items()}


def test_a_list_of_ids_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "users.txt"
    path.write_bytes("ann\r\n\r\nbob\r\n".encode("utf-8-sig"))
    assert chosen_people(["ann", "bob", "cy"], str(path), 0) == ["ann", "bob"]


def test_a_column_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("question,chosen,rejected,person,question\nQ 1?,yes,no,ann,Q 2?\n", encoding="utf-8")
    with pytest.raises(UserError, match="line 1, field 'question': this column is there twice"):
        ImportedPairs(path)
