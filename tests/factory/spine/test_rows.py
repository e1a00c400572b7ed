"""Streams: JSONL while small, Parquet shards above, the same rows back in the same order."""

from pathlib import Path

import pytest

from personafit.factory import rows
from personafit.factory.quota import Quota
from personafit.factory.rows import RowWriter, read_records, read_rows, streams
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


@pytest.mark.parametrize("shard", [3, 8, 100])
def test_rows_come_back_as_they_went(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shard: int) -> None:
    monkeypatch.setattr(rows, "SHARD_ROWS", shard)
    writer = RowWriter(tmp_path, "people")
    for person in PEOPLE:
        writer.add(person)
    digest = writer.close()
    assert list(read_records(tmp_path, "people", Person)) == PEOPLE
    assert streams(tmp_path) == ["people"]
    assert len(list(tmp_path.glob("*.parquet"))) == (3 if shard == 3 else 0)
    again = RowWriter(tmp_path / "..", "other")
    for person in PEOPLE:
        again.add(person)
    assert again.close() == digest  # the hash is of the rows, not of the files


def test_columns_of_mixed_kinds_come_back_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "SHARD_ROWS", 4)
    given: list[dict[str, object]] = [
        {"a": 1},
        {"a": "x", "b": 1},
        {"b": 2.5, "e": None},
        {"e": 1},
        {"a": [1], "c": {"d": None}},
        {"c": "e"},
    ]
    writer = RowWriter(tmp_path, "odd")
    for row in given:
        writer.add(row)
    writer.close()
    assert len(list(tmp_path.glob("*.parquet"))) == 2
    assert list(read_rows(tmp_path, "odd")) == given


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
