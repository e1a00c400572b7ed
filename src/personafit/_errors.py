"""The one exception users see: a sentence that names what is wrong and what to do.

Anything else that reaches the top of the program is a bug and shows its traceback.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

_TRIED = ("str", "int", "float", "bool")
MOST_LISTED = 20  # faults of one file in one error
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(text: str) -> str:
    """The text without control characters: ids and messages from elsewhere must not steer the terminal they are shown in."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def _on_one_line(text: str) -> str:
    return printable(" ".join(text.splitlines()))


class UserError(Exception):
    """Bad usage or bad input; the command line prints the sentence and exits with `code`."""

    def __init__(self, message: str, code: int = 2, faults: Sequence[str] = ()) -> None:
        """`faults` are listed below the message, a line each, as far as there is room."""
        listed = [message, *faults[:MOST_LISTED]]
        if len(faults) > MOST_LISTED:
            listed.append(
                f"and {len(faults) - MOST_LISTED:,} more; `personafit data check` lists all faults of a file."
            )
        # What a sentence quotes may hold line ends; a sentence does not.
        super().__init__("\n  ".join(map(_on_one_line, listed)))
        self.code = code
        self.faults = [_on_one_line(text) for text in faults] or [str(self)]
        """Everything that is wrong, a sentence each."""


@contextmanager
def writing(place: object) -> Iterator[None]:
    """Say in a sentence what cannot be written within the block."""
    try:
        yield
    except OSError as error:
        raise UserError(
            f"{place} cannot be written ({error.strerror}); choose another with --out."
        ) from error


def refuse_faults(faults: Sequence[str], place: object) -> None:
    """Raise one error for all that is wrong with a file, if anything is."""
    if len(faults) == 1:
        raise UserError(faults[0])
    if faults:
        raise UserError(f"{place} has {len(faults):,} faults:", faults=faults)


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
