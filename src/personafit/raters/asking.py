"""One rating as a keyed job: the key is a hash of everything that could change the answer, and the verdict becomes judgments."""

from collections.abc import Awaitable, Callable
from typing import Any

from personafit._hashing import hash_text
from personafit.engine import Job
from personafit.engine.ask import AskKey, Rows, ask_job
from personafit.items.reading import Part
from personafit.raters.rater import Verdict
from personafit.store import Ask, Judgment, Status


def rating_key(
    *,
    item: str,
    content: str,
    question: str,
    instrument: str,
    rater: str,
    view: str = "none",
    context: str | None = None,
    order: str = "",
    sample: int = 0,
) -> AskKey:
    """The key of a rating; `content` is a hash of what is shown of the item, `instrument` the question's fingerprint."""
    job = hash_text(item, content, instrument, rater, view, context or "", order, str(sample))
    return AskKey(job, item, question, rater, view, context, order, sample)


def rating_job(key: AskKey, rate: Callable[[], Awaitable[Verdict]]) -> Job:
    """The job that asks and turns the verdict into an ask and its judgments."""

    async def ask(_: str) -> Verdict:
        return await rate()

    return ask_job(key, ask, _rows)


def _rows(ask: Ask, verdict: Verdict) -> Rows:
    judgments = []
    if verdict.answers_whole:
        letters = {"letters": verdict.letter_scores} if verdict.letter_scores else None
        judgments.append(_judgment(ask, Part("", verdict.label, verdict.value), verdict.status, letters))
    for part in verdict.parts:
        scores = {"scores": part.scores} if part.scores else None
        judgments.append(_judgment(ask, part, part.status or verdict.status, scores))
    return judgments, []


def _judgment(ask: Ask, part: Part, status: Status, extra: dict[str, Any] | None) -> Judgment:
    return Judgment.built(
        ask=ask.id,
        item=part.item or ask.item,
        question=ask.question,
        rater=ask.rater,
        target=part.target,
        parse=0,
        status=status,
        label=part.label,
        value=part.value,
        extra=extra,
    )
