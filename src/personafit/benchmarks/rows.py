"""Rows in memory or in a file as a benchmark: pairs with a chosen answer, or a system's own answers.

A person is an object with whatever is known of them (and an `id`, if they have one), an id beside `person.FIELD` columns, an
id of somebody known, or a text about them. All faults of a file are said at once, and repeated rows are counted the same everywhere.
Of pairs `id`, `tier` and `language` are optional, and every other column becomes a slice.
"""

import csv
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from personafit._errors import UserError, json_kind, located, refuse_faults
from personafit._hashing import content_hash, hash_text
from personafit._names import as_name
from personafit.benchmarks.answers import AnswerRow, Answers, slice_name
from personafit.benchmarks.benchmark import Benchmark, BenchmarkInfo
from personafit.benchmarks.choices import ChoiceBenchmark, MultipleChoice
from personafit.benchmarks.lines import read_lines, validated
from personafit.people import FacetValue, Person, flatten
from personafit.people.prompts import prompt_text

PAIRS = ("person", "question", "chosen", "rejected")
ANSWERS = ("person", "question", "answer")
_PAIRS_ALSO = ("id", "tier", "language")
_TEXTS = ("answer", "generic", "wrong")  # an empty one is an answer that was not made
_ANSWERS_ALSO = ("id", "generic", "wrong", "expect", "system", "given", "seconds", "cost", "language")
NEAR = 0.75  # how alike an unknown field is to one we know, for it to look like a slip
LONGEST_CELL = 8 << 20  # characters: a cell beyond that is a quote that was never closed
LONGEST_QUOTE = 60  # characters of a value that a sentence quotes

Row = Mapping[str, Any]
Numbered = Sequence[tuple[int, Row]]
NumberedPair = tuple[int, Person, MultipleChoice]
"""The number of a row, whom it is about, and its pair."""


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


class ChosenPairs(ChoiceBenchmark):
    """Rows of pairs as a benchmark: each a choice of which the chosen answer is the right one."""

    def __init__(self, pairs: Sequence[NumberedPair], name: str, source: str, checks: RowChecks) -> None:
        """`source` is said in the title; `checks` hold what is wrong with the rows so far, and raise for all of it."""
        self._pairs = []
        for number, person, pair in pairs:
            if pair.right.strip() == pair.wrong[0].strip() != "":
                checks.add(number, "rejected", "is the same text as 'chosen': nothing can be preferred.")
            checks.meet(number, person)
            content = (pair.person, pair.prompt, pair.right, pair.wrong[0], pair.tier, *pair.slices.items())
            if checks.is_new(number, pair.id, content):
                self._pairs.append(replace(pair, id=f"{name}/{pair.id}"))
        checks.refuse()
        self._people = {person.id: checks.people[person.id] for _, person, _ in pairs}
        self.info = BenchmarkInfo(
            name=name,
            version="1",
            title=f"Pairs imported from {source}",
            description=f"Imported from {source}; whoever chose there is the gold, called 'author'.",
            layout=[["tier"]] if any(pair.tier for _, _, pair in pairs) else [],
        )
        self._notes = checks.notes()

    def people(self) -> Iterator[Person]:
        """Everyone in the rows."""
        yield from self._people.values()

    def read(self) -> list[MultipleChoice]:
        """One choice a row."""
        return self._pairs

    def remarks(self) -> list[str]:
        """Where the pairs come from, and how many rows repeat another."""
        return [self.info.description, *self._notes]


class ImportedPairs(ChosenPairs):
    """Pairs from a CSV file as a benchmark."""

    def __init__(self, path: Path) -> None:
        checks = RowChecks(path)
        cells = read_csv(path, ("question", "chosen", "rejected", "person"), checks)
        read = [pair for number, row in cells if (pair := _pair(number, row, {}, checks)) is not None]
        if not read and not checks.faults:
            raise UserError(f"{path} holds no pairs: there is nothing below its first line.")
        super().__init__(read, as_name(path.stem), path.name, checks)


def is_pairs(columns: Iterable[str], place: str = "The rows") -> bool:
    """Whether rows with these columns are pairs; raises where they are neither pairs nor answers."""
    present = set(columns)
    if not present & {"chosen", "rejected", "answer"}:
        raise UserError(
            f"{place}: no column 'chosen', 'rejected' or 'answer'; pairs need {', '.join(PAIRS)}; answers need "
            f"{', '.join(ANSWERS)}, and generic or wrong to be compared with."
        )
    pairs = "chosen" in present or "rejected" in present
    needed = PAIRS if pairs else ANSWERS
    if missing := [name for name in needed if name not in present]:
        said = "the column" if len(missing) == 1 else "the columns"
        near = [one for name in missing for one in get_close_matches(name, present, 1, NEAR)]
        raise UserError(
            f"{place} lack {said} {' and '.join(f'{name!r}' for name in missing)}; "
            f"{'pairs' if pairs else 'answers'} need {', '.join(needed)}"
            + (f", and {' and '.join(repr(one) for one in near)} may be misspelt." if near else ".")
        )
    return pairs


