"""Streams: the same rows back in the same order."""

from pathlib import Path

from personafit.build.quota import Quota
from personafit.build.rows import RowWriter, read_records, read_rows
from personafit.people import Memory, Person

PEOPLE = [
    Person(
        id=f"p{number}",
        language="en",
        facets={"Age": number, "Likes": ["tea", "rain"]} if number % 2 else {"Age": "unknown"},
        memories=[Memory(id="m1", text="Bought a lamp", time=None, source=None)] if number % 3 else [],
    )
    for number in range(8)
]


def test_rows_come_back_as_they_went(tmp_path: Path) -> None:
    writer = RowWriter(tmp_path / "people.jsonl")
    for person in PEOPLE:
        writer.add(person)
    writer.close()
    assert list(read_records(tmp_path, "people", Person)) == PEOPLE


def test_an_absent_stream_is_empty(tmp_path: Path) -> None:
    assert list(read_rows(tmp_path, "nobody")) == []


def test_a_quota_replaces_what_was_rejected() -> None:
    quota = Quota("letters", 10)
    tried: list[int] = []
    while numbers := quota.round():
        for number in numbers:
            tried.append(number)
            if number % 2:
                quota.keep()
            else:
                quota.reject("even")
    assert quota.kept >= 10
    assert tried == list(range(len(tried)))
    assert len(tried) <= 30
