"""`aspects:SPEC`: scores each answer by itself on the five aspects of HelpSteer2, for comparison with gold.

One model call per answer, so that order cannot matter; `aspects:python:MODULE:OBJECT` takes the scores from a function, which
is how a reward model with several heads plugs in. Helpfulness decides the choice; every aspect is a part of the verdict.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from personafit._errors import UserError
from personafit._versions import fingerprint_of
from personafit.engine.ask import Exchange
from personafit.items.choice import ASPECTS, CHOICES, FIT, TAGS
from personafit.items.reading import (
    Part,
    PartAnswer,
    QuestionSet,
    Shown,
    Verdict,
    choice_of,
    replay_key,
    words_of,
)
from personafit.models import (
    ChatReply,
    ChatRequest,
    Message,
    Model,
    Spec,
    Unanswerable,
    make_model,
)
from personafit.models.functions import PYTHON_OPTIONS, load_instance
from personafit.raters.function import FunctionRater
from personafit.raters.prompted import ModelRater
from personafit.raters.rater import Rater, inner_spec, rater_record

_WORDS = words_of("aspects")
SHORT_REPLY = 64  # five lines of a word and a digit each

Scores = Mapping[str, float]


class AspectQuestion:
    """Prompt and parser for the five marks of one answer, under one version."""

    version: ClassVar[str] = "1"

    @property
    def fingerprint(self) -> str:
        return fingerprint_of("aspects", self.version)

    def messages(self, shown: Shown, index: int) -> tuple[Message, ...]:
        """Return the prompt for one answer, with what both answers share first, so that prompt caches are hit."""
        person = TAGS.tagged("person", shown.context.text) if shown.context.text else _WORDS["unknown"]
        asked, answer = TAGS.tagged("question", shown.prompt), TAGS.tagged("answer", shown.texts[index])
        parts = [_WORDS["task"], person, asked, answer, _WORDS["closing"]]
        return ({"role": "user", "content": "\n\n".join(parts)},)

    @property
    def again(self) -> str:
        return _WORDS["reminder"].format(aspects=", ".join(ASPECTS))

    def parse(self, reply: str) -> dict[str, float] | None:
        """Return the five marks, or None unless each of the last five lines names another aspect with a whole number from 0 to 4."""
        lines = [line.strip(" \t-*_`") for line in reply.splitlines() if line.strip(" \t-*_`")]
        marks: dict[str, float] = {}
        for line in lines[-len(ASPECTS) :]:
            match = re.fullmatch(r"(\w+)[*_`]*\s*[:：=][\s*_`]*([0-4])(?:\s*/\s*4)?\.?", line)
            if match is None:
                return None
            marks[match[1].lower()] = float(match[2])
        return {aspect: marks[aspect] for aspect in ASPECTS} if set(marks) == set(ASPECTS) else None


QUESTION = AspectQuestion()


def aspect_rater(spec: Spec, asks: QuestionSet) -> Rater:
    """Create the rater for `aspects:SPEC`; what follows the first colon is a spec of its own, address and options included."""
    if asks.kind != "choice":
        raise UserError(f"{spec.text}: aspects are of single answers, and cannot say {asks.by_score.sought}.")
    inner = inner_spec(spec, "say who scores, as in aspects:openai:MODEL@URL or aspects:python:MODULE:OBJECT")
    if inner.kind == "python":
        return AspectFunctionRater(spec, inner)
    return AspectRater(make_model(inner))


class AspectRater(ModelRater):
    """Rater that asks a model for the five marks of each answer."""

    questions = (FIT,)

    def __init__(self, model: Model) -> None:
        settings = {"question": QUESTION.fingerprint, "reading": "aspects-1"}
        super().__init__(model, f"aspects:{model.name}", settings)

    async def rate(self, shown: Shown) -> Verdict:
        """Mark the answers one after the other; if one cannot be marked, the pair has no verdict."""
        verdict = Verdict(calls=0)
        marks: list[Scores] = []
        # One at a time: the engine decides how many calls run at once, and it counts this as one.
        for index in range(len(shown.texts)):
            exchange = Exchange()
            request = self._request(QUESTION.messages(shown, index), shown, index)
            found = await self._asker.ask(request, exchange, _read, QUESTION.again)
            for reply in exchange.replies:
                verdict.add(reply)
                verdict.reply = _appended(verdict.reply, index, reply.text)
                if reply.reasoning:
                    verdict.reasoning = _appended(verdict.reasoning, index, reply.reasoning)
            if found is None:
                verdict.status = exchange.status
                verdict.answers = [PartAnswer(shown.parts[0])]
                return verdict
            marks.append(found)
        return _decide(verdict, shown, marks)

    def request(self, shown: Shown) -> ChatRequest:
        """Return all calls merged into one request, which suffices to estimate tokens."""
        messages = [m for index in range(len(shown.texts)) for m in QUESTION.messages(shown, index)]
        return self._asker.given_room(self._request(tuple(messages), shown, 0))

    def _request(self, messages: tuple[Message, ...], shown: Shown, index: int) -> ChatRequest:
        return ChatRequest(
            messages=messages,
            max_tokens=SHORT_REPLY,
            seed=None if shown.sample == 0 else shown.sample,
            key=replay_key(shown.about, shown.context.name, str(index), shown.sample),
        )


def _read(reply: ChatReply, _: Scores | None) -> Scores | None:
    return QUESTION.parse(reply.text)


class AspectFunctionRater(FunctionRater):
    """Rater that calls a function for each answer's score on every aspect, on any scale."""

    def __init__(self, spec: Spec, inner: Spec) -> None:
        inner.allow(PYTHON_OPTIONS)
        function = load_instance(inner)
        if not callable(function):
            raise UserError(f"{inner.text}: {inner.name} is not callable; see docs/extend.md.")
        super().__init__(inner, CHOICES, {}, function, inner.name)
        self.order_matters = False
        settings = {**self.record.settings, "orders": False, "aspects": list(ASPECTS)}
        self.record = rater_record(spec.text, "python", settings)

    async def rate(self, shown: Shown) -> Verdict:
        """Call the function once with all answers."""
        seen = replace(shown, order=tuple(range(len(shown.texts))))
        return _decide(Verdict(), shown, self._marks(await self.call(seen), len(shown.texts)))

    def _marks(self, result: Any, count: int) -> list[Scores]:
        try:
            marks = [{aspect: float(row[aspect]) for aspect in ASPECTS} for row in result]
        except (TypeError, ValueError, OverflowError, KeyError, IndexError):
            marks = []
        if len(marks) != count or not all(math.isfinite(mark) for row in marks for mark in row.values()):
            raise Unanswerable(
                f"{self.record.name} must return {count} mappings with a finite number for each of "
                f"{', '.join(ASPECTS)}, not {result!r:.80}."
            )
        return list(marks)


def _decide(verdict: Verdict, shown: Shown, marks: Sequence[Scores]) -> Verdict:
    whole = shown.parts[0]
    for aspect in ASPECTS:
        scores = [row[aspect] for row in marks]
        verdict.answers.append(PartAnswer(Part(whole.item, aspect), *choice_of(scores), scores))
    first = verdict.answers[0]
    verdict.answers.insert(0, PartAnswer(whole, first.label, first.value))
    return verdict


def _appended(text: str | None, index: int, more: str) -> str:
    return "\n\n".join(filter(None, [text, f"[answer {index}]\n{more}"]))