def rows_benchmark(
    rows: Iterable[Row], known: Mapping[str, Person] | None = None, seed: int = 0, name: str = "pairs"
) -> Benchmark:
    """The benchmark that rows in memory make up; `known` people may be named by id. The same rows give the same data set.

    `name` is what a benchmark of pairs is called.
    """
    return _benchmark(list(enumerate(rows, 1)), RowChecks(Path("rows"), known), known or {}, seed, name)


def file_benchmark(path: Path, known: Mapping[str, Person] | None = None, seed: int = 0) -> Benchmark:
    """The benchmark that the rows of a .jsonl, .csv or .parquet file make up; all faults of the file are one error."""
    if not path.exists():
        beside = [one.name for one in path.parent.glob(f"*{path.suffix}")] if path.parent.is_dir() else []
        near = get_close_matches(path.name, beside, 1)
        raise UserError(
            f"{path} cannot be read (No such file or directory); "
            + (f"did you mean {path.with_name(near[0])}?" if near else "check the path.")
        )
    checks = RowChecks(path, known)
    if path.suffix == ".csv":
        if _csv_of_pairs(path):
            return ImportedPairs(path)
        rows: Numbered = list(read_csv(path, ANSWERS[:2], checks))
    elif path.suffix == ".parquet":
        rows = list(enumerate(_read_parquet(path), 1))
    else:
        rows = list(read_lines(path, checks.faults.append))
    return _benchmark(rows, checks, known or {}, seed, path.stem)


def _benchmark(
    rows: Numbered, checks: RowChecks, known: Mapping[str, Person], seed: int, name: str
) -> Benchmark:
    in_memory = checks.place == Path("rows")
    if not rows:
        checks.refuse()
        raise UserError("There are no rows to judge." if in_memory else f"{checks.place} holds no answers.")
    columns = list(dict.fromkeys(column for _, row in rows for column in row))
    pairs = False
    with checks.noted():
        pairs = is_pairs(columns, "The rows" if in_memory else f"The lines of {checks.place}")
    if len(checks.faults) and not set(columns) >= set(PAIRS if pairs else ANSWERS):
        checks.refuse()
    _refuse_bare_ids(rows, known, checks)
    if not pairs:
        return _answers(rows, columns, known, seed, checks)
    read = [pair for number, row in rows if (pair := _pair(number, row, known, checks)) is not None]
    return ChosenPairs(read, name, "rows" if name == "pairs" else name, checks)


def _pair(number: int, row: Row, known: Mapping[str, Person], checks: RowChecks) -> NumberedPair | None:
    before = len(checks.faults)
    question = _question(row, number, checks)
    chosen, rejected = (_text(row, name, number, checks) for name in PAIRS[2:])
    person = _person(row, question, known, number, checks)
    if person is None or len(checks.faults) > before:
        return None
    slices = {
        name: str(value)
        for name, value in row.items()
        if _value(row, name) is not None
        and name not in PAIRS + _PAIRS_ALSO
        and not name.startswith("person.")
    }
    tier = str(_value(row, "tier") or "")
    own = str(_value(row, "id") or number)
    return number, person, MultipleChoice(own, person.id, question, chosen, (rejected,), slices, tier)


def _answers(
    rows: Numbered, columns: Sequence[str], known: Mapping[str, Person], seed: int, checks: RowChecks
) -> Answers:
    read: list[AnswerRow] = []
    for number, row in rows:
        one = _answer(number, row, known, checks)
        if one is not None and checks.is_new(number, str(one.id), one.model_dump_json(exclude={"id"})):
            read.append(one)
    checks.refuse()
    made = Answers(read, checks.people, seed, [*checks.notes(), *_metadata_notes(columns)])
    if next(made.items(), None) is None:
        what = "No" if checks.place == Path("rows") else f"{checks.place}: no"
        raise UserError(
            f"{what} answer has one to be compared with; give 'generic' (the answer without the person) or 'wrong' "
            "(the answer for somebody else), or answers of several people to the same question."
            + "".join(f" {note}" for note in _metadata_notes(columns) if "mean" in note)
        )
    return made


def _answer(number: int, row: Row, known: Mapping[str, Person], checks: RowChecks) -> AnswerRow | None:
    before = len(checks.faults)
    question = _question(row, number, checks)
    person = _person(row, question, known, number, checks)
    if "answer" not in row:
        checks.add(number, "answer", "is missing; write null where the system made no answer.")
    if person is not None:
        checks.meet(number, person)
    said = {
        name: _value(row, name)
        for name in row
        if name not in ("person", "language") and not name.startswith("person.")
    }
    said = {name: value for name, value in said.items() if value is not None}
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
    """Which fields are kept as metadata, and which of them look like a slip."""
    used = {*ANSWERS, *_ANSWERS_ALSO}
    unknown = [name for name in columns if name not in used and not name.startswith("person.")]
    if not unknown:
        return []
    known = [name for name in used if name not in columns]
    near = {name: get_close_matches(name, known, 1, NEAR) for name in unknown}
    kept = {name: name if slice_name(name) == name else f"{name} (as {slice_name(name)})" for name in unknown}
    said = [f"{kept[name]} (did you mean {near[name][0]}?)" if near[name] else kept[name] for name in unknown]
    return [f"Fields kept as metadata: {', '.join(said)}."]


