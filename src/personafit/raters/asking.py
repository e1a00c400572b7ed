"""One ask as a keyed job: whatever the question, who is asked, about what and how is the key; the verdict becomes rows.

The key is what resuming is based on, so everything that could change the answer is part of it.
"""

import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from personafit._hashing import hash_text
from personafit.engine import Job
from personafit.raters.rater import Verdict
from personafit.store import Ask, Judgment, Outcome, Status


@dataclass(frozen=True, slots=True)
class Asked:
    """Who is asked, about what, and how it is shown."""

    item: str
    """Id of the item, or of the group that one list shows."""
    content: str
    """Hash of what is shown of the item."""
    question: str
    instrument: str
    """Fingerprint of the question."""
    rater: str
    view: str = "none"
    context: str | None = None
    order: str = ""
    sample: int = 0

    @property
    def key(self) -> str:
        """The job key."""
        return hash_text(
            self.item,
            self.content,
            self.instrument,
            self.rater,
            self.view,
            self.context or "",
            self.order,
            str(self.sample),
        )


def rating_job(asked: Asked, rate: Callable[[], Awaitable[Verdict]]) -> Job:
    """The job that asks and turns the verdict into an ask and its judgments."""
    key = asked.key

    def ask(verdict: Verdict, ask_id: str, generation: int, seconds: float) -> Ask:
        return Ask.built(
            id=ask_id,
            job=key,
            generation=generation,
            item=asked.item,
            question=asked.question,
            rater=asked.rater,
            view=asked.view,
            context=asked.context,
            order=asked.order,
            sample=asked.sample,
            status=verdict.status,
            reply=verdict.reply,
            reasoning=verdict.reasoning,
            detail=verdict.detail,
            tokens_in=verdict.tokens_in,
            tokens_out=verdict.tokens_out,
            tokens_reasoning=verdict.tokens_reasoning,
            cost=verdict.cost,
            seconds=seconds,
            attempts=verdict.calls,
            at=time.time(),
        )

    def judgment(
        ask_id: str,
        item: str,
        target: str,
        status: Status,
        label: str | None,
        value: float | None,
        extra: dict[str, Any] | None,
    ) -> Judgment:
        return Judgment.built(
            ask=ask_id,
            item=item,
            question=asked.question,
            rater=asked.rater,
            target=target,
            parse=0,
            status=status,
            label=label,
            value=value,
            extra=extra,
        )

    async def work(generation: int) -> Outcome:
        started = time.monotonic()
        verdict = await rate()
        ask_id = hash_text(key, str(generation))
        letters = {"letters": verdict.letter_scores} if verdict.letter_scores else None
        judgments = (
            [judgment(ask_id, asked.item, "", verdict.status, verdict.label, verdict.value, letters)]
            if verdict.answers_whole
            else []
        )
        for part in verdict.parts:
            scores = {"scores": part.scores} if part.scores else None
            judgments.append(
                judgment(
                    ask_id,
                    part.item or asked.item,
                    part.target,
                    part.status or verdict.status,
                    part.label,
                    part.value,
                    scores,
                )
            )
        finished = ask(verdict, ask_id, generation, time.monotonic() - started)
        return Outcome.built(ask=finished, judgments=judgments, products=[])

    def failure(message: str, attempts: int) -> Outcome:
        verdict = Verdict(status=Status.FAILED, detail=message, calls=attempts)
        return Outcome.built(ask=ask(verdict, uuid.uuid4().hex, 0, 0.0), judgments=[], products=[])

    return Job(key, work, failure)
