"""A rater's answer: its contents, how a batch of answers is settled, and how standing answers are read back.

The unit of saving is one field of one page. Its job key names study, page, question, target and rater; a later answer to the same field
gets a higher generation and supersedes the earlier one. The browser gives each answer its own id, so an answer that is sent twice is stored
once.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import orjson
from sqlalchemy import select

from personafit._hashing import hash_text
from personafit.label.forms import LabelValue
from personafit.label.records import Field, Hashed, RaterState
from personafit.store import Ask, Judgment, Outcome, Status, Store
from personafit.store import tables as t
from personafit.store.records import storable

UNDONE = "undone"
CANNOT_TELL = "cannot tell"
PAUSED = "This study is paused at the moment; your answers so far are kept."
CLOSED = "This study is closed for you; your answers so far are kept."
GONE = "The study has changed and this page is not part of it any more; please reload."
REUSED = "Another answer was stored under the same id before; please reload the page and answer again."
BUSY = "The answer could not be stored just now; it is kept in this browser and sent again."


class NotStored(Exception):
    """An answer that was rejected, with a sentence for the rater and an HTTP status that tells the browser whether to retry."""

    def __init__(self, sentence: str, code: int) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.code = code


@dataclass(slots=True)
class Answer:
    """One answer to be stored: from a rater, an import, or a researcher's decision."""

    study: str
    seat: int
    rater: str
    page: str
    field: Field
    answered: LabelValue | None
    """The label and value; None if there is no label: cannot tell, undone, or free text."""
    detail: dict[str, Any]
    """Client time, note, text, and why there is no label; entries that are None are not stored."""
    context: str
    order: str
    perspective: str
    seconds: float = 0.0
    id: str = ""
    """Id given by the browser, if the answer came from one."""
    position: int = 0
    """Position of the page in the rater's sequence."""
    required: tuple[Field, ...] = ()
    """All required fields of the page; the page is done when each has an answer."""
    flag: Field | None = None
    """The page's flag field; a flagged page counts as done even if other fields are open."""
    at: float | None = None
    """Time of the answer, if it was not given now."""

    @property
    def place(self) -> "PagePlace":
        return self.study, self.seat, self.position

    def job(self, field: Field) -> str:
        return job_key(self.study, self.page, field, self.rater)

    def finished(self, stands: Collection[str]) -> bool:
        """Return whether the page is done, given the answered jobs: all required fields, or the flag."""
        if self.flag is not None and self.job(self.flag) in stands:
            return True
        return all(self.job(field) in stands for field in self.required)


class AnswerReceipt(NamedTuple):
    """The acknowledgement of a stored answer that the browser receives."""

    id: str
    generation: int
    done: bool


def page_key(page: str, rater: str, hashed: Hashed) -> str:
    """Return the key by which the browser identifies a page, as positions shift when earlier pages are removed."""
    return hashed("page key", page, rater)[:16]


def job_key(study: str, page: str, field: Field, rater: str) -> str:
    """Return the job key of one field of one page for one rater."""
    return _hashed("study", study, page, field.item, field.question, field.target, rater)


_hashed = lru_cache(10_000)(hash_text)  # each stored answer needs the keys of its page several times


class Given(NamedTuple):
    """The standing answer to a field."""

    generation: int
    status: Status
    label: str | None
    value: float | None
    detail: dict[str, Any]
    order: str
    at: float
    seconds: float


def standing_answers(store: Store, jobs: Sequence[str]) -> dict[str, Given]:
    """Return the latest answer to each of these jobs; answers that were undone are absent."""
    found: dict[str, Given] = {}
    ask, judgment = t.asks.c, t.judgments.c
    query = select(
        ask.job, ask.generation, ask.status, ask.detail, ask.order, ask.at, ask.seconds, judgment.label, judgment.value
    ).join(t.judgments, judgment.ask == ask.id)  # fmt: skip
    for row in store.rows_among(query, t.asks.c.job, jobs):
        if row.job not in found or found[row.job].generation <= row.generation:
            detail = orjson.loads(row.detail) if row.detail else {}
            said = (row.label, row.value, detail, row.order, row.at, row.seconds)
            found[row.job] = Given(row.generation, Status(row.status), *said)
    return {job: given for job, given in found.items() if given.detail.get("why") != UNDONE}


