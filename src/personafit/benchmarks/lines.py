"""Readers of JSON, JSONL, CSV and parquet, with errors that name file, line and field."""

import codecs
import csv
import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast

import orjson
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from personafit._errors import UserError, field_name, json_kind, located, refuse_faults

M = TypeVar("M", bound=BaseModel)


def _filled(text: str) -> str:
    if not text.strip():
        raise PydanticCustomError("empty", "is empty")
    return text


FilledText = Annotated[str, AfterValidator(_filled)]
"""A text field that must not be blank."""
IdText = Annotated[
    FilledText,
    BeforeValidator(lambda one: str(one) if isinstance(one, int) and not isinstance(one, bool) else one),
]
"""A name or a whole number that identifies something, as text."""


class PublishedLine(BaseModel):
    """A line of published data: the fields we read are type-checked strictly, others are ignored."""

    model_config = ConfigDict(strict=True, extra="ignore")


@contextmanager
def noted(faults: list[str]) -> Iterator[None]:
    """Collect the faults of a `UserError` raised within the block, and continue after it."""
    try:
        yield
    except UserError as error:
        faults += error.faults


LONGEST = 64 << 20  # bytes of one line or object; longer ones are mistakes and would fill the memory
DEEPEST = 100  # levels of nested objects and lists
LONGEST_CELL = 8 << 20  # characters; a longer cell is an unclosed quote
BOM = codecs.BOM_UTF8


def refuse(sentence: str) -> None:
    """Raise a fault as a `UserError`."""
    raise UserError(sentence)


def read_lines(
    path: Path, complain: Callable[[str], None] = refuse, strict: bool = False
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Iterate over the objects of a JSONL file, gzipped or not, with line numbers; blank lines are skipped.

    A line that is not a JSON object is passed to `complain` and skipped; so is the rest of a file that cannot be read any further. `strict`
    rejects objects with repeated names, of which JSON parsers keep the last.
    """
    fault = None
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for number in count(1):
                line = file.readline(LONGEST + 1)
                if not line or len(line) > LONGEST:
                    break
                if number == 1:
                    line = line.removeprefix(BOM)
                if number == 1 and line.strip() in (b"{", b"["):
                    fault = (
                        f"{located(path, number)} begins JSON over several lines; write one object to a line."
                    )
                    break
                if not line.strip():
                    continue
                try:
                    row = parse_object(line, path, number)
                    if strict:
                        _refuse_repeated_names(line, path, number)
                except UserError as error:
                    complain(str(error))
                    continue
                yield number, row
            if len(line) > LONGEST:
                fault = (
                    f"{located(path, number)} is longer than {LONGEST >> 20} MB; write one object to a line."
                )
    except (OSError, EOFError, zlib.error) as error:
        said = getattr(error, "strerror", None) or "it is not a whole gzip file"
        fault = f"{path} cannot be read ({said}); check the path."
    if fault is not None:
        complain(fault)


def read_records(
    path: Path,
    model: type[M],
    complain: Callable[[str], None] = refuse,
    strict: bool = False,
    key: Callable[[M], str] | None = None,
    field: str = "id",
) -> Iterator[tuple[int, M]]:
    """Iterate over the records of a JSONL file with line numbers; faulty lines are passed to `complain` and skipped.

    Of two records with the same `key`, which is the value of `field`, the second is a fault.
    """
    seen: set[str] = set()
    for number, row in read_lines(path, complain, strict):
        try:
            record = validated(model, row, path, number)
        except UserError as error:
            if complain is refuse:
                raise
            for fault in error.faults:
                complain(fault)
            continue
        name = None if key is None else key(record)
        if name in seen:
            complain(f"{located(path, number, field)}: '{name}' occurs twice; ids must be unique.")
            continue
        if name is not None:
            seen.add(name)
        yield number, record


def read_csv(
    path: Path, needed: Sequence[str] = (), complain: Callable[[str], None] = refuse
) -> Iterator[tuple[int, dict[str, str | None]]]:
    """Iterate over the rows of a CSV file with the numbers of their first lines; empty cells are None.

    Cells are separated by commas, semicolons or tabs, whichever the first line has most of. `needed` are the columns it must have.
    A row with too few or too many cells is passed to `complain` and skipped.
    """
    number = 1
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            csv.field_size_limit(LONGEST_CELL)
            first = file.readline()
            file.seek(0)
            separator = max(",;\t", key=first.count)  # Excel writes semicolons where the comma is in numbers
            lines = (line.replace("\x00", "\ufffd") for line in file)  # NUL cannot be stored
            reader = csv.DictReader(lines, delimiter=separator)
            names = list(reader.fieldnames or [])
            if missing := [name for name in needed if name not in names]:
                raise UserError(
                    f"{located(path, 1, missing[0])}: this column is missing; needed are {', '.join(needed)}."
                )
            if twice := next((name for name in names if name and names.count(name) > 1), None):
                raise UserError(f"{located(path, 1, twice)}: this column is there twice; keep one of them.")
            number = reader.line_num + 1
            for row in reader:
                if None not in row and None not in row.values():
                    yield number, {name: value or None for name, value in row.items()}
                else:
                    complain(f"{located(path, number)} has another number of cells than the first line.")
                number = reader.line_num + 1  # a row may span several lines
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); check the path.") from error
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path} is not UTF-8 (byte {error.start} cannot be read); save it as UTF-8."
        ) from error
    except csv.Error as error:
        raise UserError(f"{located(path, number)} is not CSV: {error}.") from error


def read_parquet(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Iterate over the rows of a parquet file with their numbers."""
    import polars as pl

    try:
        frame = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError, UnicodeDecodeError) as error:
        why = " ".join(str(error).split())[:200].rstrip(".")
        raise UserError(f"{path} cannot be read as parquet ({why}).") from error
    yield from enumerate(frame.iter_rows(named=True), 1)


