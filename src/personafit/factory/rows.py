"""What a step made, as a stream on disk: one JSONL file, or Parquet shards once there are many rows; and the queue for people.

Rows are written and read one by one, so that a million people need no more memory than a thousand. A step writes into a
folder of its own that takes its final name when the step is done: what is half written is never taken for whole.
`review/STEP.jsonl` is written when a step ends. Set `"decision"` of a line to `keep` or `drop` and run the same build
again: what is dropped is replaced, what is kept stays whatever a model said of it.
"""

import hashlib
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any, TypeVar

import orjson
from pydantic import BaseModel

from personafit._errors import UserError, located
from personafit.benchmarks.lines import read_lines

M = TypeVar("M", bound=BaseModel)

SHARD_ROWS, PART_ROWS = 5_000, 500
PLAIN = {str, int, float, bool}
NESTED = "_json"  # ends the names of columns whose values are lists, objects, nulls or of several kinds, written as JSON


class RowWriter:
    """Writes one stream of a step."""

    def __init__(self, folder: Path, stream: str) -> None:
        self._folder, self._stream = folder, stream
        self._path = folder / f"{stream}.jsonl"
        self._file: IO[bytes] = self._path.open("wb")
        self._digest = hashlib.sha256()
        self._in_file = self._shards = 0
        self.count = 0

    def add(self, row: BaseModel | dict[str, Any]) -> None:
        """Take in a row."""
        if isinstance(row, BaseModel):
            line = row.model_dump_json(exclude_defaults=True).encode("utf-8", "replace") + b"\n"
        else:
            line = orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
        if self._in_file == SHARD_ROWS:
            self._shard()
            self._file = self._path.open("wb")
        self._file.write(line)
        self._digest.update(line)
        self._in_file += 1
        self.count += 1

    def close(self) -> str:
        """End the stream; returns a hash of all it holds."""
        if self._shards:
            self._shard()
        else:
            self._file.close()
        return self._digest.hexdigest()[:32]

    def _shard(self) -> None:
        """Turn the file so far into a Parquet shard, a few rows at a time: as Python objects all of them take ten times the room."""
        import polars as pl

        self._file.close()
        kinds: dict[str, set[type]] = {}
        for row in _lines(self._path):
            for name, value in row.items():
                kinds.setdefault(name, set()).add(type(value))
        nested = {name for name, found in kinds.items() if len(found) > 1 or not found <= PLAIN}
        schema = {
            f"{name}{NESTED}" if name in nested else name: str if name in nested else next(iter(found))
            for name, found in kinds.items()
        }
        parts, rows = [], _lines(self._path)
        while part := list(islice(rows, PART_ROWS)):
            columns = [
                [_cell(row, name) if name in nested else row.get(name) for row in part] for name in kinds
            ]
            parts.append(pl.DataFrame(dict(zip(schema, columns, strict=True)), schema=schema))
        self._shards += 1
        pl.concat(parts).write_parquet(self._folder / f"{self._stream}-{self._shards:05}.parquet")
        self._path.unlink()
        self._in_file = 0


def _cell(row: dict[str, Any], name: str) -> str | None:
    """A value as JSON; None only where the row has none, so that a null comes back as one."""
    return orjson.dumps(row[name]).decode() if name in row else None


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as file:
        for line in file:
            yield orjson.loads(line)


def read_rows(folder: Path, stream: str) -> Iterator[dict[str, Any]]:
    """The rows of a stream in the order they were written."""
    shards = sorted(folder.glob(f"{stream}-[0-9][0-9][0-9][0-9][0-9].parquet"))
    if shards:
        import polars as pl

        for shard in shards:
            for row in pl.read_parquet(shard).iter_rows(named=True):
                yield {
                    name.removesuffix(NESTED): orjson.loads(value) if name.endswith(NESTED) else value
                    for name, value in row.items()
                    if value is not None
                }
    path = folder / f"{stream}.jsonl"
    if path.is_file():
        yield from _lines(path)


def read_records(folder: Path, stream: str, kind: type[M]) -> Iterator[M]:
    """The same as records of a kind; they were checked when they were written."""
    return (kind.model_validate(row) for row in read_rows(folder, stream))


def streams(folder: Path) -> list[str]:
    """The names of the streams in a step's folder."""
    names = [path.stem for path in folder.glob("*.jsonl")]
    names += [path.stem.rpartition("-")[0] for path in folder.glob("*-[0-9][0-9][0-9][0-9][0-9].parquet")]
    return sorted(set(names))


class Scratch:
    """Rows that a step puts aside and reads again, on disk; it goes with the step's half-written folder."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] = path.open("wb")
        self.count = 0

    def add(self, row: dict[str, Any]) -> None:
        """Put a row aside."""
        self._file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
        self.count += 1

    def __iter__(self) -> Iterator[dict[str, Any]]:
        self._file.flush()
        yield from _lines(self._path)

    def close(self) -> None:
        """Throw it away."""
        self._file.close()
        self._path.unlink(missing_ok=True)


KEEP, DROP = "keep", "drop"


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
        fresh, seen = self.path.with_suffix(".part"), set()
        with fresh.open("wb") as file:
            for row in rows:
                decision = self.decisions.get(row["id"], "")
                if decision:
                    seen.add(row["id"])
                file.write(orjson.dumps({"decision": decision, **row}, option=orjson.OPT_APPEND_NEWLINE))
            for key, decision in self.decisions.items():
                if key not in seen:
                    row = {"decision": decision, "id": key}
                    file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
        fresh.replace(self.path)
