"""Rows in memory or in a file as a benchmark: pairs with a chosen answer, or a system's own answers.

A person is an object with known facts (and an `id`, if any), an id beside `person.FIELD` columns, an id of a known person, or a
description. All faults of a file are reported at once, and repeated rows are counted the same everywhere. In pairs `id`, `tier` and
`language` are optional, and every other column becomes a slice.
"""

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from difflib import get_close_matches
from numbers import Integral
from pathlib import Path
from typing import Any

from personafit._errors import UserError, json_kind, located, refuse_faults
from personafit._hashing import content_hash, hash_text
from personafit._names import as_name
from personafit.benchmarks.answers import TAKEN, AnswerRow, Answers, slice_name
from personafit.benchmarks.benchmark import Benchmark, BenchmarkInfo, Published
from personafit.benchmarks.choices import ChoiceBenchmark, MultipleChoice
from personafit.benchmarks.lines import noted, read_csv, read_lines, read_parquet, validated
from personafit.people import FacetValue, Person, flatten
from personafit.people.prompts import prompt_text

PAIRS = ("person", "question", "chosen", "rejected")
ANSWERS = ("person", "question", "answer")
_PAIRS_FIELDS = (*PAIRS, "id", "tier", "language")
_TEXTS = ("answer", "generic", "wrong")  # empty means that the answer was not made
_ANSWERS_ALSO = (
    "id",
    "generic",
    "wrong",
    "expect",
    "system",
    "system_context",
    "given",
    "seconds",
    "cost",
    "language",
)
NEAR = 0.75  # similarity from which an unknown field looks like a typo of a known one
IN_MEMORY = Path("rows")  # stands for the file if rows are in memory

Row = Mapping[str, Any]
Numbered = Sequence[tuple[int, Row]]
NumberedPair = tuple[int, Person, MultipleChoice]
"""The number of a row, its person and its pair."""


class RowChecks:
    """Collects the faults of one file: ids are unique, a person is described consistently, repeated rows are read once."""

    def __init__(self, place: Path, known: Mapping[str, Person] | None = None) -> None:
        """Set the file named in faults, and the `known` people that may be named by id."""
        self.place = place
        self.known = known or {}
        self.people = dict(self.known)
        self.faults: list[str] = []
        self._described: dict[str, int] = {}
        self._ids: dict[str, int] = {}
        self._contents: set[Hashable] = set()
        self._repeated: list[int] = []

    def add(self, number: int, field: str | None, what: str) -> None:
        """Record a fault; `what` follows the place, as "is empty." or ": nobody is called 'x'." would."""
        space = "" if what.startswith(":") else " "
        self.faults.append(f"{located(self.place, number, field)}{space}{what}")

    def noted(self) -> AbstractContextManager[None]:
        """Collect faults raised within the block instead of stopping at the first."""
        return noted(self.faults)

    def is_new(self, number: int, id: str, content: Hashable) -> bool:
        """Return whether a row is new; a repeated row is counted and should be skipped."""
        if content in self._contents:
            self._repeated.append(number)
            return False
        self._contents.add(content)
        if (first := self._ids.setdefault(id, number)) != number:
            self.add(number, "id", f": '{id}' occurs twice, first on line {first}; ids must be unique.")
        return True

    def meet(self, number: int, person: Person) -> None:
        """Add a person; a description that differs from an earlier one is a fault that names the difference."""
        before, now = self.people.setdefault(person.id, person).facets, person.facets
        differs = next((path for path in {**before, **now} if before.get(path) != now.get(path)), None)
        if differs is None:
            self._described.setdefault(person.id, number)
            return
        first = self._described.get(person.id)
        where = "before" if first is None else f"before, on line {first}"
        self.add(
            number,
            "person",
            f": '{person.id}' was described differently {where} ('{differs}'); give a person the same profile on every line.",
        )

    def notes(self) -> list[str]:
        if not self._repeated:
            return []
        count, first = len(self._repeated), self._repeated[0]
        said = "1 row repeats an earlier one" if count == 1 else f"{count:,} rows repeat an earlier one"
        are = "is" if count == 1 else "are"
        return [f"{said} word for word and {are} read once, the first on line {first}."]

    def refuse(self) -> None:
        refuse_faults(sorted(self.faults, key=_line), self.place)


