"""`data import pairs.csv`: a team's own pairs become a benchmark folder.

Columns: `question`, `chosen`, `rejected`, and either `person` (an id) with any number of `person.FIELD` columns, or
`person` alone with the person in words. Optional: `id`, `tier`, `language`; every other column becomes a slice.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from personafit._errors import UserError, located
from personafit._hashing import hash_text
from personafit._names import as_name
from personafit.benchmarks.benchmark import BenchmarkInfo, Published
from personafit.people import FacetValue, Person
from personafit.store import Item, Judgment, Product

NEEDED = ("question", "chosen", "rejected", "person")
LONGEST_CELL = 8 << 20  # characters: a cell beyond that is a quote that was never closed
OPTIONAL = ("id", "tier", "language")


@dataclass(frozen=True)
class PairRow:
    """One pair: who asked what, and which of two answers was chosen."""

    number: int
    """Of the line or row it was read from."""
    id: str
    person: Person
    question: str
    chosen: str
    rejected: str
    tier: str = ""
    slices: Mapping[str, str] = field(default_factory=dict)

    @property
    def options(self) -> list[Product]:
        """Both answers, in an order that tells nothing."""
        pair = [Product(kind="answer", text=text) for text in (self.chosen, self.rejected)]
        return sorted(pair, key=lambda product: product.id)


class ChosenPairs:
    """Rows of pairs as a benchmark."""

    def __init__(self, rows: Sequence[PairRow], name: str, source: str, place: str | Path) -> None:
        """`source` is said in the title; `place` stands before the number of a row in errors."""
        self._rows = rows
        self._place = place
        self.info = BenchmarkInfo(
            name=name,
            version="1",
            title=f"Pairs imported from {source}",
            description=f"Imported from {source}; whoever chose there is the gold, called 'author'.",
            layout=[["tier"]] if any(row.tier for row in rows) else [],
        )
        self._check_ids()
        self._people = self._read_people()

    def people(self) -> Iterator[Person]:
        """Everyone in the rows."""
        yield from self._people.values()

    def products(self) -> Iterator[Product]:
        """Both answers of every row."""
        for row in self._rows:
            yield from row.options

    def items(self) -> Iterator[Item]:
        """One item a row."""
        for row in self._rows:
            yield Item(
                id=self._item_id(row),
                person=row.person.id,
                prompt=row.question,
                products=[product.id for product in row.options],
                slices=dict(row.slices),
            )

    def gold(self) -> Iterator[Judgment]:
        """The chosen answer of every row."""
        for row in self._rows:
            label = str([product.text for product in row.options].index(row.chosen))
            extra = {"tier": row.tier} if row.tier else None
            yield Judgment(item=self._item_id(row), rater="author", label=label, extra=extra)

    def published(self) -> list[Published]:
        """Nothing is published on your own pairs."""
        return []

    def notes(self) -> list[str]:
        """Where the pairs come from."""
        same = [row.number for row in self._rows if row.chosen == row.rejected]
        if not same:
            return [self.info.description]
        lines = (
            f"{len(same)} lines have one text as both answers and can only tie, the first at line {same[0]}."
        )
        return [self.info.description, f"{Path(self._place).name}: {lines}"]

    def _item_id(self, row: PairRow) -> str:
        return f"{self.info.name}/{row.id}"

    def _check_ids(self) -> None:
        seen: set[str] = set()
        for row in self._rows:
            if row.id in seen:
                place = located(self._place, row.number, "id")
                raise UserError(f"{place}: '{row.id}' occurs twice; ids must be unique.")
            seen.add(row.id)

    def _read_people(self) -> dict[str, Person]:
        people: dict[str, Person] = {}
        for row in self._rows:
            earlier = people.setdefault(row.person.id, row.person)
            if earlier.facets != row.person.facets:
                raise UserError(
                    f"{located(self._place, row.number, 'person')}: '{row.person.id}' was described differently before; "
                    "give a person the same fields on every line."
                )
        return people


class ImportedPairs(ChosenPairs):
    """Pairs from a CSV file as a benchmark."""

    def __init__(self, path: Path) -> None:
        rows = [_pair_row(number, row) for number, row in _read_csv(path)]
        if not rows:
            raise UserError(f"{path} holds no pairs: there is nothing below its first line.")
        super().__init__(rows, as_name(path.stem), path.name, path)


def _pair_row(number: int, row: dict[str, str]) -> PairRow:
    return PairRow(
        number=number,
        id=row.get("id") or str(number),
        person=described_person(row, row["question"]),
        question=row["question"],
        chosen=row["chosen"],
        rejected=row["rejected"],
        tier=row.get("tier") or "",
        slices={
            name: value
            for name, value in row.items()
            if value and name not in NEEDED + OPTIONAL and not name.startswith("person.")
        },
    )


def described_person(row: Mapping[str, str], question: str) -> Person:
    """Who the columns of a row describe: an id with `person.FIELD` columns, or a text about them.

    With such columns `person` is an id, also on a row that leaves them empty; a person described in words is known by a hash of
    the words. The language is that of the question unless `language` says it.
    """
    has_fields = any(name.startswith("person.") for name in row)
    facets: dict[str, FacetValue] = {
        name.removeprefix("person."): value
        for name, value in row.items()
        if name.startswith("person.") and value
    }
    told = row["person"].strip()
    return Person(
        id=told if has_fields else hash_text(told)[:12],
        language=row.get("language") or _language(question),
        facets=facets if has_fields else {"About": row["person"]},
    )


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


def _language(text: str) -> str:
    return "zh" if any("一" <= character <= "鿿" for character in text) else "en"
