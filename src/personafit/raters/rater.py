"""The base class of raters, which answer questions about items and have a fingerprint of all that shapes the answers; a rating as a
keyed job, and a rater's jobs as a lane; the base class of raters that score: rules, embeddings, reward models, fitted models, users' objects.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from personafit._errors import UserError
from personafit._hashing import content_hash, hash_text
from personafit.engine import Job, Lane
from personafit.engine.ask import AskKey, Rows, ask_job
from personafit.items.reading import Part, PartAnswer, Question, QuestionSet, Shown, Unit, Verdict
from personafit.models import ChatRequest, ModelError, Spec, Unanswerable, one_line, parse_spec
from personafit.store import Ask, Judgment, RaterRecord, Status


class Rater(ABC):
    """Base class of raters. Attributes say how a rater is asked; the defaults are those of one that calls no model."""

    record: RaterRecord
    """The rater's record, with its fingerprint."""
    questions: tuple[Question, ...]
    """The questions it is asked about each item."""
    kinds: ClassVar[tuple[str, ...] | None] = None
    """Kinds of item that it can judge; None for any."""
    endpoint: str = "here"
    """Raters of one endpoint share its limit on calls at once."""
    max_concurrency: int = 1
    """The maximum number of concurrent calls."""
    price: tuple[float, float] | None = (0.0, 0.0)
    """USD per million tokens in and out; None when unknown."""
    order_matters: bool = False
    """Whether it sees the answers side by side, so that it is asked in both orders."""
    most_parts: int | None = None
    """The maximum number of attributes of a list per ask; None for all."""
    needs_prompt: bool = False
    """Whether it cannot answer without the person's prompt."""
    samples: int = 1
    """How often each question is repeated, if the rater's spec says so."""
    fitted_on: frozenset[str] = frozenset()
    """Hashes of the people or prompts that it was fitted on: its score on them is no evidence."""

    @abstractmethod
    async def rate(self, shown: Shown) -> Verdict:
        """Answer the question about what is shown, with one answer for each part."""

    def request(self, shown: Shown) -> ChatRequest | None:
        """Return the model call that would be made, for estimates; None if there is none."""
        return None

    async def close(self) -> None:  # noqa: B027  # most have nothing to release
        """Release models and other resources."""


def rater_record(name: str, kind: str, settings: dict[str, Any]) -> RaterRecord:
    """Return the record of a rater; the fingerprint is a hash of kind and settings, not of the name."""
    return RaterRecord(fingerprint=content_hash([kind, settings]), name=name, kind=kind, settings=settings)


def fitted_mark(person: str) -> str:
    """Return the short hash by which a fitted model's card recognizes a person without revealing the id."""
    return hash_text("fitted", person)[:8]


def inner_spec(spec: Spec, wanted: str) -> Spec:
    """Return the spec that follows the first colon of `list:SPEC` and the like, address and options included."""
    text = spec.text.strip().partition(":")[2]
    if not text:
        raise UserError(f"{spec.text}: {wanted}.")
    return parse_spec(text)


def without_samples(spec: Spec, asks: QuestionSet) -> tuple[Spec, int]:
    """Return the spec without `samples=`, and how often a judge of dialogues repeats each question; other kinds have no such option."""
    if len(asks.asked) == 1 or "samples" not in spec.options:
        return spec, 1
    number = spec.number("samples", 1, least=1)
    if number != int(number):
        raise UserError(f"{spec.text}: samples must be a whole number.")
    options = {name: value for name, value in spec.options.items() if name != "samples"}
    return replace(spec, options=options), int(number)


def key_of(
    *,
    item: str,
    content: str,
    question: str,
    instrument: str,
    rater: str,
    context: str = "none",
    context_id: str | None = None,
    order: str = "",
    sample: int = 0,
) -> AskKey:
    """Return the key of an ask; `content` is a hash of what is shown, `instrument` the identity of the question."""
    job = hash_text(item, content, instrument, rater, context, context_id or "", order, str(sample))
    return AskKey(job, item, question, rater, context, context_id, order, sample)


def rating_job(rater: Rater, shown: Shown) -> Job:
    """Return the job that shows an item to a rater and stores its judgments."""
    key = key_of(
        item=shown.about,
        content=shown.content,
        question=shown.question.name,
        instrument=shown.question.instrument,
        rater=rater.record.fingerprint,
        context=shown.context.name,
        context_id=shown.context_id,
        order=shown.place,
        sample=shown.sample,
    )

    async def ask(_: str) -> Verdict:
        try:
            return await rated(rater, shown)
        except (ModelError, UserError):
            raise
        except Exception as error:  # rater or question may be a plugin's
            said = f"{type(error).__name__}: {one_line(error)}"
            raise Unanswerable(
                f"{rater.record.name} could not answer '{shown.question.name}' ({said})."
            ) from error

    return ask_job(key, ask, _rows)


