"""Deciding what raters disagree about: disputed answers, the hardest first, and decisions by rater `adjudicated`.

A decision is an answer like any other: it can be changed and taken back, and none is lost. Gold prefers it to the majority; votes
stay as they are.
"""

import csv
import time
import uuid
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl
from sqlalchemy import func, select

from personafit._errors import UserError
from personafit.labeling.answers import UNDONE, Answer, job_key, outcome
from personafit.labeling.forms import LabelValue
from personafit.labeling.planning import note
from personafit.labeling.records import Arrangement, Field, Page, Role
from personafit.labeling.studies import ADJUDICATED, Studies
from personafit.labeling.votes import DECIDING, adjudicated_votes, study_votes
from personafit.store import Outcome, RaterRecord
from personafit.store import tables as t


class Vote(NamedTuple):
    """What one rater said."""

    rater: str
    kind: str
    label: str
    note: str | None


class Dispute(NamedTuple):
    """One field that was not answered alike, or that was decided."""

    key: str
    """The job key of the decision, by which pages and commands name it."""
    page: Page
    field: Field
    votes: list[Vote]
    counts: dict[str, int]
    """Votes by label, the most frequent first."""
    decided: str | None
    why: str | None

    @property
    def share(self) -> float:
        """The share of the most frequent label."""
        return max(self.counts.values(), default=0) / max(1, sum(self.counts.values()))


def disputes(studies: Studies, name: str) -> list[Dispute]:
    """Everything that raters gave different labels to, the least agreed first, then in the order of pages."""
    votes = study_votes(studies, name).filter(pl.col("label").is_not_null())
    decided = {
        (row["item"], row["question"], row["target"]): row
        for row in adjudicated_votes(studies, name).iter_rows(named=True)
    }
    given: dict[tuple[str, str, str, str], list[Vote]] = {}
    for row in votes.iter_rows(named=True):
        unit = (row["page"], row["item"], row["question"], row["target"])
        given.setdefault(unit, []).append(Vote(row["rater"], row["kind"], row["label"], row["note"]))
    form, found = studies.form(name), []
    for page in studies.pages(name, (Role.ITEM,)):
        for field in form.fields(page, Arrangement.stored(page)):
            said = given.get((page.id, field.item, field.question, field.target), [])
            counts = Counter(vote.label for vote in said)
            decision = decided.get((field.item, field.question, field.target))
            if len(counts) > 1 or decision is not None:
                key = job_key(name, page.id, field, ADJUDICATED)
                label, why = (decision["label"], decision["note"]) if decision else (None, None)
                found.append(Dispute(key, page, field, said, dict(counts.most_common()), label, why))
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


class Adjudication(NamedTuple):
    """A decision on a disputed label, as an adjudicator writes it down."""

    item: str
    question: str
    """Empty where the item is asked one."""
    target: str
    """Empty where the item has one."""
    label: str | None
    """None takes a decision back."""
    why: str
    place: str
    """Where it was written, for messages."""


def read_decisions(path: Path) -> list[Adjudication]:
    """Decisions from a CSV file with the columns item and label, and question, target, reason where they are needed."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            missing = {"item", "label"} - set(reader.fieldnames or ())
            if missing:
                raise UserError(f"{path}, line 1: there is no column {' or '.join(sorted(missing))}.")
            return [
                Adjudication(
                    row["item"] or "",
                    row.get("question") or "",
                    row.get("target") or "",
                    row["label"] or None,
                    row.get("reason") or "",
                    f"{path}, line {reader.line_num}",
                )
                for row in reader
            ]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path} cannot be read as CSV: {error}.") from error


def decide_all(studies: Studies, name: str, decisions: Sequence[Adjudication]) -> int:
    """Store decisions, all or none; returns how many."""
    found = disputes(studies, name)
    meant = [(one, _meant(name, found, one)) for one in decisions]
    answers = []
    for one, dispute in meant:
        try:
            answers.append(_answer(studies, name, dispute, one.label))
        except UserError as error:
            raise UserError(f"{one.place}: {error}") from error
    for (one, dispute), answer in zip(meant, answers, strict=True):
        _store(studies, name, dispute, answer, one.why)
    return len(decisions)


def _meant(name: str, found: Sequence[Dispute], decision: Adjudication) -> Dispute:
    """The disputed answer that a decision is about."""
    fitting = [
        one
        for one in found
        if one.field.item == decision.item
        and decision.question in ("", one.field.question)
        and decision.target in ("", one.field.target)
    ]
    if not fitting:
        raise UserError(
            f"{decision.place}: the raters of {name} do not disagree about {decision.item or 'an item without a name'}; "
            f"label adjudicate {name} lists what they disagree about."
        )
    if len(fitting) > 1:
        several = "; ".join(" ".join(filter(None, (one.field.question, one.field.target))) for one in fitting)
        raise UserError(
            f"{decision.place}: {decision.item} has several disputed answers ({several}); name question and target."
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
    label, store = answer.label if answer is not None else None, studies.store
    store.add_raters([RaterRecord(fingerprint=ADJUDICATED, name=ADJUDICATED, kind="gold")])
    store.write([_outcome(studies, name, dispute, answer, why.strip())])
    with studies.engine.begin() as connection:
        detail = {"item": dispute.field.item, "question": dispute.field.question, "label": label}
        note(connection, name, ADJUDICATED, "decided" if label is not None else "decision taken back", detail)


def _outcome(studies: Studies, name: str, dispute: Dispute, answer: LabelValue | None, why: str) -> Outcome:
    config = studies.study(name).config
    ((last,),) = studies.store.rows(select(func.max(t.asks.c.generation)).where(t.asks.c.job == dispute.key))
    decided = Answer(
        study=name,
        seat=DECIDING,
        rater=ADJUDICATED,
        page=dispute.page.id,
        field=dispute.field,
        answered=answer,
        detail={"note": why or None, "why": UNDONE if answer is None else None},
        view=config.view,
        order=Arrangement.stored(dispute.page).order,
        perspective=config.perspective,
    )
    return outcome(decided, str(uuid.uuid4()), 0 if last is None else last + 1, time.time())
