"""Import votes made elsewhere into a study: check each line and give each rater a seat of their own.

Names from the file are kept only beside the seat, like any external identity, and are never exported; pseudonyms made by another study are
kept as they are, and a pseudonym of this study refers to its seat. Importing the same file twice adds nothing; a vote that differs from the
stored one replaces it.
"""

import asyncio
import re
import secrets
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import orjson
import polars as pl
from pydantic import BaseModel, ConfigDict
from pydantic import Field as Described
from sqlalchemy import func, insert, select, update

from personafit._errors import UserError, located
from personafit._hashing import hash_text
from personafit.benchmarks.lines import read_lines, validated
from personafit.label.adjudicating import labels_of
from personafit.label.answers import CANNOT_TELL, Answer, Given, NotStored, standing_answers
from personafit.label.forms import LabelValue
from personafit.label.places import PageSlot, Places
from personafit.label.planning import IMPORTED, note
from personafit.label.records import Arrangement, Field, Page, RaterState, Role
from personafit.label.studies import Seat, Studies
from personafit.label.writing import Writer
from personafit.store import tables as t
from personafit.store.reading import FORMULA
from personafit.store.records import storable

PSEUDONYM = re.compile(r"r-[0-9a-f]{8}")
LAST = 253_402_300_799  # the end of the year 9999, in seconds since 1970
Time = Annotated[float | None, Described(ge=0, le=LAST)]


class VoteLine(BaseModel):
    """One line of a votes file; the further columns that an export writes are accepted and ignored."""

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
    """A line that has been validated against the study."""

    line: VoteLine
    page: Page
    field: Field
    answer: LabelValue | None


class ImportSummary(NamedTuple):
    """Number of votes imported, number of raters in the file, and number of votes that were already stored."""

    votes: int
    raters: int
    known: int


