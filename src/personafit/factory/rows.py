"""What a step made, as a stream on disk: one JSONL file, or Parquet shards once there are many rows.

Rows are written and read one by one, so that a million people need no more memory than a thousand. A step writes into a
folder of its own that takes its final name when the step is done: what is half written is never taken for whole.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, TypeVar

import orjson
from pydantic import BaseModel

M = TypeVar("M", bound=BaseModel)

SHARD_ROWS = 10_000
NESTED = "_json"  # ends the names of columns whose values are lists or objects, written as JSON


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
        """Turn the file so far into a Parquet shard."""
        import polars as pl

        self._file.close()
        columns: dict[str, list[Any]] = {}
        kinds: dict[str, type] = {}
        nested: set[str] = set()
        with self._path.open("rb") as file:
            for number, line in enumerate(file):
                for name, value in orjson.loads(line).items():
                    column = columns.setdefault(name, [])
                    column += [None] * (number - len(column))
                    kind = kinds.setdefault(name, type(value))
                    if name not in nested and (kind is not type(value) or kind in (dict, list)):
                        nested.add(
                            name
                        )  # what came before is rewritten, so that the whole column reads alike
                        column[:] = [None if one is None else orjson.dumps(one).decode() for one in column]
                    column.append(orjson.dumps(value).decode() if name in nested else value)
        for column in columns.values():
            column += [None] * (self._in_file - len(column))
        named = {name + NESTED if name in nested else name: column for name, column in columns.items()}
        self._shards += 1
        pl.DataFrame(named, infer_schema_length=None).write_parquet(
            self._folder / f"{self._stream}-{self._shards:05}.parquet"
        )
        self._path.unlink()
        self._in_file = 0


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
        with path.open("rb") as file:
            for line in file:
                yield orjson.loads(line)


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
        with self._path.open("rb") as file:
            for line in file:
                yield orjson.loads(line)

    def close(self) -> None:
        """Throw it away."""
        self._file.close()
        self._path.unlink(missing_ok=True)