def _line(fault: str) -> int:
    found = re.search(r", line (\d+)", fault)
    return int(found[1]) if found else 0


def inline_person(profile: Mapping[str, Any], place: Path, number: int) -> Person:
    """Return a person described within a row."""
    person_id = profile.get("id")
    if not isinstance(person_id, str) or not person_id:
        raise UserError(f"{located(place, number, 'person.id')} is missing; an inline person needs an id.")
    facets = profile.get("facets")
    if not isinstance(facets, dict):
        facets = flatten({key: value for key, value in profile.items() if key not in ("id", "language")})
    record = {"id": person_id, "language": profile.get("language", "und"), "facets": facets}
    return validated(Person, record, place, number)


# -- benchmarks of rows -------------------------------------------------------------------------------------------------


class ChosenPairs(ChoiceBenchmark):
    """Rows of pairs as a benchmark of choices, with the chosen answer as gold."""

    def __init__(self, rows: Numbered, name: str, source: str, checks: RowChecks) -> None:
        """Read the pairs; `source` appears in the title, and `checks` raises for all faults found so far."""
        read = [one for number, row in rows if (one := _pair(number, row, checks)) is not None]
        self._pairs: list[MultipleChoice] = []
        for number, person, pair in read:
            if pair.right.strip() == pair.wrong[0].strip() != "":
                checks.add(number, "rejected", "is the same text as 'chosen': nothing can be preferred.")
            checks.meet(number, person)
            content = (pair.person, pair.prompt, pair.right, pair.wrong[0], pair.tier, *pair.slices.items())
            if checks.is_new(number, pair.id, content):
                self._pairs.append(replace(pair, id=f"{name}/{pair.id}"))
        checks.refuse()
        self._people = {person.id: checks.people[person.id] for _, person, _ in read}
        self.info = BenchmarkInfo(
            name=name,
            version="1",
            title=f"Pairs imported from {source}",
            description=f"Imported from {source}; whoever chose there is the gold, called 'author'.",
            layout=[["tier"]] if any(pair.tier for _, _, pair in read) else [],
        )
        self._notes = checks.notes()

    def people(self) -> Iterator[Person]:
        yield from self._people.values()

    def read(self) -> list[MultipleChoice]:
        return self._pairs

    def published(self) -> list[Published]:
        return []  # whatever the file is called

    def remarks(self) -> list[str]:
        return [self.info.description, *self._notes]


class ImportedPairs(ChosenPairs):
    """Pairs from a .csv, .jsonl or .parquet file as a benchmark."""

    def __init__(self, path: Path) -> None:
        checks = RowChecks(path)
        rows = _rows_of(path, PAIRS, checks)
        if not rows and not checks.faults:
            raise UserError(f"{path} holds no rows.")
        super().__init__(rows, as_name(path.stem), path.name, checks)


def rows_benchmark(
    rows: Iterable[Row], known: Mapping[str, Person] | None = None, seed: int = 0, name: str = "pairs"
) -> Benchmark:
    """Return a benchmark from rows in memory; `known` people may be named by id.

    The same rows give the same data set. `name` is the name of a benchmark of pairs.
    """
    source = "rows" if name == "pairs" else name
    return _benchmark(list(enumerate(rows, 1)), RowChecks(IN_MEMORY, known), seed, name, source)


def file_benchmark(path: Path, known: Mapping[str, Person] | None = None, seed: int = 0) -> Benchmark:
    """Return a benchmark from the rows of a .jsonl, .csv or .parquet file; all faults are raised as one error."""
    checks = RowChecks(path, known)
    rows = _rows_of(path, ANSWERS[:2], checks)
    name, source = (as_name(path.stem), path.name) if path.suffix == ".csv" else (path.stem, path.stem)
    return _benchmark(rows, checks, seed, name, source)


