"""What a step made, as JSONL files on disk, and the queue for people.

A step writes into a folder of its own that takes its final name when the step is done, so that what is half written is never taken
for whole. `review/STEP.jsonl` lists what a step kept: set `"decision"` of a line to `drop`, run the same build again, and it is
replaced.
"""

import hashlib
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel

from personafit._errors import UserError, located
from personafit.benchmarks.lines import read_lines, required_text

T = TypeVar("T")


class RowWriter:
    """Writes one stream of rows to a file."""

    def __init__(self, path: Path) -> None:
        self._file, self._digest = path.open("wb"), hashlib.sha256()
        self.count = 0

    def add(self, row: BaseModel | dict[str, Any]) -> None:
        """Write a row."""
        if isinstance(row, BaseModel):
            line = row.model_dump_json(exclude_defaults=True).encode("utf-8", "replace") + b"\n"
        else:
            line = orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
        self._file.write(line)
        self._digest.update(line)
        self.count += 1

    def close(self) -> str:
        """End the stream; returns a hash of all it holds."""
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


DROP, DROPPED = "drop", "dropped in review"
REVIEWER = "a person"


def read_drops(out: Path, step: str) -> set[str]:
    """The ids of what people dropped in `review/STEP.jsonl`."""
    path, dropped = out / "review" / f"{step}.jsonl", set[str]()
    for number, row in read_lines(path) if path.is_file() else ():
        decision = row.get("decision") or ""
        if decision not in ("", DROP):
            raise UserError(
                f"{located(path, number, 'decision')}: '{decision}' is not {DROP}; leave it empty to keep the row."
            )
        if decision:
            dropped.add(required_text(row, "id", path, number))
    return dropped


def write_review(out: Path, step: str, rows: Iterable[dict[str, Any]]) -> None:
    """Write what a step kept as a queue for people; what they dropped before stays dropped."""
    (out / "review").mkdir(exist_ok=True)
    before = [{"decision": DROP, "id": key} for key in sorted(read_drops(out, step))]
    write_rows(out / "review" / f"{step}.jsonl", [*({"decision": "", **row} for row in rows), *before])
