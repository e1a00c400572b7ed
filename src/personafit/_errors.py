"""The one exception users see: a sentence that names what is wrong and what to do.

Anything else that reaches the top of the program is a bug and shows its traceback.
"""

from collections.abc import Iterable

_TRIED = ("str", "int", "float", "bool")


class UserError(Exception):
    """Bad usage or bad input; the command line prints the sentence and exits with `code`."""

    def __init__(self, message: str, code: int = 2) -> None:
        super().__init__(
            " ".join(message.splitlines())
        )  # what it quotes may hold line ends; a sentence does not
        self.code = code


def located(path: object, line: int | None = None, field: str | None = None) -> str:
    """The place of a fault as `file, line 3, field 'chosen'`, for the start of an error sentence."""
    parts = [str(path)]
    if line is not None:
        parts.append(f"line {line}")
    if field:
        parts.append(f"field '{field}'")
    return ", ".join(parts)


def json_kind(value: object) -> str:
    """What a value read from JSON is, in words for people."""
    if value is None:
        return "null"
    kinds = {bool: "true or false", str: "a text", list: "a list", dict: "an object"}
    return kinds.get(type(value), "a number")


def field_name(place: Iterable[object]) -> str:
    """A field as pydantic places it, without the kinds of value that it tried where several would do."""
    names = [str(part) for part in place]
    return ".".join(names[:1] + [name for name in names[1:] if name not in _TRIED and "[" not in name])