def read_entries(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Iterate over the objects of a file that is one JSON list, with their places, such as `file.json, entry 3`."""
    try:
        data = path.read_bytes().removeprefix(BOM)
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); check the path.") from error
    value, nul = _parse(data, str(path)), b"\\u0000" in data
    del data  # it may be hundreds of megabytes, and so may each of the copies below
    if not isinstance(value, list):
        raise UserError(f"{path} must be a JSON list of objects, not {json_kind(value)}.")
    value.reverse()
    for number in range(1, len(value) + 1):
        entry = value.pop()
        place = f"{path}, entry {number}"
        if not isinstance(entry, dict):
            raise UserError(f"{place} must be a JSON object, not {json_kind(entry)}.")
        yield place, cast(dict[str, Any], _without_nul(entry)) if nul else entry


def parse_object(data: bytes, path: Path, number: int | None = None) -> dict[str, Any]:
    """Parse one JSON object; raise `UserError` with the reason if it is not one."""
    value = _parse(data, located(path, number))
    if not isinstance(value, dict):
        raise UserError(f"{located(path, number)} must be a JSON object, not {json_kind(value)}.")
    if data.count(b"{") + data.count(b"[") > DEEPEST and _depth(value) > DEEPEST:
        raise UserError(f"{located(path, number)} is nested more than {DEEPEST} deep.")
    return cast(dict[str, Any], _without_nul(value)) if b"\\u0000" in data else value


def _parse(data: bytes, place: str) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as bad:
            raise UserError(
                f"{place} is not UTF-8 (byte {bad.start} cannot be read); save the file as UTF-8."
            ) from error
        raise UserError(f"{place} is not JSON ({error}).") from error


def _refuse_repeated_names(data: bytes, path: Path, number: int) -> None:
    def refuse_twice(pairs: list[tuple[str, Any]]) -> None:
        names = [name for name, _ in pairs]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise UserError(f"{located(path, number, twice)} is there twice in one object; keep one of them.")

    json.loads(data, object_pairs_hook=refuse_twice)


def read_object(path: Path) -> dict[str, Any]:
    """Read a file that is one JSON object."""
    try:
        with path.open("rb") as file:
            data = file.read(LONGEST + 1)
        if len(data) > LONGEST:
            raise UserError(f"{path} is longer than {LONGEST >> 20} MB, too much for one JSON object.")
        return parse_object(data.removeprefix(BOM), path)
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}).") from error


def _depth(value: object) -> int:
    """Return the nesting depth, counted without recursion and no further than `DEEPEST` + 1."""
    depth, level = 0, [value]
    while level and depth <= DEEPEST:
        below = [list(entry.values()) if isinstance(entry, dict) else entry for entry in level]
        level = [entry for entries in below if isinstance(entries, list) for entry in entries]
        depth += 1
    return depth


def _without_nul(value: object) -> object:
    """Replace NUL by U+FFFD in all texts and names, as no database stores NUL and ids must match."""
    if isinstance(value, str):
        return value.replace("\x00", "\ufffd")
    if isinstance(value, list):
        return [_without_nul(entry) for entry in value]
    if isinstance(value, dict):
        return {_without_nul(key): _without_nul(entry) for key, entry in value.items()}
    return value


def required_text(row: Mapping[str, Any], field: str, path: object, number: int | None = None) -> str:
    """Return a text field; raise `UserError` if it is missing, not a text or blank."""
    value = row.get(field)
    if value is None:
        raise UserError(f"{located(path, number, field)} is missing.")
    if not isinstance(value, str):
        raise UserError(f"{located(path, number, field)} must be a text, not {json_kind(value)}.")
    if not value.strip():
        raise UserError(f"{located(path, number, field)} is empty.")
    return value


def validated(model: type[M], row: dict[str, Any], path: object, number: int | None) -> M:
    """Return a record from a row; raise `UserError` naming every invalid field."""
    try:
        return model.model_validate(row)
    except ValidationError as error:
        found: dict[str, str] = {}  # a field of a union type has an error for each member
        for one in error.errors():
            field = field_name(one["loc"])
            found.setdefault(field, f"{located(path, number, field)}{_said(one)}.")
        refuse_faults(list(found.values()), located(path, number))
        raise


_EXPECTED = {
    "string_type": "a text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
}
"""What a field must be, by pydantic's type of error."""
_STATED = {
    "missing": "is missing",
    "empty": "is empty",
    "extra_forbidden": "is not a field that is known here; check its name",
}


def _said(error: ErrorDetails) -> str:
    """Return what is wrong with a field, to follow its place in a sentence."""
    kind = error["type"]
    if kind in _EXPECTED:
        return f" must be {_EXPECTED[kind]}, not {json_kind(error['input'])}"
    if kind in _STATED:
        return f" {_STATED[kind]}"
    what = error["msg"].removeprefix("Value error, ")
    return f": {what[0].lower()}{what[1:]}"
