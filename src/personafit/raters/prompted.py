"""Raters that ask a model: what they share, and the one that puts a question to it.

The question brings wording and parser, so a kind of benchmark needs no rater of its own. Where the model shows the scores of the
options and does not reason first, an answer is read from them. Otherwise the reply is parsed strictly, asked for once more if
something is missing, and else is unparsed: no metric turns an unreadable reply into a failure or drops it from its count.
"""

from dataclasses import replace
from typing import Any, Generic, TypeVar

from personafit.engine.ask import Asker
from personafit.items.reading import Part, Question, Reading, Sampled
from personafit.models import ChatReply, ChatRequest, Model
from personafit.raters.rater import Verdict, rater_record
from personafit.store import Status

S = TypeVar("S", bound=Sampled)


class ModelRater:
    """A rater behind which stands a model: its limits and price are the model's, and its record holds the model's settings."""

    def __init__(self, model: Model, name: str, settings: dict[str, Any]) -> None:
        self._asker = Asker(model)
        self.endpoint = model.endpoint
        self.max_concurrency = model.max_concurrency
        self.price = model.price
        whole = {**model.settings, **settings}
        self.record = rater_record(name, "replay" if whole["kind"] == "replay" else "llm", whole)

    async def close(self) -> None:
        """Close the model."""
        await self._asker.model.close()


class PromptedRater(ModelRater, Generic[S]):
    """Puts a question to a model: its own, or without one that which it is given with what is shown."""

    needs_prompt = False

    def __init__(
        self,
        model: Model,
        question: Question[S] | None,
        settings: dict[str, Any],
        *,
        name: str | None = None,
        order_matters: bool = False,
        most_listed: int | None = None,
        samples: int = 1,
    ) -> None:
        super().__init__(model, name or model.name, settings)
        self._question = question
        self.question = question.name if question is not None else ""
        self.order_matters = order_matters
        self.by_list, self.most_listed = most_listed is not None, most_listed
        self.samples = samples
        """How often it is asked about the same thing, where that is the rater's to say."""

    async def rate(self, shown: S, question: Question[S] | None = None) -> Verdict:
        """Ask, and ask once more if the reply cannot be read or leaves something out."""
        asked = self._asked(question)
        blank = asked.parts(shown)
        verdict = Verdict(calls=0, answers_whole=not blank)

        def read(reply: ChatReply, earlier: Reading | None) -> Reading | None:
            return _together(earlier, asked.read(reply, shown))

        reading = await self._asker.ask(
            _request(shown, asked),
            verdict,
            read,
            asked.again(shown),
            lambda found: len(found.parts) == len(blank),
        )
        found: dict[tuple[str | None, str], Part] = {}
        if reading is not None:
            verdict.label, verdict.value = reading.label, reading.value
            verdict.letter_scores = reading.letter_scores
            verdict.detail = "; ".join(filter(None, (verdict.detail, reading.remark))) or None
            found = {(part.item, part.target): part for part in reading.parts}
        missing = Status.REFUSED if verdict.replies[-1].refused else Status.UNPARSED
        verdict.parts = [
            found.get((part.item, part.target)) or replace(part, status=missing) for part in blank
        ]
        return verdict

    def request(self, shown: S, question: Question[S] | None = None) -> ChatRequest:
        """The call to make."""
        return self._asker.given_room(_request(shown, self._asked(question)))

    def _asked(self, question: Question[S] | None) -> Question[S]:
        asked = self._question or question
        if asked is None:
            raise ValueError(f"{self.record.name} has no question of its own: give it one.")
        return asked


def _request(shown: S, question: Question[S]) -> ChatRequest:
    return ChatRequest(
        messages=question.messages(shown),
        max_tokens=question.reply_tokens(shown),
        letters=question.options(shown),
        seed=None if shown.sample == 0 else shown.sample,
        key=question.recorded_as(shown),
    )


def _together(earlier: Reading | None, now: Reading | None) -> Reading | None:
    """What two replies say; where both speak of a part, the second counts."""
    if earlier is None or now is None:
        return now or earlier
    parts = {(part.item, part.target): part for part in (*earlier.parts, *now.parts)}
    return replace(now, parts=tuple(parts.values()))