def _rows_of(path: Path, columns: Sequence[str], checks: RowChecks) -> Numbered:
    """Return the rows of a file with their numbers; `columns` are those that a table of text must have."""
    if path.suffix == ".parquet":
        return list(read_parquet(path))
    if path.suffix == ".jsonl":
        return list(read_lines(path, checks.faults.append))
    return list(read_csv(path, columns, checks.faults.append))


def _benchmark(rows: Numbered, checks: RowChecks, seed: int, name: str, source: str) -> Benchmark:
    in_memory = checks.place == IN_MEMORY
    if not rows:
        checks.refuse()
        raise UserError("There are no rows to judge." if in_memory else f"{checks.place} holds no rows.")
    columns = list(dict.fromkeys(column for _, row in rows for column in row))
    pairs = bool({"chosen", "rejected"} & set(columns))
    if missing := [column for column in (PAIRS if pairs else ANSWERS) if column not in columns]:
        place = "The rows" if in_memory else f"The lines of {checks.place}"
        checks.faults.append(
            f"{place} lack {', '.join(map(repr, missing))}; pairs need {', '.join(PAIRS)}; answers need "
            f"{', '.join(ANSWERS)}, and generic or wrong to be compared with."
        )
        checks.refuse()
    _refuse_bare_ids(rows, checks)
    return ChosenPairs(rows, name, source, checks) if pairs else _answers(rows, columns, seed, checks)


def _pair(number: int, row: Row, checks: RowChecks) -> NumberedPair | None:
    before = len(checks.faults)
    question = _question(row, number, checks)
    chosen, rejected = (_text(row, name, number, checks) for name in PAIRS[2:])
    person = _person(row, question, number, checks)
    if person is None or len(checks.faults) > before:
        return None
    filled = _filled(row).items()
    slices = {slice_name(name, TAKEN): str(value) for name, value in filled if name not in _PAIRS_FIELDS}
    tier, key = str(_value(row, "tier") or ""), str(_value(row, "id") or number)
    return number, person, MultipleChoice(key, person.id, question, chosen, (rejected,), slices, tier)


def _answers(rows: Numbered, columns: Sequence[str], seed: int, checks: RowChecks) -> Answers:
    read: list[AnswerRow] = []
    for number, row in rows:
        one = _answer(number, row, checks)
        if one is not None and checks.is_new(number, str(one.id), one.model_dump_json(exclude={"id"})):
            read.append(one)
    checks.refuse()
    fields = _metadata_notes(columns)
    made = Answers(read, checks.people, seed, [*checks.notes(), *fields])
    if next(made.items(), None) is None:
        what = "No" if checks.place == IN_MEMORY else f"{checks.place}: no"
        raise UserError(
            f"{what} answer has one to be compared with; give 'generic' (the answer without the person) or 'wrong' "
            f"(the answer for somebody else), or answers of several people to the same question. {' '.join(fields)}".strip()
        )
    return made


def _answer(number: int, row: Row, checks: RowChecks) -> AnswerRow | None:
    before = len(checks.faults)
    question = _question(row, number, checks)
    person = _person(row, question, number, checks)
    if "answer" not in row:
        checks.add(number, "answer", "is missing; write null where the system made no answer.")
    if person is not None:
        checks.meet(number, person)
    said = {name: value for name, value in _filled(row).items() if name not in ("person", "language")}
    for name in _TEXTS:
        if isinstance(text := said.get(name), str):
            said[name] = text.replace("\x00", "\ufffd") if text.strip() else ""
    record = {"answer": None, **said, "question": question or "?", "id": str(said.get("id") or number)}
    record["person"] = "" if person is None else person.id
    made: AnswerRow | None = None
    with checks.noted():
        made = validated(AnswerRow, record, checks.place, number)
    return made if len(checks.faults) == before else None


