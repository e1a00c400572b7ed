"""Rows that are in memory as a benchmark: pairs with a chosen answer, or a system's own answers.

A person is an object with whatever is known of them (and an `id`, if they have one), an id beside `person.FIELD` columns, an
id of somebody known, or a text about them.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from personafit._errors import UserError, located
from personafit._hashing import content_hash
from personafit.benchmarks.answers import AnswerRow, Answers, inline_person
from personafit.benchmarks.benchmark import Benchmark
from personafit.benchmarks.lines import validated
from personafit.benchmarks.pairs import ChosenPairs, PairRow, described_person
from personafit.people import Person

PAIRS = ("person", "question", "chosen", "rejected")
ANSWERS = ("person", "question", "answer")
_PAIRS_ALSO = ("id", "tier", "language")
_ANSWERS_ALSO = ("id", "generic", "wrong", "expect", "system", "given")

Row = Mapping[str, Any]


def is_pairs(columns: Iterable[str]) -> bool:
    """Whether rows with these columns are pairs; raises where they are neither pairs nor answers."""
    present = set(columns)
    if not present & {"chosen", "rejected", "answer"}:
        raise UserError(
            f"The rows have no column 'chosen', 'rejected' or 'answer': pairs need {', '.join(PAIRS)}; answers need "
            f"{', '.join(ANSWERS)}, and generic or wrong to be compared with."
        )
    pairs = "chosen" in present or "rejected" in present
    needed = PAIRS if pairs else ANSWERS
    if missing := [name for name in needed if name not in present]:
        said = "the column" if len(missing) == 1 else "the columns"
        raise UserError(
            f"The rows lack {said} {' and '.join(f'{name!r}' for name in missing)}; "
            f"{'pairs' if pairs else 'answers'} need {', '.join(needed)}."
        )
    return pairs


def rows_benchmark(
    rows: Sequence[Row],
    known: Mapping[str, Person] | None = None,
    seed: int = 0,
    name: str = "pairs",
    place: Path = Path("rows"),
) -> Benchmark:
    """The benchmark that rows make up; `known` people may be named by id. The same rows give the same data set.

    `name` is what a benchmark of pairs is called; `place` stands before the number of a row in errors.
    """
    if not rows:
        raise UserError("There are no rows to judge.")
    columns = list(dict.fromkeys(column for row in rows for column in row))
    pairs = is_pairs(columns)
    _refuse_bare_ids(rows, known or {})
    if pairs:
        read = [_pair(number, row, known or {}, place) for number, row in enumerate(rows, 1)]
        return ChosenPairs(read, name, name if name != "pairs" else "rows", place)
    return _answers(rows, columns, known or {}, seed, place)


def _pair(number: int, row: Row, known: Mapping[str, Person], place: Path) -> PairRow:
    texts = {name: _text(row, name, number, place) for name in PAIRS[1:]}
    return PairRow(
        number=number,
        id=str(_value(row, "id") or number),
        person=_person(row, texts["question"], known, number, place),
        **texts,
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
    rows: Sequence[Row], columns: Sequence[str], known: Mapping[str, Person], seed: int, place: Path
) -> Answers:
    used = {*ANSWERS, *_ANSWERS_ALSO, "language"}
    read: list[AnswerRow] = []
    people = dict(known)
    ids: set[str] = set()
    for number, row in enumerate(rows, 1):
        texts = {name: _text(row, name, number, place) for name in ANSWERS[1:]}
        person = _person(row, texts["question"], known, number, place)
        if people.setdefault(person.id, person).facets != person.facets:
            raise UserError(
                f"{located(place, number, 'person')}: '{person.id}' was described differently before; "
                "give a person the same profile on every row."
            )
        also = {name: _value(row, name) for name in _ANSWERS_ALSO if _value(row, name) is not None}
        also["id"] = str(also.get("id") or number)
        if also["id"] in ids:
            raise UserError(
                f"{located(place, number, 'id')}: '{also['id']}' occurs twice; ids must be unique."
            )
        ids.add(also["id"])
        read.append(validated(AnswerRow, {**texts, **also, "person": person.id}, place, number))
    unread = [name for name in columns if name not in used and not name.startswith("person.")]
    notes = [f"Columns that were not read: {', '.join(unread)}."] if unread else []
    made = Answers(read, people, seed, notes)
    if next(made.items(), None) is None:
        raise UserError(
            "No answer has anything to be compared with: give the columns 'generic' (the answer without the person) or 'wrong' "
            "(the answer for somebody else), or answers to one question for several people."
        )
    return made


def _person(row: Row, question: str, known: Mapping[str, Person], number: int, place: Path) -> Person:
    told = _value(row, "person")
    if isinstance(told, Mapping):
        profile = {str(name): value for name, value in told.items() if value is not None}
        profile.setdefault("id", content_hash(profile)[:12])
        profile["id"] = str(profile["id"])
        return inline_person(profile, place, number)
    if isinstance(told, Person):
        return told
    if told is None or not str(told).strip():
        raise UserError(f"{located(place, number, 'person')} is empty.")
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


def _refuse_bare_ids(rows: Sequence[Row], known: Mapping[str, Person]) -> None:
    """Ids of people of whom nothing is known would be shown to judges as if they described somebody."""
    if any(column.startswith("person.") for row in rows for column in row):
        return
    told = [_value(row, "person") for row in rows]
    texts = [one for one in told if isinstance(one, str | int) and str(one) not in known]
    if texts and all(str(one).isascii() and len(str(one).split()) == 1 for one in texts):
        raise UserError(
            f"Nothing is known of '{texts[0]}': say in column 'person' who somebody is, in words or as an object, or add "
            "columns such as 'person.job' beside the id."
        )


def _text(row: Row, name: str, number: int, place: Path) -> str:
    value = _value(row, name)
    if value is None:
        raise UserError(f"{located(place, number, name)} is empty.")
    if not isinstance(value, str):
        raise UserError(f"{located(place, number, name)} must be a text, not {type(value).__name__}.")
    if not value.strip():
        raise UserError(f"{located(place, number, name)} is empty.")
    return value.replace("\x00", "\ufffd")  # no database takes NUL


def _value(row: Row, name: str) -> Any:
    """A cell; None where there is nothing, as pandas says by a number that is not one."""
    value = row.get(name)
    return None if value is None or (isinstance(value, float) and value != value) else value
