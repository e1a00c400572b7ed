"""What every reader of rows checks alike, so that all faults of a file are said at once and repeated rows are counted the same."""

import re
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from personafit._errors import UserError, located, refuse_faults
from personafit.benchmarks.lines import validated
from personafit.people import Person, flatten

LONGEST_QUOTE = 60  # characters of a value that a sentence quotes


class RowChecks:
    """Collects the faults of one file: ids are unique, a person is described in one way, repeated rows are read once."""

    def __init__(self, place: Path, known: Mapping[str, Person] | None = None) -> None:
        """`place` stands before the number of a row; `known` people may be named by id."""
        self.place = place
        self.people = dict(known or {})
        self.faults: list[str] = []
        self._described: dict[str, int] = {}
        self._ids: dict[str, int] = {}
        self._contents: set[Hashable] = set()
        self._repeated: list[int] = []

    def add(self, number: int, field: str | None, what: str) -> None:
        """Note a fault; `what` follows the place, as in "is empty." or ": nobody is called 'x'."."""
        space = "" if what.startswith(":") else " "
        self.faults.append(f"{located(self.place, number, field)}{space}{what}")

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Note what is refused in here, and go on."""
        try:
            yield
        except UserError as error:
            self.faults += error.faults

    def is_new(self, number: int, id: str, content: Hashable) -> bool:
        """Whether a row says something new; one that repeats an earlier row is counted and to be passed over."""
        if content in self._contents:
            self._repeated.append(number)
            return False
        self._contents.add(content)
        if (first := self._ids.setdefault(id, number)) != number:
            self.add(number, "id", f": '{id}' occurs twice, first on line {first}; ids must be unique.")
        return True

    def meet(self, number: int, person: Person) -> None:
        """Take somebody in; one who was described differently before is a fault that names what differs."""
        earlier = self.people.setdefault(person.id, person)
        if (differs := _difference(earlier, person)) is None:
            self._described.setdefault(person.id, number)
            return
        first = self._described.get(person.id)
        where = "before" if first is None else f"before, on line {first}"
        self.add(
            number,
            "person",
            f": '{person.id}' was described differently {where}: {differs}; give a person the same profile on every line.",
        )

    def notes(self) -> list[str]:
        """How many rows repeat an earlier one and are read once."""
        if not self._repeated:
            return []
        count, first = len(self._repeated), self._repeated[0]
        said = "1 row repeats an earlier one" if count == 1 else f"{count:,} rows repeat an earlier one"
        are = "is" if count == 1 else "are"
        return [f"{said} word for word and {are} read once, the first on line {first}."]

    def refuse(self) -> None:
        """Raise one error for all that was found, if anything was."""
        refuse_faults(sorted(self.faults, key=_line), self.place)


def inline_person(profile: Mapping[str, Any], place: Path, number: int) -> Person:
    """Somebody described within a row."""
    person_id = profile.get("id")
    if not isinstance(person_id, str) or not person_id:
        raise UserError(f"{located(place, number, 'person.id')} is missing; an inline person needs an id.")
    facets = profile.get("facets")
    if not isinstance(facets, dict):
        facets = flatten({key: value for key, value in profile.items() if key not in ("id", "language")})
    language = profile.get("language", "und")
    record = {"id": person_id, "language": language, "facets": facets}
    return validated(Person, record, place, number)


def _line(fault: str) -> int:
    found = re.search(r", line (\d+)", fault)
    return int(found[1]) if found else 0


def _difference(before: Person, now: Person) -> str | None:
    """What is said differently of somebody, in words; None where nothing is."""
    for path in {**before.facets, **now.facets}:
        was, says = before.facets.get(path), now.facets.get(path)
        if was != says:
            return f"'{path}' was {_quoted(was)} and is {_quoted(says)}"
    return None


def _quoted(value: object) -> str:
    if value is None:
        return "missing"
    text = str(value)
    return f"'{text if len(text) <= LONGEST_QUOTE else text[: LONGEST_QUOTE - 1] + '…'}'"