def _metadata_notes(columns: Sequence[str]) -> list[str]:
    """Return a note on the fields kept as metadata, and which of them look like typos."""
    used = {*ANSWERS, *_ANSWERS_ALSO}
    unknown = [name for name in columns if name not in used and not name.startswith("person.")]
    known = [name for name in used if name not in columns]
    said = []
    for name in unknown:
        kept = name if slice_name(name) == name else f"{name} (as {slice_name(name)})"
        near = get_close_matches(name, known, 1, NEAR)
        said.append(f"{kept} (did you mean {near[0]}?)" if near else kept)
    return [f"Fields kept as metadata: {', '.join(said)}."] if said else []


# -- cells --------------------------------------------------------------------------------------------------------------


def _person(row: Row, question: str, number: int, checks: RowChecks) -> Person | None:
    told = _value(row, "person")
    if isinstance(told, Person):
        return told
    if isinstance(told, Mapping):
        profile = {str(name): value for name, value in told.items() if value is not None}
        if profile and "id" not in profile:
            profile["id"] = content_hash(profile)[:12]
        profile["id"] = str(profile.get("id", ""))
        person: Person | None = None
        with checks.noted():
            person = inline_person(profile, checks.place, number)
        return person
    if told is None or (isinstance(told, str) and not told.strip()):
        checks.add(number, "person", "is empty.")
        return None
    if not isinstance(told, str | Integral):  # NumPy's whole numbers too
        checks.add(number, "person", f"must be a text or an object, not {json_kind(told)}.")
        return None
    words = str(told)
    if words in checks.known:
        return checks.known[words]
    fields = [name for name in row if name.startswith("person.")]
    facets: dict[str, FacetValue] = {
        name.removeprefix("person."): str(row[name]) for name in fields if _value(row, name) is not None
    }
    # With such columns `person` is an id, even on a row that leaves them empty; a description is identified by its hash.
    return Person(
        id=words.strip() if fields else hash_text(words.strip())[:12],
        language=str(_value(row, "language") or ("zh" if re.search("[一-鿿]", question) else "en")),
        facets=facets if fields else {"About": words},
    )


def _refuse_bare_ids(rows: Numbered, checks: RowChecks) -> None:
    """Report ids of unknown people, which would be shown to judges as if they were descriptions."""
    if any(column.startswith("person.") for _, row in rows for column in row):
        return
    told = [(number, _value(row, "person")) for number, row in rows]
    texts = [
        (number, str(one))
        for number, one in told
        if isinstance(one, str | int) and str(one).strip() and str(one) not in checks.known
    ]
    if not all(text.isascii() and len(text.split()) == 1 for _, text in texts):
        return
    for number, text in texts:
        checks.add(
            number,
            "person",
            f": nothing is known about '{text}'; say who it is in words or as an object, add fields such as 'person.job', or "
            "give the folder with people.jsonl that has this id (--data).",
        )


def _question(row: Row, number: int, checks: RowChecks) -> str:
    """Return the person's question: a text, or messages of several turns as one text."""
    asked = row.get("question")
    if not isinstance(asked, list):
        return _text(row, "question", number, checks)
    said = ""
    with checks.noted():
        said = prompt_text(asked, located(checks.place, number, "question"))
    return said.replace("\x00", "\ufffd")


def _text(row: Row, name: str, number: int, checks: RowChecks) -> str:
    """Return a required text; "" if it is missing, which is recorded as a fault."""
    value = _value(row, name)
    if value is None or (isinstance(value, str) and not value.strip()):
        checks.add(number, name, "is empty." if name in row else "is missing.")
        return ""
    if not isinstance(value, str):
        checks.add(number, name, f"must be a text, not {json_kind(value)}.")
        return ""
    return value.replace("\x00", "\ufffd")  # databases cannot store NUL


def _filled(row: Row) -> dict[str, Any]:
    """Return the non-empty cells of a row, without those that describe the person."""
    values = {name: _value(row, name) for name in row if not name.startswith("person.")}
    return {name: value for name, value in values.items() if value is not None}


def _value(row: Row, name: str) -> Any:
    """Return a cell; None if it is empty, which pandas represents as NaN."""
    value = row.get(name)
    return None if value is None or (isinstance(value, float) and value != value) else value
