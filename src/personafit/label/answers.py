"""A rater's answer: what it consists of, what becomes of answers that are written together, and how those that stand are read again.

The unit of saving is one field of one page. Its job key names study, page, question, target and rater; a later answer to the same
field is a later generation and supersedes. The browser gives each answer an id of its own, so one that is sent twice is stored once.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
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
BUSY = "The answer could not be stored just now; it is kept in this browser and sent again."


class NotStored(Exception):
    """An answer that was not stored: a sentence for the rater, and the status by which the browser knows whether to send it again."""

    def __init__(self, sentence: str, code: int) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.code = code


@dataclass(slots=True)
class Answer:
    """One answer on its way into the store: a rater's, one that was imported, or a decision of the researcher's."""

    study: str
    seat: int
    rater: str
    page: str
    field: Field
    answered: LabelValue | None
    """None for what is no label: cannot tell, undone, a text."""
    detail: dict[str, Any]
    """Client time, note, text, and why there is no label; what is None is left out."""
    view: str
    order: str
    perspective: str
    seconds: float = 0.0
    id: str = ""
    """The browser's own id of it, where it came by a browser."""
    position: int = 0
    """Place of the page among the rater's."""
    required: tuple[Field, ...] = ()
    """All required fields of the page: when all have an answer, the page is done."""
    flag: Field | None = None
    """The page's flag: a page that is flagged is done whatever else is open."""

    @property
    def place(self) -> "PagePlace":
        """Where its page stands."""
        return self.study, self.seat, self.position

    def job(self, field: Field) -> str:
        """The key of a field's job, for this page and rater."""
        return job_key(self.study, self.page, field, self.rater)

    def finished(self, stands: Collection[str]) -> bool:
        """Whether its page is done, given which jobs have an answer: all required fields, or the flag."""
        if self.flag is not None and self.job(self.flag) in stands:
            return True
        return all(self.job(field) in stands for field in self.required)


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


def answer_rows(
    answer: Answer, id: str, job: str, generation: int, at: float
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The ask and the judgment of an answer, as rows of their tables; columns that are the same for all are not among them."""
    field = answer.field
    detail = {key: value for key, value in answer.detail.items() if value is not None}
    answered = answer.answered is not None or field.kind == "text"
    common = {
        "item": field.item,
        "question": field.question,
        "rater": answer.rater,
        "status": Status.OK.value if answered and "why" not in detail else Status.SKIPPED.value,
    }
    own = {"id": answer.id} if answer.id else {}
    ask = common | {
        "id": id,
        "job": job,
        "generation": generation,
        "view": answer.view,
        "order": answer.order,
        "detail": storable(orjson.dumps(own | detail).decode()),
        "seconds": answer.seconds,
        "at": at,
    }
    extra: dict[str, Any] = {"perspective": answer.perspective, "study": answer.study}
    extra |= {name: storable(str(detail[name])) for name in ("note", "text", "why") if detail.get(name)}
    label, value = answer.answered or (None, None)
    judgment = {"ask": id, "target": field.target, "label": label, "value": value}
    return ask, common | judgment | {"extra": orjson.dumps(extra).decode()}


def outcome(answer: Answer, id: str, generation: int, at: float) -> Outcome:
    """An answer that came by no browser, as the store writes it."""
    ask, judgment = answer_rows(answer, id, answer.job(answer.field), generation, at)
    judgment["extra"] = orjson.loads(judgment["extra"])
    return Outcome(ask=Ask(**ask), judgments=[Judgment(**judgment)])


PagePlace = tuple[str, int, int]
"""Study, seat and position."""


class Standing(NamedTuple):
    """How it is with a page of a seat."""

    page: str
    rater: str
    """The rater's state."""
    study: str
    """The study's state."""


class StoredAsk(NamedTuple):
    """An ask that the store already has for an answer."""

    job: str
    id: str
    generation: int
    undone: bool


class AnswerBatch:
    """Answers that are written to the store in one transaction: which are new, what is stored of them, and which pages they finish.

    Nothing here touches the database: it is told what stands there and says what to add.
    """

    def __init__(self, answers: Sequence[Answer]) -> None:
        self._answers = answers
        self._jobs = [answer.job(answer.field) for answer in answers]
        self.asks: list[dict[str, Any]] = []
        self.judgments: list[dict[str, Any]] = []
        self.pages: dict[PagePlace, bool] = {}
        """Pages that got a new answer, and whether they are done now."""
        self.results: list[AnswerReceipt | NotStored] = []

    def places(self) -> list[PagePlace]:
        """The pages the answers are about."""
        return sorted({answer.place for answer in self._answers})

    def jobs(self) -> list[str]:
        """The jobs whose asks must be known: those answered, and all of a page that one answer does not settle."""
        jobs = set(self._jobs)
        for answer in self._answers:
            required = answer.required
            alone = len(required) == 1 and required[0] is answer.field and "why" not in answer.detail
            if not alone:
                jobs.update(answer.job(field) for field in (*required, answer.flag) if field is not None)
        return sorted(jobs)

    def settle(self, standing: dict[PagePlace, Standing], held: Sequence[StoredAsk], now: float) -> None:
        """Work out what is added, given how it is with the pages and which asks there are."""
        generations: dict[str, dict[str, int]] = {}
        latest: dict[str, tuple[int, bool]] = {}
        for ask in held:
            generations.setdefault(ask.job, {})[ask.id] = ask.generation
            if ask.generation >= latest.get(ask.job, (-1, False))[0]:
                latest[ask.job] = (ask.generation, not ask.undone)
        pages: dict[PagePlace, Answer] = {}
        for answer, job in zip(self._answers, self._jobs, strict=True):
            place = answer.place
            refused = _refused(standing.get(place), answer.page)
            if refused is not None:
                self.results.append(refused)
                continue
            # A browser's id counts for this field of this rater alone, whoever else may use the same.
            id, known = hash_text("answer", job, answer.id), generations.setdefault(job, {})
            if id not in known:
                known[id] = max(known.values(), default=-1) + 1
                latest[job] = (known[id], answer.detail.get("why") != UNDONE)
                asked, judged = answer_rows(answer, id, job, known[id], now)
                self.asks.append(asked)
                self.judgments.append(judged)
                pages[place] = answer
            self.results.append(AnswerReceipt(answer.id, known[id], False))
        stands = {job for job, (_, stands) in latest.items() if stands}
        self.pages = {place: answer.finished(stands) for place, answer in pages.items()}
        self.results = [
            one._replace(done=answer.finished(stands)) if isinstance(one, AnswerReceipt) else one
            for answer, one in zip(self._answers, self.results, strict=True)
        ]

    def done_rows(self, now: float) -> list[dict[str, Any]]:
        """When each page was done, or that it is not."""
        return [
            {"study": study, "seat": seat, "position": position, "done": now if done else None}
            for (study, seat, position), done in sorted(self.pages.items())
        ]


def _refused(standing: Standing | None, page: str) -> NotStored | None:
    """Why an answer is not taken, if it is not."""
    if standing is None or standing.page != page:
        return NotStored(GONE, 404)
    if standing.study != "open" or standing.rater == RaterState.PAUSED:
        return NotStored(PAUSED, 403)
    return None if standing.rater in (RaterState.ACTIVE, RaterState.DONE) else NotStored(CLOSED, 403)
