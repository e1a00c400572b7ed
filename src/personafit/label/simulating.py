"""Simulated raters for demonstrations, tests and dry runs of a study; all their answers are marked as simulated.

A simulated rater answers as people would: page by page, in the order drawn for the seat, through the same writer. Among several answers it
picks by how much an answer shares with the person (the overlap rule) plus a random taste of its own; elsewhere it picks at random. It says
nothing about what people think. Draws depend only on the study's name, its seed, the seat and the page, so the same commands give the same
answers.
"""

import asyncio
import math
import time

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.label.answers import Answer
from personafit.label.places import PageSlot, Places
from personafit.label.records import Arrangement, Field, RaterState
from personafit.label.studies import Studies
from personafit.label.writing import Writer
from personafit.store import Store

TASTE = 4.0  # scale of a rater's deviation from the overlap rule, in character bigrams


def simulate_votes(store: Store, name: str) -> int:
    """Fill every free or unfinished seat of a study with a simulated rater; return the number of answers."""
    studies = Studies(store)
    study = studies.study(name)
    if not study.config.simulated:
        raise UserError(
            f"{name} is a study of people; make one for simulated raters with `label new --simulated`."
        )
    if study.state != "open":
        raise UserError(
            f"{name} is {study.state} and takes no answers; `personafit label resume {name}` opens it."
        )
    return asyncio.run(_fill(studies, name))


async def _fill(studies: Studies, name: str) -> int:
    form = studies.form(name)
    fields = [
        field for page in studies.pages(name)[:1] for field in form.fields(page, Arrangement.stored(page))
    ]
    if any(field.kind == "written" for field in fields):
        raise UserError(
            f"{name} asks {form.name}, which is answered in writing: simulated raters only choose."
        )
    places, writer, answers = Places(studies), Writer(studies.engine), 0
    try:
        for seat in studies.seats(name):
            if seat.state not in (RaterState.FREE, RaterState.ACTIVE):
                continue
            studies.take(name, seat.seat, None, {"consent": True, "passed": True, "simulated": True})
            waiting = [
                writer.save(answer)
                for assigned in studies.assigned(name, seat.seat)
                if assigned.done is None and (place := places.at(name, seat.seat, assigned.position))
                for answer in _answers(place)
            ]
            answers += len(await asyncio.gather(*waiting))
            end = {"finished": time.time(), "state": RaterState.DONE}
            studies.update_seat(name, seat.seat, seat.code, "finished", **end)
    finally:
        writer.close()
    return answers


def _answers(place: PageSlot) -> list[Answer]:
    page, arrangement = place.shape.page, place.shape.arrangement
    return [
        place.answer(
            # Ids are deterministic, so an interrupted simulation can be resumed.
            hash_text("simulated", place.study, str(place.seat), str(place.position), field.code),
            field,
            place.shape.form.answered(page, arrangement, field, _chosen(place, field)),
            {"client_time": time.time(), "simulated": True},
        )
        for field in place.shape.fields.values()
        if field.required and field.kind == "choice"
    ]


def _chosen(place: PageSlot, field: Field) -> str:
    """Return the option that this rater picks."""
    options = [option.value for option in field.options]
    texts = place.shape.page.content.get("answers")
    if not texts or len(texts) != len(options) or not place.shape.arrangement.sides:
        return options[int(_noise(place, field, "draw") * len(options)) % len(options)]
    known = _bigrams(str(place.shape.page.content.get("profile", "")))
    asked = _bigrams(str(place.shape.page.content.get("prompt", "")))

    def liking(shown: int) -> float:
        text = str(texts[place.shape.arrangement.sides[shown]])
        taste = -math.log(-math.log(min(max(_noise(place, field, options[shown]), 1e-9), 1 - 1e-9)))
        return len((_bigrams(text) & known) - asked) / TASTE + taste

    return options[max(range(len(options)), key=liking)]


def _noise(place: PageSlot, field: Field, what: str) -> float:
    """Draw a number from [0, 1) that depends only on the rater, the page, the field and `what`."""
    return int(hash_text("taste", place.rater, place.shape.page.id, field.code, what)[:12], 16) / 16**12


def _bigrams(text: str) -> set[str]:
    return {text[start : start + 2] for start in range(len(text) - 1)}
