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
from personafit.benchmarks.benchmark import Benchmark, BenchmarkInfo
from personafit.benchmarks.row_checks import RowChecks
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
    def content(self) -> tuple[str, ...]:
        """What makes it another pair than the rest: everything but its id."""
        told = (self.person.id, self.question, self.chosen, self.rejected, self.tier)
        return (*told, *(part for pair in self.slices.items() for part in pair))

    @property
    def options(self) -> list[Product]:
        """Both answers, in an order that tells nothing."""
        pair = [Product(kind="answer", text=text) for text in (self.chosen, self.rejected)]
        return sorted(pair, key=lambda product: product.id)


class ChosenPairs(Benchmark):
    """Rows of pairs as a benchmark."""

    def __init__(self, rows: Sequence[PairRow], name: str, source: str, checks: RowChecks) -> None:
        """`source` is said in the title; `checks` hold what is wrong with the rows so far, and raise for all of it."""
        for row in rows:
            if row.chosen.strip() == row.rejected.strip() != "":
                checks.add(row.number, "rejected", "is the same text as 'chosen': nothing can be preferred.")
            checks.meet(row.number, row.person)
        self._rows = [row for row in rows if checks.is_new(row.number, row.id, row.content)]
        checks.refuse()
        self._people = {row.person.id: checks.people[row.person.id] for row in rows}
        self.info = BenchmarkInfo(
            name=name,
            version="1",
            title=f"Pairs imported from {source}",
            description=f"Imported from {source}; whoever chose there is the gold, called 'author'.",
            layout=[["tier"]] if any(row.tier for row in rows) else [],
        )
        self._notes = [self.info.description, *checks.notes()]

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

    def notes(self) -> list[str]:
        """Where the pairs come from, and how many rows repeat another."""
        return self._notes

    def _item_id(self, row: PairRow) -> str:
        return f"{self.info.name}/{row.id}"


class ImportedPairs(ChosenPairs):
    """Pairs from a CSV file as a benchmark."""

    def __init__(self, path: Path) -> None:
        checks = RowChecks(path)
        rows = [_pair_row(number, row) for number, row in read_csv(path, NEEDED, checks)]
        if not rows and not checks.faults:
            raise UserError(f"{path} holds no pairs: there is nothing below its first line.")
        super().__init__(rows, as_name(path.stem), path.name, checks)


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


def read_csv(path: Path, needed: Sequence[str], checks: RowChecks) -> Iterator[tuple[int, dict[str, str]]]:
    """Each row of a CSV file with the number of its line; what is needed and empty is a fault, and the row is left out."""
    number = 1
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            csv.field_size_limit(LONGEST_CELL)
            reader = csv.DictReader(line.replace("\x00", "\ufffd") for line in file)  # no database takes NUL
            names = list(reader.fieldnames or [])
            if missing := [name for name in needed if name not in names]:
                raise UserError(
                    f"{located(path, 1, missing[0])}: this column is missing; needed are {', '.join(needed)}."
                )
            if twice := next((name for name in names if name and names.count(name) > 1), None):
                raise UserError(f"{located(path, 1, twice)}: this column is there twice; keep one of them.")
            for row in reader:
                number = reader.line_num
                if None in row or None in row.values():
                    checks.add(number, None, "has another number of cells than the first line.")
                    continue
                empty = [name for name in needed if not row[name].strip()]
                for name in empty:
                    checks.add(number, name, "is empty.")
                if not empty:
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
