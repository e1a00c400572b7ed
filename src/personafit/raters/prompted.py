"""Raters that ask a model: what they share, and the one that puts a question to it.

The question brings wording and parser, so a kind of item needs no rater of its own. Where the model shows the scores of the
options and does not reason first, an answer is read from them. Otherwise the reply is parsed strictly, asked for once more if
something is missing, and else is unparsed: no metric turns an unreadable reply into a failure or drops it from its count.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from personafit._hashing import content_hash
from personafit.engine.ask import Asker
from personafit.items.reading import PartAnswer, Question, Reading, Shown, Verdict
from personafit.models import ChatReply, ChatRequest, Model
from personafit.raters.rater import Rater, rater_record
from personafit.store import Status


class ModelRater(Rater):
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


class PromptedRater(ModelRater):
    """Puts questions to a model."""

    def __init__(
        self, model: Model, questions: Sequence[Question], name: str | None = None, samples: int = 1
    ) -> None:
        self.questions = tuple(questions)
        first = self.questions[0]
        asked: dict[str, Any] = {"question": first.fingerprint}
        if len(self.questions) > 1:
            asked = {"questions": content_hash([question.fingerprint for question in self.questions])}
        super().__init__(model, name or model.name, {**asked, "reading": first.reading})
        self.order_matters = first.order_matters
        self.most_parts = first.most_parts
        self.samples = samples

    async def rate(self, shown: Shown) -> Verdict:
        """Ask, and ask once more if the reply cannot be read or leaves something out."""
        question = shown.question
        verdict = Verdict(calls=0)

        def read(reply: ChatReply, earlier: Reading | None) -> Reading | None:
            return _together(earlier, question.read(reply, shown))

        reading = await self._asker.ask(
            _request(shown),
            verdict,
            read,
            question.again(shown),
            lambda found: len(found.answers) == len(shown.parts),
        )
        found: dict[tuple[str, str], PartAnswer] = {}
        if reading is not None:
            verdict.detail = "; ".join(filter(None, (verdict.detail, reading.remark))) or None
            found = {_name(answer): answer for answer in reading.answers}
        missing = Status.REFUSED if verdict.replies[-1].refused else Status.UNPARSED
        verdict.answers = [
            found.get((part.item, part.target)) or PartAnswer(part, status=missing) for part in shown.parts
        ]
        return verdict

    def request(self, shown: Shown) -> ChatRequest:
        """The call to make."""
        return self._asker.given_room(_request(shown))


def _request(shown: Shown) -> ChatRequest:
    question = shown.question
    return ChatRequest(
        messages=question.messages(shown),
        max_tokens=question.reply_tokens(shown),
        letters=question.options(shown),
        seed=None if shown.sample == 0 else shown.sample,
        key=question.recorded_as(shown),
    )


def _name(answer: PartAnswer) -> tuple[str, str]:
    return answer.part.item, answer.part.target


def _together(earlier: Reading | None, now: Reading | None) -> Reading | None:
    """What two replies say; where both speak of a part, the second counts."""
    if earlier is None or now is None:
        return now or earlier
    answers = {_name(answer): answer for answer in (*earlier.answers, *now.answers)}
    return replace(now, answers=tuple(answers.values()))
