"""A rater's answer: what it consists of on its way into the store, and how the answers that stand are read again.

The unit of saving is one field of one page. Its job key names study, page, question, target and rater; a later answer to the same
field is a later generation and supersedes. The browser gives each answer an id of its own, so one that is sent twice is stored once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson
from sqlalchemy import select

from personafit._hashing import hash_text
from personafit.labeling.forms import LabelValue
from personafit.labeling.keying import Hashed
from personafit.labeling.records import Field, StudyConfig
from personafit.store import Ask, Judgment, Outcome, Status, Store
from personafit.store import tables as t
from personafit.store.rows import storable

UNDONE = "undone"
CANNOT_TELL = "cannot tell"
BUSY = "The answer could not be stored just now; it is kept in this browser and sent again."


class NotStored(Exception):
    """An answer that was not stored: a sentence for the rater, and the status by which the browser knows whether to send it again."""

    def __init__(self, sentence: str, code: int) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.code = code


@dataclass(slots=True)
class Answer:
    """One answer on its way into the store."""

    id: str
    """The browser's own id of it."""
    study: str
    seat: int
    rater: str
    position: int
    page: str
    field: Field
    answered: LabelValue | None
    """None for what is no label: cannot tell, undone, a text."""
    detail: dict[str, Any]
    """Client time, note, text, and why there is no label."""
    view: str
    order: str
    perspective: str
    seconds: float
    required: tuple[Field, ...]
    """All required fields of the page: when all have an answer, the page is done."""
    flag: Field | None = None
    """The page's flag: a page that is flagged is done whatever else is open."""

    def job(self, field: Field) -> str:
        """The key of a field's job, for this page and rater."""
        return job_key(self.study, self.page, field, self.rater)


class AnswerReceipt(NamedTuple):
    """What the browser is told about a stored answer."""

    id: str
    generation: int
    done: bool
    """Whether the page is done."""


def page_key(page: str, rater: str, hashed: Hashed) -> str:
    """What the browser calls a page, beside its place, which changes when pages before it are removed."""
    return hashed("page key", page, rater)[:16]


def job_key(study: str, page: str, field: Field, rater: str) -> str:
    """The job key of one field of one page for one rater."""
    return hash_text("study", study, page, field.item, field.question, field.target, rater)


class Given(NamedTuple):
    """The answer that stands for a field."""

    generation: int
    status: Status
    label: str | None
    value: float | None
    detail: dict[str, Any]
    order: str
    at: float
    seconds: float


def standing_answers(store: Store, jobs: Sequence[str]) -> dict[str, Given]:
    """The last answer to each of these jobs; one that was undone is absent."""
    found: dict[str, Given] = {}
    columns = (
        t.asks.c.job,
        t.asks.c.generation,
        t.asks.c.status,
        t.asks.c.detail,
        t.asks.c.order,
        t.asks.c.at,
    )
    query = select(*columns, t.asks.c.seconds, t.judgments.c.label, t.judgments.c.value).join(
        t.judgments, t.judgments.c.ask == t.asks.c.id
    )
    for row in store.rows_among(query, t.asks.c.job, jobs):
        if row.job not in found or found[row.job].generation <= row.generation:
            detail = orjson.loads(row.detail) if row.detail else {}
            found[row.job] = Given(
                row.generation,
                Status(row.status),
                row.label,
                row.value,
                detail,
                row.order,
                row.at,
                row.seconds,
            )
    return {job: given for job, given in found.items() if given.detail.get("why") != UNDONE}


class AnswerEntry(NamedTuple):
    """One answer of a rater, as it is written to asks and judgments."""

    id: str
    job: str
    generation: int
    field: Field
    rater: str
    answer: LabelValue | None
    """None where there is no label."""
    detail: dict[str, Any]
    """Client time, note, text, and why there is no label; what is None is left out."""
    perspective: str
    order: str
    at: float
    seconds: float = 0.0


def outcome(study: str, config: StudyConfig, entry: AnswerEntry) -> Outcome:
    """The ask and the judgment of an answer, as the browser's answers are stored."""
    field, detail = entry.field, {key: value for key, value in entry.detail.items() if value is not None}
    detail = {key: storable(value) if isinstance(value, str) else value for key, value in detail.items()}
    answered = entry.answer is not None or field.kind == "text"
    status = Status.OK if answered and "why" not in detail else Status.SKIPPED
    extra = {"perspective": entry.perspective, "study": study}
    ask = Ask(
        id=entry.id,
        job=entry.job,
        generation=entry.generation,
        item=field.item,
        question=field.question,
        rater=entry.rater,
        view=config.view,
        order=entry.order,
        status=status,
        detail=orjson.dumps(detail).decode(),
        seconds=entry.seconds,
        at=entry.at,
    )
    label, value = entry.answer or (None, None)
    judgment = Judgment(
        ask=ask.id,
        item=field.item,
        question=field.question,
        rater=entry.rater,
        target=field.target,
        status=status,
        label=label,
        value=value,
        extra=extra | {name: detail[name] for name in ("note", "text", "why") if name in detail},
    )
    return Outcome(ask=ask, judgments=[judgment])
