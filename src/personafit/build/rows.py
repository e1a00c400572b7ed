"""What a step made, as JSONL files on disk, and the queue for people.

Rows are written and read one by one, so that a million people need no more memory than a thousand. A step writes into a
folder of its own that takes its final name when the step is done: what is half written is never taken for whole.
`review/STEP.jsonl` is written when a step ends. Set `"decision"` of a line to `keep` or `drop` and run the same build
again: what is dropped is replaced, what is kept stays whatever a model said of it.
"""

import hashlib
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel

from personafit._errors import UserError, located
from personafit.benchmarks.lines import read_lines

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")


class RowWriter:
    """Writes one stream of rows to a file, and reads them again."""

    def __init__(self, path: Path) -> None:
        self._path, self._file, self._digest = path, path.open("wb"), hashlib.sha256()
        self.count = 0

    def add(self, row: BaseModel | dict[str, Any]) -> None:
        """Take in a row."""
        if isinstance(row, BaseModel):
            line = row.model_dump_json(exclude_defaults=True).encode("utf-8", "replace") + b"\n"
        else:
            line = orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
        self._file.write(line)
        self._digest.update(line)
        self.count += 1

    def __iter__(self) -> Iterator[dict[str, Any]]:
        self._file.flush()
        yield from _lines(self._path)

    def close(self) -> str:
        """End the stream; returns a hash of all it holds."""
        self._file.close()
        return self._digest.hexdigest()[:32]


class Scratch(RowWriter):
    """Rows that a step puts aside and reads again; what it leaves goes with the step's half-written folder."""

    def close(self) -> str:
        """Throw it away."""
        self._path.unlink(missing_ok=True)
        return super().close()


def read_rows(folder: Path, stream: str) -> Iterator[dict[str, Any]]:
    """The rows of a stream in the order they were written."""
    path = folder / f"{stream}.jsonl"
    if path.is_file():
        yield from _lines(path)


def read_records(folder: Path, stream: str, kind: type[M]) -> Iterator[M]:
    """The same as records of a kind; they were checked when they were written."""
    return (kind.model_validate(row) for row in read_rows(folder, stream))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as file:
        for line in file:
            yield orjson.loads(line)


def write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write a JSONL file anew; what is half written never has its name."""
    fresh = path.with_suffix(".part")
    with fresh.open("wb") as file:
        for row in rows:
            file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
    fresh.replace(path)


def in_blocks(things: Iterable[T], first: int, then: int) -> Iterator[list[T]]:
    """Blocks of so many things; few at first, so that a model of no use is found out."""
    left, size = iter(things), first
    while block := list(islice(left, size)):
        yield block
        size = then


KEEP, DROP = "keep", "drop"
REVIEWER = "a person"


class Review:
    """The decisions of people about one step's rows, by the row's id."""

    def __init__(self, out: Path, step: str) -> None:
        self.path = out / "review" / f"{step}.jsonl"
        self.decisions: dict[str, str] = {}
        if not self.path.is_file():
            return
        for number, row in read_lines(self.path):
            decision = row.get("decision") or ""
            if decision not in ("", KEEP, DROP):
                raise UserError(
                    f"{located(self.path, number, 'decision')}: '{decision}' is neither keep nor drop; leave it empty to decide later."
                )
            if not isinstance(row.get("id"), str):
                raise UserError(
                    f"{located(self.path, number, 'id')} is missing; do not edit anything but decisions."
                )
            if decision:
                self.decisions[row["id"]] = decision

    def dropped(self, key: str) -> bool:
        """Whether a person said no."""
        return self.decisions.get(key) == DROP

    def kept(self, key: str) -> bool:
        """Whether a person said yes."""
        return self.decisions.get(key) == KEEP

    def write(self, rows: Iterable[dict[str, Any]]) -> None:
        """Write the queue anew; decisions made so far stay, also those about rows that are there no more."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_rows(self.path, self._decided(rows))

    def _decided(self, rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        left = dict(self.decisions)
        for row in rows:
            left.pop(row["id"], None)
            yield {"decision": self.decisions.get(row["id"], ""), **row}
        yield from ({"decision": decision, "id": key} for key, decision in left.items())
