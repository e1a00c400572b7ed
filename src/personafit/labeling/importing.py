"""Votes made elsewhere, taken into a study: checked line by line, their raters put on seats of their own.

Whoever a file names is kept beside the seat only, like anybody's identity elsewhere, and never exported; pseudonyms made by another
study stay as they are, and one of this study means its seat. The same file twice is the same votes once; a vote that differs from the
one there corrects it.
"""

import re
import secrets
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import orjson
from sqlalchemy import func, insert, select, update

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.labeling.answers import CANNOT_TELL, Answer, Given, job_key, outcome, standing_answers
from personafit.labeling.planning import IMPORTED, note
from personafit.labeling.records import Arrangement, Page, RaterState
from personafit.labeling.studies import Seat, Studies
from personafit.labeling.vote_files import CheckedVote, check_votes
from personafit.store import tables as s
from personafit.store import tables as t
from personafit.store.records import storable

PSEUDONYM = re.compile(r"r-[0-9a-f]{8}")
CHUNK = 500  # votes written at once


class ImportSummary(NamedTuple):
    """How many votes and raters were imported, and how many votes were there already."""

    votes: int
    raters: int
    known: int
    """Votes that were there already."""


def import_votes(studies: Studies, study: str, path: Path, simulated: bool = False) -> ImportSummary:
    """Take the votes of a file into a study. Nothing is written unless every line fits."""
    lines = check_votes(studies, study, path)
    if not lines:
        raise UserError(f"{path} has no votes.")
    names = list(dict.fromkeys(one.line.rater for one in lines))
    simulators = {one.line.rater for one in lines if simulated or one.line.kind == "simulated"}
    seats = _seats(studies, study, names, simulators)
    _plan(studies, study, seats, lines)
    written = _write(studies, study, seats, lines)
    _finish(studies, study, seats, lines)
    with studies.engine.begin() as connection:
        detail = {"file": path.name, "votes": written, "raters": len(names)}
        note(connection, study, "researcher", "imported votes", detail)
    return ImportSummary(written, len(names), len(lines) - written)


def _seats(studies: Studies, study: str, names: Sequence[str], simulated: set[str]) -> dict[str, Seat]:
    """A seat for each name: the one it has, or a new one; erased raters do not come back under their old seat."""
    config = studies.study(study).config
    held, taken = _held(studies, study), {seat.code for seat in studies.seats(study)}
    new = [name for name in names if name not in held]
    with studies.engine.begin() as connection:
        last = connection.execute(
            select(func.max(s.study_raters.c.seat)).where(s.study_raters.c.study == study)
        ).scalar()
        now, rows = time.time(), []
        for seat, name in enumerate(new, 0 if last is None else last + 1):
            keeps = PSEUDONYM.fullmatch(name) and name not in taken
            code = name if keeps else f"r-{secrets.token_hex(4)}"
            progress = {IMPORTED: True} | (
                {"simulated": True} if name in simulated or config.simulated else {}
            )
            rows.append(
                {
                    "study": study,
                    "seat": seat,
                    "rater": hash_text("human", study, code),
                    "code": code,
                    "external": name,
                    "state": RaterState.DONE,
                    "progress": orjson.dumps(progress).decode(),
                    "joined": now,
                    "seen": now,
                    "finished": now,
                }
            )
        if rows:
            connection.execute(insert(s.study_raters), rows)
            larger = config.model_copy(update={"seats": config.seats + len(rows)})
            connection.execute(
                update(s.studies).where(s.studies.c.name == study).values(config=larger.model_dump_json())
            )
    studies.register(study)
    return {name: seat for name, seat in _held(studies, study).items() if name in names}


def _held(studies: Studies, study: str) -> dict[str, Seat]:
    """The seats of a study by what a file may call them: who somebody is elsewhere, or the pseudonym."""
    away = (RaterState.FREE, RaterState.ERASED)
    seats = [seat for seat in studies.seats(study) if seat.state not in away]
    return {seat.code: seat for seat in seats} | {seat.external: seat for seat in seats if seat.external}


