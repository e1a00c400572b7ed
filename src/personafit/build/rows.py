"""What a step made, as JSONL files on disk.

A step writes into a folder of its own that takes its final name when the step is done, so that what is half written is never taken
for whole.
"""

import hashlib
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel

T = TypeVar("T")


class RowWriter:
    """Writes one stream of rows to a file."""

    def __init__(self, path: Path) -> None:
        self._file, self._digest = path.open("wb"), hashlib.sha256()
        self.count = 0

    def add(self, row: BaseModel | dict[str, Any]) -> None:
        if isinstance(row, BaseModel):
            line = row.model_dump_json(exclude_defaults=True).encode("utf-8", "replace") + b"\n"
        else:
            line = orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
        self._file.write(line)
        self._digest.update(line)
        self.count += 1

    def close(self) -> str:
        self._file.close()
        return self._digest.hexdigest()[:32]


def read_rows(folder: Path, stream: str) -> Iterator[dict[str, Any]]:
    """The rows of a stream in the order they were written; none where the file is not there."""
    path = folder / f"{stream}.jsonl"
    if path.is_file():
        with path.open("rb") as file:
            yield from map(orjson.loads, file)


def write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write a JSONL file anew; what is half written never has its name."""
    fresh = path.with_suffix(".part")
    with fresh.open("wb") as file:
        for row in rows:
            file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
    fresh.replace(path)


def in_blocks(things: Iterable[T], first: int, then: int) -> Iterator[list[T]]:
    """Blocks of things; few at first, so that a model of no use is found out early."""
    left, size = iter(things), first
    while block := list(islice(left, size)):
        yield block
        size = then
