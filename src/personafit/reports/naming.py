"""What the lines of a run are called in tables and figures."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from personafit.reports.result import Result

LONGEST_NAME = 36
BREAKS = re.compile(r"[\s:,/=_-]+")
FOLDERS = re.compile(r"(?<![^:,=/\s])(?:[^:,=/\s]*/){2,}")  # of a path, not of an OWNER/NAME


def lined_name(text: str) -> str:
    """A name beside a line of a figure, on two lines where it is long; folders of a path are left out first."""
    plain = shown(text)
    if len(plain) > LONGEST_NAME:
        plain = FOLDERS.sub("…/", plain)
    if len(plain) <= LONGEST_NAME:
        return plain
    breaks = [place.end() for place in BREAKS.finditer(plain[:LONGEST_NAME])]
    first = breaks[-1] if breaks and breaks[-1] > LONGEST_NAME // 3 else LONGEST_NAME
    return f"{plain[:first].rstrip()}\n{short_name(plain[first:])}"


def shown(text: str) -> str:
    """A name with a sign in the place of line breaks, direction marks and the like."""
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


def short_name(text: str) -> str:
    """Names come from outside: no line breaks or direction marks in a figure, and the middle of long ones left out."""
    plain = shown(text)
    if len(plain) <= LONGEST_NAME:
        return plain
    half = LONGEST_NAME // 2
    return f"{plain[:half]}…{plain[-half:]}"


class NamedRun(NamedTuple):
    """What there is to call a run by."""

    benchmark: str
    version: str
    run: str


def apart(runs: Sequence[NamedRun]) -> list[str]:
    """A name for each run, the shortest that no other of these runs has."""
    names = [(one.benchmark, f"{one.benchmark} {one.version}", one.run) for one in runs]
    taken = Counter(name for own in names for name in own[:2])
    return [next((name for name in own[:2] if taken[name] == 1), own[-1]) for own in names]


LineKey = tuple[str | None, str | None, str | None]
"""A rater's fingerprint, a system, and what the system was told."""


def line_of(result: Result) -> LineKey:
    """The key of a result's rater and system."""
    return result.fingerprint, result.system, result.given


class LineNames:
    """What lines are called in a table: by their rater, and by their system where there are several."""

    def __init__(self, results: Iterable[Result]) -> None:
        systems = dict.fromkeys((one.system, one.given) for one in results if one.system)
        self._systems = len(systems) > 1
        self.heads = ["judge", "system"] if self._systems else ["judge" if systems else "rater"]

    def names(self, result: Result) -> list[str]:
        """The names of a line, one for every heading."""
        told = f" ({result.given})" if result.given else ""
        return [str(result.rater), *([f"{result.system}{told}"] if self._systems else [])]

    def published(self, model: str, *more: str) -> list[str]:
        """The names of a published row."""
        return [model, *([""] if self._systems else []), *more]