def _plan(studies: Studies, study: str, seats: dict[str, Seat], lines: Sequence[CheckedVote]) -> None:
    """Note which pages these raters saw, as if it had been planned."""
    rows = []
    for seat in sorted({seat.seat for seat in seats.values()}):
        mine = [one for one in lines if seats[one.line.rater].seat == seat]
        assigned = studies.assigned(study, seat)
        planned, position = {one.page for one in assigned}, len(assigned)
        for page in {one.page.id: one.page for one in mine}.values():
            if page.id in planned:
                continue
            order = next(one.line.order for one in mine if one.page.id == page.id)
            rows.append(
                {
                    "study": study,
                    "seat": seat,
                    "position": position,
                    "page": page.id,
                    "arrangement": _arrangement(page, order).model_dump_json(),
                }
            )
            position += 1
    if rows:
        with studies.engine.begin() as connection:
            connection.execute(insert(s.study_plan), rows)


def _arrangement(page: Page, order: str) -> Arrangement:
    stored = Arrangement.stored(page)
    return stored.model_copy(update={"sides": [int(place) for place in order]}) if order else stored


def _write(studies: Studies, study: str, seats: dict[str, Seat], lines: Sequence[CheckedVote]) -> int:
    config = studies.study(study).config
    jobs = [job_key(study, one.page.id, one.field, seats[one.line.rater].rater) for one in lines]
    wanted = sorted(set(jobs))
    standing, last = standing_answers(studies.store, wanted), _generations(studies, wanted)
    outcomes = []
    for one, job in zip(lines, jobs, strict=True):
        line = one.line
        why = line.why or (CANNOT_TELL if one.answer is None and one.field.kind != "text" else None)
        said = [storable(part) if part else None for part in (line.label, line.text, why, line.note)]
        if (there := standing.get(job)) and said == _said(there):
            continue
        last[job] = last.get(job, -1) + 1
        kept = {name: getattr(line, name) for name in ("client_time", "note", "text", "perspective")}
        answer = Answer(
            study=study,
            seat=seats[line.rater].seat,
            rater=seats[line.rater].rater,
            page=one.page.id,
            field=one.field,
            answered=one.answer,
            detail=kept | {"why": why, "imported": True},
            view=config.view,
            order=line.order or Arrangement.stored(one.page).order,
            perspective=line.perspective or config.perspective,
            seconds=line.seconds,
        )
        ask = hash_text("import", job, str(last[job]), *map(str, said))
        outcomes.append(outcome(answer, ask, last[job], line.at or time.time()))
    for start in range(0, len(outcomes), CHUNK):
        studies.store.write(outcomes[start : start + CHUNK])
    return len(outcomes)


def _said(given: Given) -> list[str | None]:
    return [given.label or None, *(given.detail.get(name) or None for name in ("text", "why", "note"))]


def _generations(studies: Studies, jobs: Sequence[str]) -> dict[str, int]:
    """The last generation of each job, what was undone included."""
    last: dict[str, int] = {}
    for row in studies.store.rows_among(select(t.asks.c.job, t.asks.c.generation), t.asks.c.job, jobs):
        last[row.job] = max(row.generation, last.get(row.job, -1))
    return last


def _finish(studies: Studies, study: str, seats: dict[str, Seat], lines: Sequence[CheckedVote]) -> None:
    """Note which of the pages voted on are done now: whatever they require has an answer, from this file or before."""
    form, plan = studies.form(study), s.study_plan
    pages = {(seats[one.line.rater].seat, one.page.id): one for one in reversed(lines)}
    jobs = {
        place: [
            job_key(study, one.page.id, field, seats[one.line.rater].rater)
            for field in form.fields(one.page, Arrangement.stored(one.page))
            if field.required
        ]
        for place, one in pages.items()
    }
    standing = standing_answers(studies.store, sorted({job for asked in jobs.values() for job in asked}))
    with studies.engine.begin() as connection:
        for (seat, page), one in pages.items():
            if all(job in standing for job in jobs[seat, page]):
                where = (plan.c.study == study, plan.c.seat == seat, plan.c.page == page)
                done = one.line.at or time.time()
                connection.execute(update(plan).where(*where, plan.c.done.is_(None)).values(done=done))
