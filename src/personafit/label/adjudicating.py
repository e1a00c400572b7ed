"""Adjudication: list disputed answers, the most disputed first, and store decisions as rater `adjudicated`.

A decision is an answer like any other: it can be changed or taken back, and every version is kept. Gold prefers it to the majority; votes
stay unchanged.
"""

import time
import uuid
from typing import Any, NamedTuple

import polars as pl
from sqlalchemy import func, select

from personafit._errors import UserError
from personafit.label.answers import UNDONE, Answer, job_key, outcome
from personafit.label.forms import LabelValue
from personafit.label.planning import note
from personafit.label.records import Arrangement, Field, Page, Role
from personafit.label.studies import ADJUDICATED, Studies
from personafit.label.votes import DECIDING, UNIT, adjudicated_votes, study_votes, tally
from personafit.store import RaterRecord
from personafit.store import tables as t


class Dispute(NamedTuple):
    """One field on which raters disagree, or that has been adjudicated."""

    key: str
    """Job key of the decision; pages and commands refer to the dispute by it."""
    page: Page
    field: Field
    votes: list[dict[str, Any]]
    """Each rater's vote, as rows of `study_votes`."""
    counts: dict[str, int]
    """Number of votes by label, the most frequent first."""
    share: float
    """Share of the votes for the most frequent label."""
    decided: str | None
    why: str | None


def disputes(studies: Studies, name: str) -> list[Dispute]:
    """Return the fields with differing labels or a decision, sorted by increasing agreement, then by page order."""
    votes = study_votes(studies, name).filter(pl.col("label").is_not_null())
    given = votes.rows_by_key(["page", *UNIT], named=True)
    decisions = adjudicated_votes(studies, name).rows_by_key(UNIT, named=True, unique=True)
    form, found = studies.form(name), []
    for page in studies.pages(name, (Role.ITEM,)):
        for field in form.fields(page, Arrangement.stored(page)):
            unit = (field.item, field.question, field.target)
            said, decision = given.get((page.id, *unit), []), decisions.get(unit)
            counts, _, share = tally(vote["label"] for vote in said)
            if len(counts) > 1 or decision is not None:
                key = job_key(name, page.id, field, ADJUDICATED)
                label, why = (decision["label"], decision["note"]) if decision else (None, None)
                found.append(Dispute(key, page, field, said, counts, share or 0.0, label, why))
    return sorted(found, key=lambda dispute: dispute.share)


def labels_of(studies: Studies, name: str, page: Page, field: Field) -> dict[str, LabelValue]:
    """Return the possible answers by stored label; for written answers, every label that any rater has given."""
    if field.kind == "written":
        judged = t.judgments.c
        query = select(judged.label, judged.value).where(
            judged.item == field.item,
            judged.question == field.question,
            judged.target == field.target,
            judged.label.is_not(None),
        )
        rows = studies.store.frame(query.distinct().order_by(judged.label)).iter_rows()
        return {label: LabelValue(label, value) for label, value in rows}
    form, order = studies.form(name), Arrangement.stored(page)
    answers = [form.answered(page, order, field, option.value) for option in field.options]
    return {answer.label: answer for answer in answers if answer is not None and answer.label is not None}


def decide(studies: Studies, name: str, key: str, label: str | None, why: str = "") -> None:
    """Store a decision about a disputed answer; a label of None takes back the current one."""
    dispute = next((one for one in disputes(studies, name) if one.key == key), None)
    if dispute is None:
        raise UserError(f"{name} has no such disagreement; it may have been settled in the meantime.")
    _store(studies, name, dispute, _answer(studies, name, dispute, label), why)


def decide_item(
    studies: Studies,
    name: str,
    item: str,
    label: str | None,
    question: str = "",
    target: str = "",
    why: str = "",
) -> None:
    """Store a decision about an item; question and target are needed if several of its answers are disputed."""
    fitting = [
        one
        for one in disputes(studies, name)
        if one.field.item == item
        and question in ("", one.field.question)
        and target in ("", one.field.target)
    ]
    if not fitting:
        raise UserError(
            f"the raters of {name} do not disagree about {item}; label adjudicate {name} lists what they disagree about."
        )
    if len(fitting) > 1:
        several = "; ".join(" ".join(filter(None, (one.field.question, one.field.target))) for one in fitting)
        raise UserError(f"{item} has several disputed answers ({several}); name question and target.")
    _store(studies, name, fitting[0], _answer(studies, name, fitting[0], label), why)


def _answer(studies: Studies, name: str, dispute: Dispute, label: str | None) -> LabelValue | None:
    if label is None:
        return None
    possible = labels_of(studies, name, dispute.page, dispute.field)
    if label not in possible:
        raise UserError(
            f"'{label}' is no answer to {dispute.field.question}: there are {', '.join(possible)}."
        )
    return possible[label]


def _store(studies: Studies, name: str, dispute: Dispute, answer: LabelValue | None, why: str) -> None:
    config, field = studies.study(name).config, dispute.field
    studies.store.add_raters([RaterRecord(fingerprint=ADJUDICATED, name=ADJUDICATED, kind="gold")])
    ((last,),) = studies.store.rows(select(func.max(t.asks.c.generation)).where(t.asks.c.job == dispute.key))
    decided = Answer(
        study=name,
        seat=DECIDING,
        rater=ADJUDICATED,
        page=dispute.page.id,
        field=field,
        answered=answer,
        detail={"note": why.strip() or None, "why": UNDONE if answer is None else None},
        context=config.context,
        order=Arrangement.stored(dispute.page).order,
        perspective=config.perspective,
    )
    generation = 0 if last is None else last + 1
    studies.store.write([outcome(decided, str(uuid.uuid4()), generation, time.time())])
    with studies.engine.begin() as connection:
        label = answer.label if answer is not None else None
        detail = {"item": field.item, "question": field.question, "label": label}
        note(connection, name, ADJUDICATED, "decided" if label is not None else "decision taken back", detail)
