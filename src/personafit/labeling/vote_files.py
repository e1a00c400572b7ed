"""Files of votes made elsewhere: read and checked line by line, with errors that name file, line and field."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import polars as pl
from pydantic import BaseModel, ConfigDict
from pydantic import Field as Described

from personafit._errors import UserError, located
from personafit.benchmarks.lines import read_lines, validated
from personafit.labeling.adjudicating import labels_of
from personafit.labeling.forms import LabelValue
from personafit.labeling.records import Arrangement, Field, Page, Role
from personafit.labeling.studies import Studies
from personafit.store.reading import FORMULA

LAST = 253_402_300_799  # the end of the year 9999, in seconds since 1970


Time = Annotated[float | None, Described(ge=0, le=LAST)]


class VoteLine(BaseModel):
    """One line of a file of votes; what an export writes besides is accepted and not needed."""

    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)

    item: str
    rater: str
    question: str = ""
    target: str = ""
    label: str | None = None
    perspective: Literal["third-party", "self"] | None = None
    kind: Literal["human", "simulated"] = "human"
    note: str | None = None
    text: str | None = None
    why: Literal["cannot tell"] | None = None
    order: str = ""
    seconds: float = Described(0.0, ge=0, allow_inf_nan=False)
    at: Time = None
    client_time: Time = None
    page: str = ""
    study: str = ""
    role: str = ""
    person: str = ""
    value: float | None = None
    status: str = ""
    generation: int = 0
    weight: float | None = None


class CheckedVote(NamedTuple):
    """A line that fits the study."""

    line: VoteLine
    page: Page
    field: Field
    answer: LabelValue | None


def check_votes(studies: Studies, study: str, path: Path) -> list[CheckedVote]:
    """Every line of a file against the study; the first that does not fit is an error that names line and field."""
    form = studies.form(study)
    places: dict[tuple[str, str, str], tuple[Page, Field]] = {}
    items: set[str] = set()
    for page in studies.pages(study, (Role.ITEM,)):
        for field in form.fields(page, Arrangement.stored(page)):
            places.setdefault((field.item, field.question, field.target), (page, field))
            items.add(field.item)
    questions = sorted({question for _, question, _ in places})
    labels: dict[tuple[str, str, str], dict[str, LabelValue]] = {}
    seen: dict[tuple[str, ...], int] = {}
    found = []
    for number, row in _rows(path):
        line = validated(VoteLine, row, path, number)
        if not line.rater.strip():
            raise UserError(f"{located(path, number, 'rater')} is empty.")
        if line.item not in items:
            raise UserError(f"{located(path, number, 'item')}: '{line.item}' is not in the study {study}.")
        if not line.question and len(questions) == 1:
            line.question = questions[0]
        key = (line.item, line.question, line.target)
        if key not in places:
            if line.question not in questions:
                asked = ", ".join(questions)
                raise UserError(
                    f"{located(path, number, 'question')}: {study} asks {asked}, not '{line.question}'."
                )
            raise UserError(f"{located(path, number, 'target')}: '{line.target}' is no part of {line.item}.")
        if (before := seen.setdefault((line.rater, *key), number)) != number:
            raise UserError(
                f"{located(path, number)} is a second vote of {line.rater} on {line.item}; see line {before}."
            )
        page, field = places[key]
        if key not in labels:
            labels[key] = labels_of(studies, study, page, field)
        found.append(CheckedVote(line, page, field, _answer(line, field, labels[key], path, number)))
        if line.order and sorted(line.order) != sorted(Arrangement.stored(page).order):
            raise UserError(
                f"{located(path, number, 'order')}: '{line.order}' is no order of {page.sides} answers."
            )
    return found


def _answer(
    line: VoteLine, field: Field, labels: dict[str, LabelValue], path: Path, number: int
) -> LabelValue | None:
    if field.kind == "text":
        if line.text is None:
            raise UserError(f"{located(path, number, 'text')} is missing: {field.question} asks for a text.")
        return None
    if line.label is None:
        return None
    if line.why is not None:
        raise UserError(
            f"{located(path, number, 'why')}: a vote has a label or a reason for having none, not both."
        )
    if field.kind == "written":
        return labels.get(line.label, LabelValue(line.label, None))
    if line.label not in labels:
        possible = ", ".join(labels)
        raise UserError(f"{located(path, number, 'label')}: '{line.label}' is none of {possible}.")
    return labels[line.label]


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    if path.suffix.lower() != ".csv":
        yield from read_lines(path)
        return
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            for row in reader:
                if None in row:
                    raise UserError(f"{located(path, reader.line_num)} has more cells than the first line.")
                yield reader.line_num, {key: _as_written(value) for key, value in row.items() if value}
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); check the path.") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8; save the file as UTF-8.") from error
    except csv.Error as error:
        raise UserError(f"{path} is not CSV ({error}).") from error


def _as_written(cell: str) -> str:
    """A cell without the apostrophe that exports put before what a spreadsheet would take for a formula."""
    quoted = cell.startswith("'") and pl.Series([cell[1:]]).str.contains(FORMULA)[0]
    return cell[1:] if quoted else cell
