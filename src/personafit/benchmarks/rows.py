"""Rows in memory or in a file as a benchmark: pairs with a chosen answer, or a system's own answers.

A person is an object with whatever is known of them (and an `id`, if they have one), an id beside `person.FIELD` columns, an
id of somebody known, or a text about them.
"""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from personafit._errors import UserError, json_kind, located
from personafit._hashing import content_hash
from personafit.benchmarks.answers import AnswerRow, Answers
from personafit.benchmarks.benchmark import Benchmark
from personafit.benchmarks.lines import read_lines, validated
from personafit.benchmarks.pairs import ChosenPairs, ImportedPairs, PairRow, described_person, read_csv
from personafit.benchmarks.row_checks import RowChecks, inline_person
from personafit.people import Person
from personafit.people.prompts import prompt_text

PAIRS = ("person", "question", "chosen", "rejected")
ANSWERS = ("person", "question", "answer")
_PAIRS_ALSO = ("id", "tier", "language")
_TEXTS = ("answer", "generic", "wrong")  # an empty one is an answer that was not made
_ANSWERS_ALSO = ("id", "generic", "wrong", "expect", "system", "given", "seconds", "cost", "language")
NEAR = 0.75  # how alike an unknown field is to one we know, for it to look like a slip

Row = Mapping[str, Any]
Numbered = Sequence[tuple[int, Row]]


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
        cells = read_csv(path, ANSWERS[:2], checks)
        rows: Numbered = [
            (number, {name: value or None for name, value in row.items()}) for number, row in cells
        ]
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


def _pair(number: int, row: Row, known: Mapping[str, Person], checks: RowChecks) -> PairRow | None:
    before = len(checks.faults)
    question = _question(row, number, checks)
    chosen, rejected = (_text(row, name, number, checks) for name in PAIRS[2:])
    person = _person(row, question, known, number, checks)
    if person is None or len(checks.faults) > before:
        return None
    return PairRow(
        number=number,
        id=str(_value(row, "id") or number),
        person=person,
        question=question,
        chosen=chosen,
        rejected=rejected,
        tier=str(_value(row, "tier") or ""),
        slices={
            name: str(value)
            for name, value in row.items()
            if _value(row, name) is not None
            and name not in PAIRS + _PAIRS_ALSO
            and not name.startswith("person.")
        },
    )


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
    said = [f"{name} (did you mean {near[name][0]}?)" if near[name] else name for name in unknown]
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
    described = {
        name: str(value)
        for name, value in row.items()
        if name == "language" or name.startswith("person.")
        if _value(row, name) is not None
    }
    blank = {name: "" for name in row if name.startswith("person.") and name not in described}
    return described_person({**described, **blank, "person": str(told)}, question)


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
