"""The one exception users see: a sentence that names what is wrong and what to do.

Any other uncaught exception is a bug and shows its traceback.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

_TRIED = ("str", "int", "float", "bool")
MOST_LISTED = 20  # maximum number of faults of one file listed in an error
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(text: str) -> str:
    """Return the text without control characters: ids and messages from elsewhere must not control the terminal that shows them."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def _on_one_line(text: str) -> str:
    return printable(" ".join(text.splitlines()))


class UserError(Exception):
    """Bad usage or bad input; the command line prints the sentence and exits with `code`."""

    def __init__(self, message: str, code: int = 2, faults: Sequence[str] = ()) -> None:
        """Create the error; `faults` are listed below the message, a line each, up to a maximum."""
        listed = [message, *faults[:MOST_LISTED]]
        if len(faults) > MOST_LISTED:
            listed.append(
                f"and {len(faults) - MOST_LISTED:,} more; `personafit data check` lists all faults of a file."
            )
        # Quoted text may hold line breaks; an error sentence does not.
        super().__init__("\n  ".join(map(_on_one_line, listed)))
        self.code = code
        self.faults = [_on_one_line(text) for text in faults] or [str(self)]
        """Everything that is wrong, a sentence each."""


@contextmanager
def writing(place: object) -> Iterator[None]:
    """Turn an OSError raised in the block into a UserError that says what cannot be written."""
    try:
        yield
    except OSError as error:
        raise UserError(
            f"{place} cannot be written ({error.strerror}); choose another with --out."
        ) from error


def refuse_faults(faults: Sequence[str], place: object) -> None:
    """Raise one error for all faults of a file, if there are any."""
    if len(faults) == 1:
        raise UserError(faults[0])
    if faults:
        raise UserError(f"{place} has {len(faults):,} faults:", faults=faults)


def counted(number: int, one: str, many: str) -> str:
    """Return a number with its noun: '1 rater', '2 raters'."""
    return f"{number:,} {one if number == 1 else many}"


def located(path: object, line: int | None = None, field: str | None = None) -> str:
    """Return the place of a fault as `file, line 3, field 'chosen'`, for the start of an error sentence."""
    parts = [str(path)]
    if line is not None:
        parts.append(f"line {line}")
    if field:
        parts.append(f"field '{field}'")
    return ", ".join(parts)


def json_kind(value: object) -> str:
    """Describe the type of a value read from JSON, for error messages."""
    if value is None:
        return "null"
    kinds = {bool: "true or false", str: "a text", list: "a list", dict: "an object"}
    return kinds.get(type(value), "a number")


def field_name(place: Iterable[object]) -> str:
    """Return the path of a field from pydantic's location, without the union members that pydantic tried."""
    names = [str(part) for part in place]
    return ".".join(names[:1] + [name for name in names[1:] if name not in _TRIED and "[" not in name])
