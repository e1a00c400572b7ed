"""What is exported, read once: votes, what they come to item by item, remarks, chats, and the pages as they were shown."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any

import orjson
import polars as pl
from sqlalchemy import select

from personafit.labeling.adjudicating import labels_of
from personafit.labeling.agreement import QuestionAgreement, study_agreement
from personafit.labeling.records import Arrangement, Field, Page, RaterState, Role
from personafit.labeling.studies import Studies, Study
from personafit.labeling.votes import adjudicated_votes, stored_page, study_remarks, study_votes
from personafit.store import tables as s

VOTE_COLUMNS = (
    "study", "item", "question", "target", "rater", "kind", "label", "value", "status", "why", "text", "note", "order",
    "seconds", "at", "client_time", "perspective", "generation", "page", "role", "person", "weight",
)  # fmt: skip
AGGREGATE = {
    "item": pl.String,
    "question": pl.String,
    "target": pl.String,
    "person": pl.String,
    "votes": pl.Int64,
    "counts": pl.String,
    "majority": pl.String,
    "share": pl.Float64,
    "cannot_tell": pl.Int64,
    "adjudicated": pl.String,
}
CHATS = {"page": pl.String, "rater": pl.String, "turn": pl.Int64, "role": pl.String, "text": pl.String}


@dataclass(frozen=True)
class ExportField:
    """One field of a page as exports name it, with its possible labels."""

    name: str
    """A name that is the same on every page: the question, and the place where there are several."""
    field: Field
    labels: tuple[str, ...]
    key: tuple[str, str, str]
    """How a vote finds it; see `vote_key`."""


@dataclass(frozen=True)
class StudyExport:
    """All that an export of a study holds."""

    study: Study
    guidelines: str
    pages: list[Page]
    shown: dict[str, dict[str, Any]]
    """The texts of each page as raters saw them, by page."""
    fields: dict[str, list[ExportField]]
    """By page."""
    votes: pl.DataFrame
    aggregate: pl.DataFrame
    """What the votes come to: one row for each item, question and target."""
    remarks: pl.DataFrame
    chats: pl.DataFrame
    decisions: pl.DataFrame
    agreement: list[QuestionAgreement]
    excluded: int
    """Raters who are left out."""

    @cached_property
    def questions(self) -> dict[str, ExportField]:
        """Every field by its name, with the labels it can have on any page."""
        found: dict[str, ExportField] = {}
        for one in chain.from_iterable(self.fields.values()):
            before = found.get(one.name, one)
            found[one.name] = replace(before, labels=tuple(dict.fromkeys((*before.labels, *one.labels))))
        return found


def read_study(studies: Studies, name: str) -> StudyExport:
    """Read a study for export: standing votes of raters who are not excluded."""
    study, form = studies.study(name), studies.form(name)
    pages = studies.pages(name, (Role.ITEM,))
    weight = pl.col("item").replace_strict(study.config.weights, default=None, return_dtype=pl.Float64)
    votes = study_votes(studies, name).with_columns(pl.lit(name).alias("study"), weight.alias("weight"))
    votes = votes.select(VOTE_COLUMNS)
    decisions = adjudicated_votes(studies, name)
    seats = studies.seats(name)
    out = {seat.code for seat in seats if seat.state is RaterState.EXCLUDED}
    remarks = study_remarks(studies, name).filter(~pl.col("rater").is_in(out))
    return StudyExport(
        study=study,
        guidelines=study.config.guidelines or form.guidelines[study.config.language],
        pages=pages,
        shown={page.id: stored_page(form, page) for page in pages},
        fields={page.id: _asked(studies, name, page) for page in pages},
        votes=votes,
        aggregate=_aggregate(votes, decisions),
        remarks=remarks.select("page", "person", "rater", "kind", "question", "label", "text", "at"),
        chats=_chats(studies, name, out),
        decisions=decisions,
        agreement=study_agreement(studies, name, study_votes(studies, name)),
        excluded=len(out),
    )


def _asked(studies: Studies, name: str, page: Page) -> list[ExportField]:
    fields = studies.form(name).fields(page, Arrangement.stored(page))
    many = Counter(field.question for field in fields)
    place: Counter[str] = Counter()
    found = []
    for field in fields:
        place[field.question] += 1
        called = f"{field.question}_{place[field.question]}" if many[field.question] > 1 else field.question
        key = vote_key(page, field.item, field.question, field.target)
        found.append(ExportField(called, field, tuple(labels_of(studies, name, page, field)), key))
    return found


def vote_key(page: Page, item: str, question: str, target: str) -> tuple[str, str, str]:
    """What a vote on a page is about; where raters make the item themselves, each has another one."""
    return ("" if page.makes else item, question, target)


def _aggregate(votes: pl.DataFrame, decisions: pl.DataFrame) -> pl.DataFrame:
    unit = ["item", "question", "target"]
    decided = {tuple(row[:3]): row[3] for row in decisions.select(*unit, "label").iter_rows()}
    rows: list[dict[str, Any]] = []
    for key, part in votes.group_by(unit, maintain_order=True):
        counts = Counter(part["label"].drop_nulls()).most_common()
        skipped = part.filter(pl.col("status") == "skipped").height
        if not counts and not skipped:
            continue  # texts come to nothing
        total = sum(count for _, count in counts)
        tied = len(counts) > 1 and counts[0][1] == counts[1][1]
        rows.append(
            {
                **dict(zip(unit, key, strict=True)),
                "person": part["person"][0],
                "votes": total,
                "counts": orjson.dumps(dict(counts)).decode(),
                "majority": None if tied or not counts else counts[0][0],
                "share": counts[0][1] / total if counts else None,
                "cannot_tell": skipped,
                "adjudicated": decided.get(tuple(map(str, key))),
            }
        )
    return pl.DataFrame(rows, schema=AGGREGATE, orient="row")


def _chats(studies: Studies, name: str, out: set[str]) -> pl.DataFrame:
    codes = {seat.seat: seat.code for seat in studies.seats(name) if seat.code not in out}
    chats = s.study_chats.c
    query = (
        select(chats.page, chats.seat, chats.turn, chats.role, chats.text)
        .where(chats.study == name, chats.seat.in_(codes))
        .order_by(chats.seat, chats.page, chats.turn)
    )
    rows = [(row.page, codes[row.seat], row.turn, row.role, row.text) for row in studies.store.rows(query)]
    return pl.DataFrame(rows, schema=CHATS, orient="row")


def page_text(shown: Mapping[str, Any]) -> str:
    """Everything on the page, in the order stored."""
    return "\n\n".join(f"{name.upper()}\n{_plain(value)}" for name, value in shown.items())


def _plain(value: Any, depth: int = 0) -> str:
    indent = "  " * depth
    if isinstance(value, dict) and set(value) in ({"role", "text"}, {"letter", "text"}):
        who, said = value.values()
        return f"{indent}{who}: {said}"
    if isinstance(value, dict):
        return "\n".join(f"{indent}{key}: {_plain(one, depth + 1).lstrip()}" for key, one in value.items())
    if isinstance(value, list):
        return "\n".join(
            f"{indent}[{number}] {_plain(one, depth + 1).lstrip()}" for number, one in enumerate(value, 1)
        )
    return f"{indent}{'' if value is None else value}"
