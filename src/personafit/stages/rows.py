"""Objects out of a log, one at a time: lines of JSON, or the entries of one JSON array, however long it is.

What cannot be read is an entry too, with the sentence that says why: a log of a million lines is not thrown away for one.
"""

import codecs
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from personafit._errors import UserError, json_kind, located

LONGEST = 64 << 20  # bytes of one conversation: more is a mistake, and would fill the memory
PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class LogRow:
    """One entry of a log, or why it could not be read."""

    place: str
    """'line 12' or 'entry 12'."""
    value: dict[str, Any] | None
    problem: str | None = None
    """Why there is no value."""


def read_rows(path: Path) -> Iterator[LogRow]:
    """Every entry of a log; memory holds one at a time."""
    try:
        with path.open("rb") as file:
            first = _first_byte(file)
            if first == b"[":
                yield from _entries(file, path)
            else:
                yield from _lines(file, path)
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); check the path.") from error


def _first_byte(file: BinaryIO) -> bytes:
    """The first byte that is no space; the file is left at its start, after a byte order mark."""
    head = file.read(4096)
    start = len(codecs.BOM_UTF8) if head.startswith(codecs.BOM_UTF8) else 0
    file.seek(start)
    return head[start:].lstrip()[:1]


def _lines(file: BinaryIO, path: Path) -> Iterator[LogRow]:
    number = 0
    while line := file.readline(LONGEST + 1):
        number += 1
        place = f"line {number}"
        if len(line) > LONGEST:
            while line and not line.endswith(b"\n"):  # the rest of it is passed over, a piece at a time
                line = file.readline(PIECE)
            yield LogRow(place, None, f"{located(path, number)} is longer than {LONGEST >> 20} MB.")
        elif line.strip():
            yield _row(line, place, located(path, number))


def _entries(file: BinaryIO, path: Path) -> Iterator[LogRow]:
    """The entries of an array; as much is held as one entry needs."""
    decoder, decode = json.JSONDecoder(), codecs.getincrementaldecoder("utf-8")("replace").decode
    text, number, size = decode(file.read(PIECE)).lstrip()[1:], 0, PIECE
    while True:
        text = text.lstrip(" \t\r\n,")
        if text.startswith("]"):
            return
        try:
            value, end = decoder.raw_decode(text)
            if end == len(text):
                raise ValueError("it may go on")
        except (ValueError, RecursionError) as error:
            piece = file.read(size)
            if piece and len(text) <= LONGEST:
                text += decode(piece)
                size = max(PIECE, len(text))  # twice as much each time, so that no entry is tried often
                continue
            why = "it is too long, not JSON, or the file was cut off" if piece else "the file was cut off"
            where = f"{path}, entry {number + 1}"
            yield LogRow(
                f"entry {number + 1}", None, f"{where} and what follows cannot be read: {why} ({error})."
            )
            return
        number, text, size = number + 1, text[end:], PIECE
        yield _row_of(value, f"entry {number}", f"{path}, entry {number}")


def _row(data: bytes, place: str, where: str) -> LogRow:
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        try:
            value = json.loads(
                data.decode("utf-8")
            )  # takes half a surrogate pair, as broken exports have them
        except (ValueError, RecursionError):
            return LogRow(place, None, f"{where} is not JSON ({error}).")
    return _row_of(value, place, where)


def _row_of(value: Any, place: str, where: str) -> LogRow:
    if not isinstance(value, dict):
        return LogRow(place, None, f"{where} must be a JSON object, not {json_kind(value)}.")
    return LogRow(place, value)