async def rated(rater: Rater, shown: Shown) -> Verdict:
    """Return a rater's verdict; foregone questions and parts marked to be skipped do not reach the rater."""
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
    def judgment(answer: PartAnswer) -> Judgment:
        extra = {"letters": dict(answer.letters)} if answer.letters else None
        return Judgment.built(
            ask=ask.id,
            item=answer.part.item,
            question=ask.question,
            rater=ask.rater,
            target=answer.part.target,
            parse=0,
            status=answer.status or verdict.status,
            label=answer.label,
            value=answer.value,
            extra={"scores": list(answer.scores)} if answer.scores else extra,
        )

    return [judgment(answer) for answer in verdict.answers], []


def rater_lane(rater: Rater, shown: Iterable[Shown], total: int) -> Lane:
    """Return the lane of jobs of a rater."""
    return Lane(
        name=rater.record.name,
        endpoint=rater.endpoint,
        jobs=(rating_job(rater, one) for one in shown),
        total=total,
        max_concurrency=rater.max_concurrency,
    )


# -- raters that score --------------------------------------------------------------------------------------------------
# A scored rater scores units of one type: an answer for a person, an attribute for a prompt, two answers as somebody with an attribute
# sees them (a pair), or as one person sees them (a choice). The question says which units it needs and turns their scores into
# answers, so one rater serves every kind it has units for.

UNIT_WORDS = {
    "answer": "scores answers",
    "attribute": "scores attributes",
    "pair": "compares two answers by an attribute",
    "choice": "compares two answers",
}


def check_unit(unit: str, question: Question, name: str) -> None:
    """Refuse a rater whose scores do not answer the question."""
    if unit not in question.scored_by:
        raise UserError(f"{name} {UNIT_WORDS[unit]} and cannot say {question.sought}; name another rater.")


class ScoredRater(Rater):
    """Rater that scores each unit by itself, higher being better, on any scale; order cannot matter."""

    unit: str
    """What it scores: `answer`, `attribute`, `pair` or `choice`."""
    threshold: float | None = None
    """The score from which the answer is yes; None if there is none."""
    on_scale: bool = False
    """Whether its scores are marks on the question's own scale."""

    def judge_by(self, question: Question, name: str, kind: str, settings: dict[str, Any]) -> None:
        """Set the rater up to answer this question by scores; raise a UserError if its scores cannot."""
        check_unit(self.unit, question, name)
        self.questions = (question,)
        self.record = rater_record(name, kind, settings)

    @abstractmethod
    async def scores(self, units: Sequence[Unit], verdict: Verdict) -> list[float]:
        """Return one number per unit; tokens and cost are added to the verdict."""

    async def rate(self, shown: Shown) -> Verdict:
        """Score the units and decide by the scores; a part without a finite score has no answer."""
        verdict = Verdict()
        units = self.units(shown)
        scores = await self.scores(units, verdict)
        size = len(units) // len(shown.parts)
        each = [scores[start : start + size] for start in range(0, len(scores), size)]
        known = {
            part: own for part, own in zip(shown.parts, each, strict=True) if all(map(math.isfinite, own))
        }
        found: dict[Part, PartAnswer] = {}
        if known:
            seen, flat = replace(shown, parts=tuple(known)), [one for own in known.values() for one in own]
            decided = shown.question.decide(seen, flat, self.unit, self.threshold, self.on_scale)
            found = dict(zip(known, decided, strict=True))
        verdict.answers = [
            found.get(part) or PartAnswer(part, status=Status.UNPARSED) for part in shown.parts
        ]
        if len(known) < len(shown.parts):
            said = f"the model gave no finite score: {', '.join(f'{score:g}' for score in scores)}"
            verdict.detail = "; ".join(filter(None, (said, verdict.detail)))
            verdict.reply = None
        if not known:
            verdict.status = Status.UNPARSED
        return verdict

    def units(self, shown: Shown) -> list[Unit]:
        if self.unit == "choice" and len(shown.texts) != 2:
            raise Unanswerable(f"{self.record.name} compares two answers, not {len(shown.texts)}.")
        return shown.question.units(shown, self.unit)
