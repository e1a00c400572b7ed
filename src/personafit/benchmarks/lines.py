"""Reading JSON and JSONL with errors that name file, line and field; shared by all readers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel, ValidationError

from personafit._errors import UserError, located

M = TypeVar("M", bound=BaseModel)


def read_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each line of a JSONL file with its number; blank lines are passed over."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, parse_object(line, path, number)
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); check the path.") from error


def parse_object(data: bytes, path: Path, number: int | None = None) -> dict[str, Any]:
    """One JSON object, or a sentence that says why it is none."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as bad:
            message = f"is not UTF-8 (byte {bad.start} cannot be read); save the file as UTF-8"
            raise UserError(f"{located(path, number)} {message}.") from error
        raise UserError(f"{located(path, number)} is not JSON ({error}).") from error
    if not isinstance(value, dict):
        raise UserError(f"{located(path, number)} must be a JSON object, not {type(value).__name__}.")
    return value


def read_object(path: Path) -> dict[str, Any]:
    """A file that is one JSON object."""
    try:
        return parse_object(path.read_bytes(), path)
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}).") from error


def required_text(row: dict[str, Any], field: str, path: Path, number: int) -> str:
    """A field that must be a text with something in it."""
    value = row.get(field)
    if value is None:
        raise UserError(f"{located(path, number, field)} is missing.")
    if not isinstance(value, str):
        raise UserError(f"{located(path, number, field)} must be a text, not {type(value).__name__}.")
    if not value.strip():
        raise UserError(f"{located(path, number, field)} is empty.")
    return value


def validated(model: type[M], row: dict[str, Any], path: Path, number: int | None) -> M:
    """A record from a row, or a sentence that names the first field that does not fit."""
    try:
        return model.model_validate(row)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        what = first["msg"][0].lower() + first["msg"][1:]
        raise UserError(f"{located(path, number, field)}: {what}.") from error
