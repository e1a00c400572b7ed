"""What a rater is: someone who answers questions about items, with a fingerprint of all that shapes the answer; one rating as a keyed
job, and all of a rater's as a lane.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, ClassVar

from personafit._hashing import content_hash, hash_text
from personafit.engine import Job, Lane
from personafit.engine.ask import AskKey, Rows, ask_job
from personafit.items.reading import PartAnswer, Question, Shown, Verdict
from personafit.models import ChatRequest
from personafit.models.tokens import estimated_cost
from personafit.store import Ask, Judgment, RaterRecord, Status


class Rater(ABC):
    """Who answers. The attributes say how it is asked; those of a rater that calls no model are the defaults."""

    record: RaterRecord
    """Who it is, with its fingerprint."""
    questions: tuple[Question, ...]
    """What it is asked about each item."""
    kinds: ClassVar[tuple[str, ...] | None] = None
    """Kinds of item that it can judge; None for any."""
    endpoint: str = "here"
    """Raters of one endpoint share its limit on calls at once."""
    max_concurrency: int = 1
    """The most calls at once."""
    price: tuple[float, float] | None = (0.0, 0.0)
    """USD per million tokens in and out; None when unknown."""
    order_matters: bool = False
    """Whether it sees the answers side by side, so that both orders are asked."""
    most_parts: int | None = None
    """How many attributes of a list it gets at once; None for all."""
    needs_prompt: bool = False
    """Whether it has nothing to go by without the person's prompt."""
    samples: int = 1
    """How often it is asked the same, where that is the rater's to say."""
    fitted_on: frozenset[str] = frozenset()
    """Marks of the people or prompts that it was fitted on: its score on them is no evidence."""

    @abstractmethod
    async def rate(self, shown: Shown) -> Verdict:
        """Answer the question about what is shown: one answer for each part."""

    def request(self, shown: Shown) -> ChatRequest | None:
        """The model call that would be made, for estimates; None when none is."""
        return None

    async def close(self) -> None:  # noqa: B027  # most have nothing to release
        """Release what it holds."""


def rater_record(name: str, kind: str, settings: dict[str, Any]) -> RaterRecord:
    """The record of a rater; the fingerprint is a hash of kind and settings, not of the name."""
    return RaterRecord(fingerprint=content_hash([kind, settings]), name=name, kind=kind, settings=settings)


SHORT_REPLY = 16  # tokens; a model that reasons first shows its real cost with the first reply


def key_of(
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
    """The key of an ask; `content` is a hash of what is shown, `instrument` what the question is known by."""
    job = hash_text(item, content, instrument, rater, view, context or "", order, str(sample))
    return AskKey(job, item, question, rater, view, context, order, sample)


def rating_key(rater: Rater, shown: Shown) -> AskKey:
    """The key of a rating."""
    return key_of(
        item=shown.about,
        content=shown.content,
        question=shown.question.name,
        instrument=shown.question.instrument,
        rater=rater.record.fingerprint,
        view=shown.context.name,
        context=shown.context_id,
        order=shown.place,
        sample=shown.sample,
    )


def rating_job(rater: Rater, shown: Shown) -> Job:
    """The job that puts what is shown before a rater and stores its judgments."""

    async def ask(_: str) -> Verdict:
        return await rated(rater, shown)

    return ask_job(rating_key(rater, shown), ask, _rows)


async def rated(rater: Rater, shown: Shown) -> Verdict:
    """A rater's verdict; what is foregone, or marked to be skipped, is put before nobody."""
    foregone = shown.question.foregone(shown)
    if foregone is not None:
        return foregone
    if all(part.skip is None for part in shown.parts):
        return await rater.rate(shown)
    skipped = [PartAnswer(part, status=Status.SKIPPED) for part in shown.parts if part.skip is not None]
    left = tuple(part for part in shown.parts if part.skip is None)
    if not left:
        return Verdict(status=Status.SKIPPED, detail=skipped[0].part.skip, answers=skipped, calls=0)
    verdict = await rater.rate(replace(shown, parts=left))
    verdict.answers += skipped
    return verdict


def _rows(ask: Ask, verdict: Verdict) -> Rows:
    return [_judgment(ask, answer, answer.status or verdict.status) for answer in verdict.answers], []


def _judgment(ask: Ask, answer: PartAnswer, status: Status) -> Judgment:
    extra = {"letters": dict(answer.letters)} if answer.letters else None
    return Judgment.built(
        ask=ask.id,
        item=answer.part.item,
        question=ask.question,
        rater=ask.rater,
        target=answer.part.target,
        parse=0,
        status=status,
        label=answer.label,
        value=answer.value,
        extra={"scores": list(answer.scores)} if answer.scores else extra,
    )


def short_reply(request: ChatRequest) -> int:
    """How long a reply is, in tokens, that names a choice and no more."""
    return min(request.max_tokens, SHORT_REPLY)


def rater_lane(
    rater: Rater,
    shown: Callable[[], Iterable[Shown]],
    total: int,
    reply_tokens: Callable[[ChatRequest], int] = short_reply,
) -> Lane:
    """The lane of a rater; the first of what it is shown is looked at for what one ask costs."""
    return Lane(
        name=rater.record.name,
        endpoint=rater.endpoint,
        jobs=(rating_job(rater, one) for one in shown()),
        total=total,
        max_concurrency=rater.max_concurrency,
        ask_cost=_ask_cost(rater, shown, reply_tokens),
        free=rater.price == (0.0, 0.0),
    )


def _ask_cost(
    rater: Rater, shown: Callable[[], Iterable[Shown]], reply_tokens: Callable[[ChatRequest], int]
) -> float:
    """About what one ask of the rater costs: the first one's prompt, and a reply of the usual length."""
    if rater.price in (None, (0.0, 0.0)):
        return 0.0
    first = next(iter(shown()), None)
    request = None if first is None else rater.request(first)
    return estimated_cost(request, rater.price, reply_tokens(request)) if request else 0.0
