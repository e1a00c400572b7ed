"""What becomes of answers that are written together: which are new, what is stored of them, and which pages they finish.

Nothing here touches the database: it is told what stands there and says what to add.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson

from personafit._hashing import hash_text
from personafit.labeling.answers import UNDONE, Answer, AnswerReceipt, NotStored
from personafit.labeling.records import RaterState
from personafit.store import Status
from personafit.store.rows import storable

PAUSED = "This study is paused at the moment; your answers so far are kept."
CLOSED = "This study is closed for you; your answers so far are kept."
GONE = "The study has changed and this page is not part of it any more; please reload."

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
    """Answers that are written to the store in one transaction."""

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
        return sorted({_place(answer) for answer in self._answers})

    def jobs(self) -> list[str]:
        """The jobs whose asks must be known: those answered, and all of a page that one answer does not settle."""
        jobs = set(self._jobs)
        for answer in self._answers:
            if not _settles(answer):
                jobs.update(_page_jobs(answer))
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
            place = _place(answer)
            refused = _refused(standing.get(place), answer.page)
            if refused is not None:
                self.results.append(refused)
                continue
            # A browser's id counts for this field of this rater alone, whoever else may use the same.
            id, known = hash_text("answer", job, answer.id), generations.setdefault(job, {})
            if id not in known:
                known[id] = max(known.values(), default=-1) + 1
                latest[job] = (known[id], answer.detail.get("why") != UNDONE)
                self._add(answer, id, job, known[id], now)
                pages[place] = answer
            self.results.append(AnswerReceipt(answer.id, known[id], False))
        stands = {job for job, (_, stands) in latest.items() if stands}
        self.pages = {place: _finished(answer, stands) for place, answer in pages.items()}
        self.results = [
            one._replace(done=_finished(answer, stands)) if isinstance(one, AnswerReceipt) else one
            for answer, one in zip(self._answers, self.results, strict=True)
        ]

    def done_rows(self, now: float) -> list[dict[str, Any]]:
        """When each page was done, or that it is not."""
        return [
            {"study": study, "seat": seat, "position": position, "done": now if done else None}
            for (study, seat, position), done in sorted(self.pages.items())
        ]

    def _add(self, answer: Answer, id: str, job: str, generation: int, now: float) -> None:
        field, detail = answer.field, answer.detail
        status = Status.OK if answer.answered is not None or field.kind == "text" else Status.SKIPPED
        common = {
            "item": field.item,
            "question": field.question,
            "rater": answer.rater,
            "status": status.value,
        }
        self.asks.append(
            common
            | {
                "id": id,
                "job": job,
                "generation": generation,
                "view": answer.view,
                "order": answer.order,
                "detail": storable(orjson.dumps({"id": answer.id} | detail).decode()),
                "seconds": answer.seconds,
                "at": now,
            }
        )
        extra: dict[str, Any] = {"perspective": answer.perspective, "study": answer.study}
        for name in ("note", "text", "why"):
            if detail.get(name):
                extra[name] = storable(str(detail[name]))
        label, value = answer.answered or (None, None)
        self.judgments.append(
            common
            | {
                "ask": id,
                "target": field.target,
                "label": label,
                "value": value,
                "extra": orjson.dumps(extra).decode(),
            }
        )


def _place(answer: Answer) -> PagePlace:
    return answer.study, answer.seat, answer.position


def _settles(answer: Answer) -> bool:
    """Whether the answer alone makes its page done: it has one required field, and this is a choice for it."""
    return len(answer.required) == 1 and answer.required[0] is answer.field and "why" not in answer.detail


def _page_jobs(answer: Answer) -> list[str]:
    fields = answer.required if answer.flag is None else (*answer.required, answer.flag)
    return [answer.job(field) for field in fields]


def _finished(answer: Answer, stands: set[str]) -> bool:
    """Whether a page is done: all required fields have an answer, or it is flagged."""
    if answer.flag is not None and answer.job(answer.flag) in stands:
        return True
    return all(answer.job(field) in stands for field in answer.required)


def _refused(standing: Standing | None, page: str) -> NotStored | None:
    """Why an answer is not taken, if it is not."""
    if standing is None or standing.page != page:
        return NotStored(GONE, 404)
    if standing.study != "open" or standing.rater == RaterState.PAUSED:
        return NotStored(PAUSED, 403)
    return None if standing.rater in (RaterState.ACTIVE, RaterState.DONE) else NotStored(CLOSED, 403)
