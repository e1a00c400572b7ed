"""Reading what a fitted rater was kept in: whatever is wrong with its files becomes one sentence."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from personafit._errors import UserError


@contextmanager
def reading_fitted(path: Path, noun: str, remedy: str) -> Iterator[None]:
    """Read a rater inside; `noun` is what it is called, `remedy` says how to come by a file that is missing."""
    try:
        yield
    except FileNotFoundError as error:
        raise UserError(f"{error.filename} is missing; {remedy}.") from error
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror or error}).") from error
    except Exception as error:  # a damaged file fails in as many ways as there are fields
        what = f"{type(error).__name__}: {error}" if not isinstance(error, ValueError) else error
        raise UserError(f"{path} is no {noun} that can be used: {what}.") from error


def check_format(document: Mapping[str, Any], name: str, version: int) -> None:
    """Refuse a file that says it is something else, or of another version."""
    if document["format"] != name or document["version"] != version:
        raise ValueError(f"it is not in version {version} of the format {name}")
