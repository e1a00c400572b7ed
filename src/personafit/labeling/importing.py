"""Votes made elsewhere, taken into a study: checked line by line, their raters put on seats of their own.

Whoever a file names is kept beside the seat only, like anybody's identity elsewhere, and never exported; pseudonyms made by another
study stay as they are. The same file twice is the same votes once; a vote that differs from the one there corrects it.
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
from personafit.labeling.answers import CANNOT_TELL, job_key
from personafit.labeling.planning import note
from personafit.labeling.recording import Entry, outcome
from personafit.labeling.records import Arrangement, Page, RaterState
from personafit.labeling.studies import Seat, Studies
from personafit.labeling.vote_files import CheckedVote, check_votes
from personafit.labeling.votes import unshuffled
from personafit.store import RaterRecord
from personafit.store import study_tables as s
from personafit.store import tables as t

PSEUDONYM = re.compile(r"r-[0-9a-f]{8}")
CHUNK = 500  # votes written at once


class Imported(NamedTuple):
    """What came in."""

    votes: int
    raters: int
    known: int
    """Votes that were there already."""


def import_votes(studies: Studies, study: str, path: Path, simulated: bool = False) -> Imported:
    """Take the votes of a file into a study. Nothing is written unless every line fits."""
    lines = check_votes(studies, study, path)
    if not lines:
        raise UserError(f"{path} has no votes.")
    names = list(dict.fromkeys(one.line.rater for one in lines))
    simulators = {one.line.rater for one in lines if simulated or one.line.kind == "simulated"}
    seats = _seats(studies, study, names, simulators)
    _plan(studies, study, seats, lines)
    written = _write(studies, study, seats, lines)
    with studies.engine.begin() as connection:
        detail = {"file": path.name, "votes": written, "raters": len(names)}
        note(connection, study, "researcher", "imported votes", detail)
    return Imported(written, len(names), len(lines) - written)


def _seats(studies: Studies, study: str, names: Sequence[str], simulated: set[str]) -> dict[str, Seat]:
    """A seat for each name: the one it has, or a new one; erased raters do not come back under their old seat."""
    config = studies.study(study).config
    held = {seat.external: seat for seat in studies.seats(study) if seat.external}
    taken = {seat.code for seat in studies.seats(study)}
    new = [name for name in names if name not in held]
    with studies.engine.begin() as connection:
        last = connection.execute(
            select(func.max(s.study_raters.c.seat)).where(s.study_raters.c.study == study)
        ).scalar()
        now, rows, records = time.time(), [], []
        for seat, name in enumerate(new, 0 if last is None else last + 1):
            keeps = PSEUDONYM.fullmatch(name) and name not in taken
            code = name if keeps else f"r-{secrets.token_hex(4)}"
            kind = "simulated" if name in simulated or config.simulated else "human"
            fingerprint = hash_text("human", study, code)
            progress = {"imported": True} | ({"simulated": True} if kind == "simulated" else {})
            rows.append(
                {
                    "study": study,
                    "seat": seat,
                    "rater": fingerprint,
                    "code": code,
                    "external": name,
                    "state": RaterState.DONE,
                    "progress": orjson.dumps(progress).decode(),
                    "joined": now,
                    "seen": now,
                    "finished": now,
                }
            )
            settings = {"study": study, "perspective": config.perspective, "imported": True}
            records.append(
                RaterRecord(fingerprint=fingerprint, name=f"{kind}:{code}", kind=kind, settings=settings)
            )
        if rows:
            connection.execute(insert(s.study_raters), rows)
            larger = config.model_copy(update={"seats": config.seats + len(rows)})
            connection.execute(
                update(s.studies).where(s.studies.c.name == study).values(config=larger.model_dump_json())
            )
    studies.store.add_raters(records)
    return {seat.external: seat for seat in studies.seats(study) if seat.external and seat.external in names}


def _plan(studies: Studies, study: str, seats: dict[str, Seat], lines: Sequence[CheckedVote]) -> None:
    """Note which pages these raters saw, as if it had been planned."""
    form, rows = studies.form(study), []
    for name, seat in seats.items():
        mine = [one for one in lines if one.line.rater == name]
        assigned = studies.assigned(study, seat.seat)
        planned, position = {one.page for one in assigned}, len(assigned)
        for page in {one.page.id: one.page for one in mine}.values():
            if page.id in planned:
                continue
            given = [one for one in mine if one.page.id == page.id]
            required = {
                (field.item, field.question, field.target)
                for field in form.fields(page, unshuffled(page))
                if field.required
            }
            done = required <= {(one.field.item, one.field.question, one.field.target) for one in given}
            rows.append(
                {
                    "study": study,
                    "seat": seat.seat,
                    "position": position,
                    "page": page.id,
                    "arrangement": _arrangement(page, given[0].line.order).model_dump_json(),
                    "done": (given[0].line.at or time.time()) if done else None,
                }
            )
            position += 1
    if rows:
        with studies.engine.begin() as connection:
            connection.execute(insert(s.study_plan), rows)


def _arrangement(page: Page, order: str) -> Arrangement:
    stored = unshuffled(page)
    return stored.model_copy(update={"sides": [int(place) for place in order]}) if order else stored


def _write(studies: Studies, study: str, seats: dict[str, Seat], lines: Sequence[CheckedVote]) -> int:
    config = studies.study(study).config
    jobs = {id(one): job_key(study, one.page.id, one.field, seats[one.line.rater].rater) for one in lines}
    held = _held(studies, sorted(set(jobs.values())))
    entries = []
    for one in lines:
        line, job = one.line, jobs[id(one)]
        said = [str(line.label), str(line.text), str(line.why), str(line.note)]
        ask = hash_text("import", job, *said)
        ids = held.get(job, {})
        if ask in ids:
            continue
        why = line.why or (CANNOT_TELL if one.answer is None and one.field.kind != "text" else None)
        detail = {
            "client_time": line.client_time,
            "note": line.note,
            "text": line.text,
            "why": why,
            "perspective": line.perspective,
            "imported": True,
        }
        entries.append(
            Entry(
                id=ask,
                job=job,
                generation=max(ids.values(), default=-1) + 1,
                field=one.field,
                rater=seats[line.rater].rater,
                answer=one.answer,
                detail=detail,
                perspective=line.perspective or config.perspective,
                order=line.order or unshuffled(one.page).order,
                at=line.at or time.time(),
                seconds=line.seconds,
            )
        )
    for start in range(0, len(entries), CHUNK):
        studies.store.write([outcome(study, config, entry) for entry in entries[start : start + CHUNK]])
    return len(entries)


def _held(studies: Studies, jobs: Sequence[str]) -> dict[str, dict[str, int]]:
    """What is there already: ids and generations by job."""
    held: dict[str, dict[str, int]] = {}
    query = select(t.asks.c.job, t.asks.c.id, t.asks.c.generation)
    for row in studies.store.rows_among(query, t.asks.c.job, jobs):
        held.setdefault(row.job, {})[row.id] = row.generation
    return held