def _table_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Iterate over the rows of a .jsonl or .csv file with their line numbers."""
    if path.suffix.lower() != ".csv":
        yield from read_lines(path)
        return
    try:
        frame = pl.read_csv(path, infer_schema=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise UserError(f"{path} cannot be read as CSV in UTF-8 ({reason}).") from error
    bare = pl.all().str.slice(1)  # without the quote that exports put before formula-like cells
    quoted = pl.all().str.starts_with("'") & bare.str.contains(FORMULA)
    yield from enumerate(
        frame.select(pl.when(quoted).then(bare).otherwise(pl.all())).iter_rows(named=True), 2
    )


def check_votes(studies: Studies, study: str, path: Path) -> list[CheckedVote]:
    """Validate every line of a file against the study; the first invalid one raises an error naming line and field."""
    form = studies.form(study)
    places: dict[tuple[str, str, str], tuple[Page, Field]] = {}
    for page in studies.pages(study, (Role.ITEM,)):
        for field in form.fields(page, Arrangement.stored(page)):
            places.setdefault((field.item, field.question, field.target), (page, field))
    items, questions = {item for item, _, _ in places}, sorted({question for _, question, _ in places})
    asked = ", ".join(questions)
    labels: dict[tuple[str, str, str], dict[str, LabelValue]] = {}
    seen: dict[tuple[str, ...], int] = {}
    found = []
    for number, row in _table_rows(path):
        cells = {name: cell for name, cell in row.items() if cell is not None}
        line = validated(VoteLine, cells, path, number)
        if not line.question and len(questions) == 1:
            line.question = questions[0]
        key = (line.item, line.question, line.target)
        for name, fits, why in (
            ("rater", line.rater.strip(), " is empty"),
            ("item", line.item in items, f": '{line.item}' is not in the study {study}"),
            ("question", line.question in questions, f": {study} asks {asked}, not '{line.question}'"),
            ("target", key in places, f": '{line.target}' is no part of {line.item}"),
        ):
            if not fits:
                raise UserError(f"{located(path, number, name)}{why}.")
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
    if not found:
        raise UserError(f"{path} has no votes.")
    return found


def _answer(
    line: VoteLine, field: Field, labels: dict[str, LabelValue], path: Path, number: int
) -> LabelValue | None:
    if field.kind == "text" and line.text is None:
        raise UserError(f"{located(path, number, 'text')} is missing: {field.question} asks for a text.")
    if field.kind == "text" or line.label is None:
        return None
    if line.why is not None:
        raise UserError(
            f"{located(path, number, 'why')}: a vote has a label or a reason for having none, not both."
        )
    if field.kind != "written" and line.label not in labels:
        raise UserError(f"{located(path, number, 'label')}: '{line.label}' is none of {', '.join(labels)}.")
    return labels.get(line.label, LabelValue(line.label, None))


def import_votes(studies: Studies, study: str, path: Path, simulated: bool = False) -> ImportSummary:
    """Import the votes of a file into a study. Nothing is written unless every line is valid."""
    if (state := studies.study(study).state) != "open":
        raise UserError(
            f"{study} is {state} and takes no answers; `personafit label resume {study}` opens it."
        )
    lines = check_votes(studies, study, path)
    names = list(dict.fromkeys(one.line.rater for one in lines))
    simulators = {one.line.rater for one in lines if simulated or one.line.kind == "simulated"}
    seats = _seats(studies, study, names, simulators)
    positions = _plan(studies, study, seats, lines)
    places = Places(studies)
    answers = [
        _answer_of(one, seats[one.line.rater], places.at(study, *where))
        for one, where in zip(lines, positions, strict=True)
    ]
    standing = standing_answers(studies.store, [answer.job(answer.field) for answer in answers])
    new = [one for one in answers if not _stands(one, standing.get(one.job(one.field)))]
    asyncio.run(_save(studies, new))
    with studies.engine.begin() as connection:
        detail = {"file": path.name, "votes": len(new), "raters": len(names)}
        note(connection, study, "researcher", "imported votes", detail)
    return ImportSummary(len(new), len(names), len(lines) - len(new))


def _seats(studies: Studies, study: str, names: Sequence[str], simulated: set[str]) -> dict[str, Seat]:
    """Return a seat for each name, its existing one or a new one; erased raters do not get their old seat back."""
    config = studies.study(study).config
    held, taken = _held(studies, study), {seat.code for seat in studies.seats(study)}
    with studies.engine.begin() as connection:
        raters = t.study_raters.c
        last = connection.execute(select(func.max(raters.seat)).where(raters.study == study)).scalar()
        now, rows = time.time(), []
        for seat, name in enumerate(
            (name for name in names if name not in held), 0 if last is None else last + 1
        ):
            keeps = PSEUDONYM.fullmatch(name) and name not in taken
            code = name if keeps else f"r-{secrets.token_hex(4)}"
            progress = {IMPORTED: True}
            progress |= {"simulated": True} if name in simulated or config.simulated else {}
            rows.append(
                {
                    "study": study,
                    "seat": seat,
                    "rater": hash_text("human", study, code),
                    "code": code,
                    "external": name,
                    "state": RaterState.DONE,
                    "progress": orjson.dumps(progress).decode(),
                    **dict.fromkeys(("joined", "seen", "finished"), now),
                }
            )
        if rows:
            connection.execute(insert(t.study_raters), rows)
            larger = config.model_copy(update={"seats": config.seats + len(rows)})
            connection.execute(
                update(t.studies).where(t.studies.c.name == study).values(config=larger.model_dump_json())
            )
    studies.register(study)
    return {name: seat for name, seat in _held(studies, study).items() if name in names}


def _held(studies: Studies, study: str) -> dict[str, Seat]:
    """Return the seats of a study by the names a file may use: the external id or the pseudonym."""
    away = (RaterState.FREE, RaterState.ERASED)
    seats = [seat for seat in studies.seats(study) if seat.state not in away]
    return {seat.code: seat for seat in seats} | {seat.external: seat for seat in seats if seat.external}


def _plan(
    studies: Studies, study: str, seats: dict[str, Seat], lines: Sequence[CheckedVote]
) -> list[tuple[int, int]]:
    """Record which pages these raters saw, as if they had been assigned; return seat and position of each vote's page."""
    rows: list[dict[str, Any]] = []
    planned = {
        seat.seat: {one.page: one.position for one in studies.assigned(study, seat.seat)}
        for seat in seats.values()
    }
    found = []
    for line, page, _, _ in lines:
        seat = seats[line.rater].seat
        if page.id not in planned[seat]:
            order = Arrangement.stored(page)
            order.sides = [int(place) for place in line.order] or order.sides
            position = max(planned[seat].values(), default=-1) + 1
            about = {"study": study, "seat": seat, "position": position, "page": page.id}
            rows.append(about | {"arrangement": order.model_dump_json()})
            planned[seat][page.id] = position
        found.append((seat, planned[seat][page.id]))
    if rows:
        with studies.engine.begin() as connection:
            connection.execute(insert(t.study_plan), rows)
    return found


def _answer_of(vote: CheckedVote, seat: Seat, place: PageSlot | None) -> Answer:
    """Build the answer for a vote on the page assigned to its rater."""
    line, page, field, answered = vote
    assert place is not None, f"{page.id} was planned for {seat.code}"
    why = line.why or (CANNOT_TELL if answered is None and field.kind != "text" else None)
    kept = {name: getattr(line, name) for name in ("client_time", "note", "text", "perspective")}
    detail = kept | {"why": why, "imported": True}
    answer = place.answer(str(uuid.uuid4()), field, answered, detail, line.seconds)
    answer.order = line.order or answer.order
    answer.perspective = line.perspective or answer.perspective
    answer.at = line.at
    return answer


def _stands(answer: Answer, there: Given | None) -> bool:
    """Return whether the study already has an answer with the same content."""
    if there is None:
        return False
    label = answer.answered.label if answer.answered else None
    words = ((answer.detail.get(name), there.detail.get(name)) for name in ("text", "why", "note"))
    same = all(storable(new or "") == storable(old or "") for new, old in words)
    return same and there.label == (storable(label) if label else None)


async def _save(studies: Studies, answers: Sequence[Answer]) -> None:
    writer = Writer(studies.engine)
    try:
        await asyncio.gather(*map(writer.save, answers))
    except NotStored as error:
        raise UserError(f"Not every vote could be stored: {error.sentence}", code=1) from error
    finally:
        writer.close()
