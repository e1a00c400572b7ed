"""Deciding what raters disagree about: disputed answers, the hardest first, and decisions by rater `adjudicated`.

A decision is an answer like any other: it can be changed and taken back, and none is lost. Gold prefers it to the majority; votes
stay as they are.
"""

import csv
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from pydantic import BaseModel
from sqlalchemy import func, select

from personafit._errors import UserError, located
from personafit.benchmarks.lines import read_lines, validated
from personafit.label.answers import UNDONE, Answer, job_key, outcome
from personafit.label.forms import LabelValue
from personafit.label.planning import note
from personafit.label.records import Arrangement, Field, Page, Role
from personafit.label.studies import ADJUDICATED, Studies
from personafit.label.votes import DECIDING, UNIT, adjudicated_votes, study_votes, tally
from personafit.store import RaterRecord
from personafit.store import tables as t
from personafit.store.reading import FORMULA


class Dispute(NamedTuple):
    """One field that was not answered alike, or that was decided."""

    key: str
    """The job key of the decision, by which pages and commands name it."""
    page: Page
    field: Field
    votes: list[dict[str, Any]]
    """What each rater said, as rows of votes."""
    counts: dict[str, int]
    """Votes by label, the most frequent first."""
    share: float
    """The share of the most frequent label."""
    decided: str | None
    why: str | None


def disputes(studies: Studies, name: str) -> list[Dispute]:
    """Everything that raters gave different labels to, the least agreed first, then in the order of pages."""
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
    """What can be answered, by the label that is stored; where answers are written, what anybody has answered."""
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
    """Store a decision about a disputed answer; None takes the one there is back."""
    dispute = next((one for one in disputes(studies, name) if one.key == key), None)
    if dispute is None:
        raise UserError(f"{name} has no such disagreement; it may have been settled meanwhile.")
    _store(studies, name, dispute, _answer(studies, name, dispute, label), why)


class Adjudication(BaseModel):
    """A decision on a disputed label, as an adjudicator writes it down."""

    item: str
    label: str | None
    """None takes a decision back."""
    question: str | None = None
    """None where the item is asked one."""
    target: str | None = None
    """None where the item has one."""
    reason: str | None = None


def read_decisions(path: Path) -> list[tuple[str, Adjudication]]:
    """Decisions of a file with item and label, and question, target, reason where they are needed, each with its place."""
    return [
        (located(path, number), validated(Adjudication, row, path, number))
        for number, row in table_rows(path)
    ]


def table_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a .jsonl or .csv file with their line numbers; empty cells are None."""
    if path.suffix.lower() != ".csv":
        yield from read_lines(path)
        return
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            for row in reader:
                if None in row:
                    raise UserError(f"{located(path, reader.line_num)} has more cells than the first line.")
                yield reader.line_num, {key: _as_written(value) for key, value in row.items()}
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path} cannot be read as CSV in UTF-8 ({error}).") from error


def _as_written(cell: str | None) -> str | None:
    """A cell without the apostrophe that exports put before what a spreadsheet would take for a formula."""
    quoted = cell and cell.startswith("'") and pl.Series([cell[1:]]).str.contains(FORMULA)[0]
    return cell[1:] if cell and quoted else cell or None


def decide_all(studies: Studies, name: str, decisions: Sequence[tuple[str, Adjudication]]) -> int:
    """Store decisions, all or none, each with the place to name where it does not fit; returns how many."""
    found = disputes(studies, name)
    meant = []
    for place, one in decisions:
        try:
            dispute = _meant(name, found, one)
            meant.append((dispute, _answer(studies, name, dispute, one.label), one.reason or ""))
        except UserError as error:
            raise UserError(f"{place}: {error}") from error
    for dispute, answer, why in meant:
        _store(studies, name, dispute, answer, why)
    return len(decisions)


def _meant(name: str, found: Sequence[Dispute], decision: Adjudication) -> Dispute:
    """The disputed answer that a decision is about."""
    fitting = [
        one
        for one in found
        if one.field.item == decision.item
        and decision.question in (None, one.field.question)
        and decision.target in (None, one.field.target)
    ]
    if not fitting:
        raise UserError(
            f"the raters of {name} do not disagree about {decision.item}; label adjudicate {name} lists what they disagree about."
        )
    if len(fitting) > 1:
        several = "; ".join(" ".join(filter(None, (one.field.question, one.field.target))) for one in fitting)
        raise UserError(
            f"{decision.item} has several disputed answers ({several}); name question and target."
        )
    return fitting[0]


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
        view=config.view,
        order=Arrangement.stored(dispute.page).order,
        perspective=config.perspective,
    )
    generation = 0 if last is None else last + 1
    studies.store.write([outcome(decided, str(uuid.uuid4()), generation, time.time())])
    with studies.engine.begin() as connection:
        label = answer.label if answer is not None else None
        detail = {"item": field.item, "question": field.question, "label": label}
        note(connection, name, ADJUDICATED, "decided" if label is not None else "decision taken back", detail)
