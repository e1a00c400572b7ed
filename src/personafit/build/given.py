"""People supplied by the user instead of sampled: published personas, a CSV, or a people.jsonl."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from personafit._errors import UserError, located
from personafit._hashing import draw
from personafit.benchmarks import PersonaFeedback
from personafit.benchmarks.lines import read_csv, read_lines, validated
from personafit.benchmarks.personalens import PersonaLens
from personafit.build.asking import language_of
from personafit.people import FacetValue, Person, facet_values

CORE = ("Name", "Demographics", "Personality")
"""Top-level facets that identify a person; all others are preferences."""
SENTENCE = {"en": 20, "zh": 6}  # characters from which a text counts as a sentence of its own
COLUMNS = ("id", "language")
"""Columns of a CSV that are not facets."""


def given_people(path: Path, languages: Sequence[str], seed: int) -> list[Person]:
    """Return the people of a file or folder in one of the languages, in an order drawn by seed."""
    people = {person.id: person for person in _read(path) if person.language in languages}
    if not people:
        raise UserError(f"{path} has nobody in {' or '.join(languages)}; check `given` and `languages`.")
    return sorted(people.values(), key=lambda one: draw("given", seed, one.id, among=2**63))


def _read(path: Path) -> Iterator[Person]:
    people_file = path / "people.jsonl" if path.is_dir() else path
    if path.suffix == ".csv":
        yield from _from_csv(path)
    elif people_file.is_file():
        for number, row in read_lines(people_file):
            yield validated(Person, row, people_file, number)
    elif (path / "data" / "profile").is_dir():
        yield from PersonaLens(path).people()
    else:
        yield from PersonaFeedback(path).people()


def _from_csv(path: Path) -> Iterator[Person]:
    """Yield a person per row; columns other than `id` and `language` are facets, and `a; b` is a list."""
    seen: set[str] = set()
    for number, row in read_csv(path, ["id"]):
        name = row["id"] or ""
        if not name or name in seen:
            raise UserError(f"{located(path, number, 'id')} is {'there twice' if name else 'empty'}.")
        seen.add(name)
        facets: dict[str, FacetValue] = {
            column: [part.strip() for part in text.split(";")] if ";" in text else text
            for column, text in row.items()
            if text and column not in COLUMNS
        }
        text = " ".join(facet_values(facets))
        record: dict[str, Any] = {"id": name, "language": row.get("language") or language_of(text)}
        yield validated(Person, {**record, "facets": facets}, path, number)


def preferences_of(person: Person) -> dict[str, FacetValue]:
    """Return the facets that do not identify the person."""
    return {path: value for path, value in person.facets.items() if path.partition(".")[0] not in CORE}


def habits_of(person: Person) -> list[tuple[str, str]]:
    """Return preferences and values as (path, sentence), one per list entry; a short text is prefixed with its field's name."""
    facets = {path: value for path, value in person.facets.items() if "Values" in path}
    facets |= preferences_of(person)
    found = [(path, text) for path, value in facets.items() for text in facet_values({path: value})]
    return [
        (path, text if len(text) >= SENTENCE[language_of(text)] else _named(path, text))
        for path, text in found
    ]


def _named(path: str, text: str) -> str:
    return f"{path.rpartition('.')[2].replace('_', ' ')}: {text}"