def outcome(answer: Answer, id: str, generation: int, at: float) -> Outcome:
    """Build the ask and the judgment that the store keeps for an answer."""
    detail = {key: value for key, value in answer.detail.items() if value is not None}
    answered = answer.answered is not None or answer.field.kind == "text"
    common = {
        "item": answer.field.item,
        "question": answer.field.question,
        "rater": answer.rater,
        "status": Status.OK if answered and "why" not in detail else Status.SKIPPED,
    }
    ask = Ask(
        **common,
        id=id,
        job=answer.job(answer.field),
        generation=generation,
        context=answer.context,
        order=answer.order,
        detail=orjson.dumps(({"id": answer.id} if answer.id else {}) | detail).decode(),
        seconds=answer.seconds,
        at=at,
    )
    extra = {"perspective": answer.perspective, "study": answer.study}
    extra |= {name: storable(str(detail[name])) for name in ("note", "text", "why") if detail.get(name)}
    label, value = answer.answered or (None, None)
    judged = Judgment(**common, ask=id, target=answer.field.target, label=label, value=value, extra=extra)
    return Outcome(ask=ask, judgments=[judged])


PagePlace = tuple[str, int, int]


class Standing(NamedTuple):
    """The current state of a page of a seat."""

    page: str
    rater: str
    """State of the rater."""
    study: str
    """State of the study."""
    done: float | None = None
    """When the page was completed, if it is."""
    seen: float | None = None
    """When the rater was last recorded as active."""


class StoredAsk(NamedTuple):
    """An ask already stored for a field, with its label and detail."""

    job: str
    id: str
    generation: int
    label: str | None
    detail: dict[str, Any]

    @property
    def undone(self) -> bool:
        return self.detail.get("why") == UNDONE

    def says(self, other: Outcome) -> bool:
        """Return whether an answer under the same id has the same content, ignoring the browser's clock."""
        detail, (judged,) = orjson.loads(other.ask.detail or "{}"), other.judgments
        words = ((self.detail.get(name), detail.get(name)) for name in ("text", "why", "note"))
        same = all(storable(old or "") == storable(new or "") for old, new in words)
        return same and self.label == judged.label


class AnswerBatch:
    """Answers written in one transaction: works out which are new, how each is acknowledged and which pages they complete.

    Nothing here touches the database: the caller passes in the stored state and writes what is `added`.
    """

    def __init__(self, answers: Sequence[Answer]) -> None:
        self._answers = answers
        self._jobs = [answer.job(answer.field) for answer in answers]
        self.added: list[Outcome] = []
        self.pages: dict[PagePlace, bool] = {}
        """Pages that received a new answer, and whether they are now done."""
        self.results: list[AnswerReceipt | NotStored] = []

    def places(self) -> list[PagePlace]:
        return sorted({answer.place for answer in self._answers})

    def jobs(self) -> list[str]:
        """Return the jobs whose asks must be looked up: all required fields of the pages, their flags, and the answered fields."""
        asked = {
            answer.job(field)
            for answer in self._answers
            for field in (*answer.required, answer.flag)
            if field is not None
        }
        return sorted(asked.union(self._jobs))

    def settle(self, standing: dict[PagePlace, Standing], held: Sequence[StoredAsk], now: float) -> None:
        """Work out `added`, `pages` and `results` from the state of the pages and the asks already stored."""
        known: dict[str, dict[str, StoredAsk]] = {}
        for ask in held:
            known.setdefault(ask.job, {})[ask.id] = ask
        pages: dict[PagePlace, Answer] = {}
        for answer, job in zip(self._answers, self._jobs, strict=True):
            refused = _refused(standing.get(answer.place), answer.page)
            if refused is not None:
                self.results.append(refused)
                continue
            # The browser's id is scoped to this field and rater, so ids of other raters cannot collide with it.
            id, mine = hash_text("answer", job, answer.id), known.setdefault(job, {})
            generation = max((ask.generation for ask in mine.values()), default=-1) + 1
            new = outcome(answer, id, generation, now if answer.at is None else answer.at)
            if id not in mine:
                mine[id] = StoredAsk(job, id, generation, new.judgments[0].label, answer.detail)
                self.added.append(new)
                pages[answer.place] = answer
            elif not mine[id].says(new):
                self.results.append(NotStored(REUSED, 409))
                continue
            self.results.append(AnswerReceipt(answer.id, mine[id].generation, False))
        latest = {
            job: max(asks.values(), key=lambda ask: ask.generation) for job, asks in known.items() if asks
        }
        stands = {job for job, ask in latest.items() if not ask.undone}
        self.pages = {place: answer.finished(stands) for place, answer in pages.items()}
        self.results = [
            one._replace(done=answer.finished(stands)) if isinstance(one, AnswerReceipt) else one
            for answer, one in zip(self._answers, self.results, strict=True)
        ]


def _refused(standing: Standing | None, page: str) -> NotStored | None:
    """Return why an answer is rejected; None if it is accepted."""
    if standing is None or standing.page != page:
        return NotStored(GONE, 404)
    if standing.study != "open" or standing.rater == RaterState.PAUSED:
        return NotStored(PAUSED, 403)
    return None if standing.rater in (RaterState.ACTIVE, RaterState.DONE) else NotStored(CLOSED, 403)