def _person(
    row: Row, question: str, known: Mapping[str, Person], number: int, checks: RowChecks
) -> Person | None:
    told = _value(row, "person")
    if isinstance(told, Mapping):
        profile = {str(name): value for name, value in told.items() if value is not None}
        if "id" not in profile and profile:
            profile["id"] = content_hash(profile)[:12]
        profile["id"] = str(profile.get("id", ""))
        person: Person | None = None
        with checks.noted():
            person = inline_person(profile, checks.place, number)
        return person
    if isinstance(told, Person):
        return told
    if told is None or (isinstance(told, str) and not told.strip()):
        checks.add(number, "person", "is empty.")
        return None
    if not isinstance(told, str | int):
        checks.add(number, "person", f"must be a text or an object, not {json_kind(told)}.")
        return None
    if str(told) in known:
        return known[str(told)]
    fields = [name for name in row if name.startswith("person.")]
    facets: dict[str, FacetValue] = {
        name.removeprefix("person."): str(row[name]) for name in fields if _value(row, name) is not None
    }
    # With such columns `person` is an id, also on a row that leaves them empty; somebody described in words is known by a hash.
    words = str(told)
    return Person(
        id=words.strip() if fields else hash_text(words.strip())[:12],
        language=str(_value(row, "language") or ("zh" if re.search("[一-鿿]", question) else "en")),
        facets=facets if fields else {"About": words},
    )


def _refuse_bare_ids(rows: Numbered, known: Mapping[str, Person], checks: RowChecks) -> None:
    """Ids of people of whom nothing is known would be shown to judges as if they described somebody."""
    if any(column.startswith("person.") for _, row in rows for column in row):
        return
    told = [(number, _value(row, "person")) for number, row in rows]
    texts = [
        (number, str(one))
        for number, one in told
        if isinstance(one, str | int) and str(one).strip() and str(one) not in known
    ]
    if not all(text.isascii() and len(text.split()) == 1 for _, text in texts):
        return
    for number, text in texts:
        checks.add(
            number,
            "person",
            f": nothing is known of '{text}'; say who it is in words or as an object, add fields such as 'person.job', or "
            "give the folder with people.jsonl that has this id (--data).",
        )


def _question(row: Row, number: int, checks: RowChecks) -> str:
    """What the person asked: a text, or messages of several turns as one."""
    asked = row.get("question")
    if not isinstance(asked, list):
        return _text(row, "question", number, checks)
    said = ""
    with checks.noted():
        said = prompt_text(asked, located(checks.place, number, "question"))
    return said.replace("\x00", "\ufffd")


def _text(row: Row, name: str, number: int, checks: RowChecks) -> str:
    """A text that must be there; "" where it is not, which is noted."""
    value = _value(row, name)
    if value is None or (isinstance(value, str) and not value.strip()):
        checks.add(number, name, "is empty." if name in row else "is missing.")
        return ""
    if not isinstance(value, str):
        checks.add(number, name, f"must be a text, not {json_kind(value)}.")
        return ""
    return value.replace("\x00", "\ufffd")  # no database takes NUL


def _value(row: Row, name: str) -> Any:
    """A cell; None where there is nothing, as pandas says by a number that is not one."""
    value = row.get(name)
    return None if value is None or (isinstance(value, float) and value != value) else value


def read_csv(
    path: Path, needed: Sequence[str], checks: RowChecks
) -> Iterator[tuple[int, dict[str, str | None]]]:
    """Each row of a CSV file with the number of its line, an empty cell as None.

    What is needed and empty is a fault, and the row is left out.
    """
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
                    yield number, {name: value or None for name, value in row.items()}
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}).") from error
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path} is not UTF-8 (byte {error.start} cannot be read); save it as UTF-8."
        ) from error
    except csv.Error as error:
        raise UserError(f"{located(path, number + 1)} is not CSV: {error}.") from error


def _csv_of_pairs(path: Path) -> bool:
    try:
        with path.open(encoding="utf-8-sig") as file:
            return "answer" not in [name.strip(' "\n') for name in file.readline().split(",")]
    except (OSError, UnicodeDecodeError):
        return True  # its reader says what is wrong


def _read_parquet(path: Path) -> list[dict[str, Any]]:
    import polars as pl

    try:
        return pl.read_parquet(path).to_dicts()
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror or error}); check the path.") from error
    except (pl.exceptions.PolarsError, UnicodeDecodeError) as error:
        why = " ".join(str(error).split())[:200].rstrip(".")
        raise UserError(f"{path} cannot be read ({why}).") from error
