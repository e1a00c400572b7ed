"""`data import pairs.csv`: a team's own pairs become a benchmark folder.

Columns: `question`, `chosen`, `rejected`, and either `person` (an id) with any number of `person.FIELD` columns, or
`person` alone with the person in words. Optional: `id`, `tier`, `language`; every other column becomes a slice.
"""

import csv
from collections.abc import Iterator
from pathlib import Path

from personafit._errors import UserError, located
from personafit._hashing import hash_text
from personafit._names import as_name
from personafit.benchmarks.benchmark import BenchmarkInfo, Published
from personafit.people import Person
from personafit.store import Item, Judgment, Product

NEEDED = ("question", "chosen", "rejected", "person")
LONGEST_CELL = 8 << 20  # characters: a cell beyond that is a quote that was never closed
OPTIONAL = ("id", "tier", "language")


class ImportedPairs:
    """Pairs from a CSV file as a benchmark."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows = list(_read_csv(path))
        self.info = BenchmarkInfo(
            name=as_name(path.stem),
            version="1",
            title=f"Pairs imported from {path.name}",
            description=f"Imported from {path.name}; whoever chose there is the gold, called 'author'.",
            layout=[["tier"]] if any(row.get("tier") for _, row in self._rows) else [],
        )
        if not self._rows:
            raise UserError(f"{path} holds no pairs: there is nothing below its first line.")
        self._check_ids()
        self._people = self._read_people()

    def people(self) -> Iterator[Person]:
        """Everyone in the file."""
        yield from self._people.values()

    def products(self) -> Iterator[Product]:
        """Both answers of every line."""
        for _, row in self._rows:
            yield from _options(row)

    def items(self) -> Iterator[Item]:
        """One item a line."""
        for number, row in self._rows:
            slices = {
                name: value
                for name, value in row.items()
                if value and name not in NEEDED + OPTIONAL and not name.startswith("person.")
            }
            yield Item(
                id=self._item_id(number, row),
                person=_person_id(row),
                prompt=row["question"],
                products=[product.id for product in _options(row)],
                slices=slices,
            )

    def gold(self) -> Iterator[Judgment]:
        """The chosen answer of every line."""
        for number, row in self._rows:
            options = [product.text for product in _options(row)]
            extra = {"tier": row["tier"]} if row.get("tier") else None
            label = str(options.index(row["chosen"]))
            yield Judgment(item=self._item_id(number, row), rater="author", label=label, extra=extra)

    def published(self) -> list[Published]:
        """Nothing is published on your own pairs."""
        return []

    def notes(self) -> list[str]:
        """Where the pairs come from."""
        same = [number for number, row in self._rows if row["chosen"] == row["rejected"]]
        if not same:
            return [self.info.description]
        lines = (
            f"{len(same)} lines have one text as both answers and can only tie, the first at line {same[0]}."
        )
        return [self.info.description, f"{self._path.name}: {lines}"]

    def _item_id(self, number: int, row: dict[str, str]) -> str:
        return f"{self.info.name}/{row.get('id') or number}"

    def _check_ids(self) -> None:
        seen: set[str] = set()
        for number, row in self._rows:
            item = self._item_id(number, row)
            if item in seen:
                place = located(self._path, number, "id")
                raise UserError(f"{place}: '{row.get('id') or number}' occurs twice; ids must be unique.")
            seen.add(item)

    def _read_people(self) -> dict[str, Person]:
        people: dict[str, Person] = {}
        for number, row in self._rows:
            facets: dict[str, str | int | float | bool | list[str]] = {
                name.removeprefix("person."): value
                for name, value in row.items()
                if name.startswith("person.") and value
            }
            person = Person(
                id=_person_id(row),
                language=row.get("language") or _language(row["question"]),
                facets=facets if _has_fields(row) else {"About": row["person"]},
            )
            earlier = people.setdefault(person.id, person)
            if earlier.facets != person.facets:
                raise UserError(
                    f"{located(self._path, number, 'person')}: '{person.id}' was described differently before; "
                    "give a person the same fields on every line."
                )
        return people


def _read_csv(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    number = 1
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            csv.field_size_limit(LONGEST_CELL)
            reader = csv.DictReader(line.replace("\x00", "\ufffd") for line in file)  # no database takes NUL
            for name in NEEDED:
                if name not in (reader.fieldnames or []):
                    raise UserError(
                        f"{located(path, 1, name)}: this column is missing; needed are {', '.join(NEEDED)}."
                    )
            names = list(reader.fieldnames or [])
            if twice := next((name for name in names if name and names.count(name) > 1), None):
                raise UserError(f"{located(path, 1, twice)}: this column is there twice; keep one of them.")
            for row in reader:
                number = reader.line_num
                if None in row or None in row.values():
                    raise UserError(
                        f"{located(path, number)} has another number of cells than the first line."
                    )
                for name in NEEDED:
                    if not row[name].strip():
                        raise UserError(f"{located(path, number, name)} is empty.")
                yield number, row
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}).") from error
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path} is not UTF-8 (byte {error.start} cannot be read); save it as UTF-8."
        ) from error
    except csv.Error as error:
        raise UserError(f"{located(path, number + 1)} is not CSV: {error}.") from error


def _has_fields(row: dict[str, str]) -> bool:
    """Whether the file has columns that describe people: then `person` is an id, also on a line that leaves them empty."""
    return any(name.startswith("person.") for name in row)


def _person_id(row: dict[str, str]) -> str:
    """The id as given; a person described in words is known by a hash of the words."""
    return row["person"].strip() if _has_fields(row) else hash_text(row["person"].strip())[:12]


def _options(row: dict[str, str]) -> list[Product]:
    pair = [Product(kind="answer", text=row[name]) for name in ("chosen", "rejected")]
    return sorted(pair, key=lambda product: product.id)


def _language(text: str) -> str:
    return "zh" if any("一" <= character <= "鿿" for character in text) else "en"
