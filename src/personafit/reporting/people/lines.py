"""Lines of large files by a field of theirs: where each stands is kept, the line is read when it is wanted."""

from pathlib import Path
from types import TracebackType
from typing import Generic, TypeVar

import orjson
from pydantic import BaseModel

R = TypeVar("R", bound=BaseModel)


class LinesBy(Generic[R]):
    """The records of a JSONL file, looked up by one field; use it as a context manager."""

    def __init__(self, path: Path, record: type[R], field: str) -> None:
        self._record = record
        self._offsets: dict[str, list[int]] = {}
        self._file = path.open("rb")
        while True:
            offset = self._file.tell()
            line = self._file.readline()
            if not line:
                break
            self._offsets.setdefault(orjson.loads(line)[field], []).append(offset)

    def __enter__(self) -> "LinesBy[R]":
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _tb: TracebackType | None
    ) -> None:
        self._file.close()

    def get(self, value: str) -> list[R]:
        """All records with that value, in the order of the file."""
        found = []
        for offset in self._offsets.get(value, ()):
            self._file.seek(offset)
            found.append(self._record.model_validate_json(self._file.readline()))
        return found
