"""Raters that ask a model: their base class, one that asks it questions, and one that compares likelihoods of answers.

The question brings prompt and parser, so a kind of item needs no rater of its own. If the model returns log-probabilities of
the options and does not reason first, they give the answer. Otherwise the reply is parsed strictly, asked for once more if
something is missing, and else unparsed: no metric turns an unreadable reply into a failure or drops it from its count.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from personafit._errors import UserError
from personafit._hashing import content_hash
from personafit._versions import fingerprint_of
from personafit.contexts import Context
from personafit.engine.ask import Asker
from personafit.items.choice import CHOICES, FIT, guarded_question
from personafit.items.reading import (
    PartAnswer,
    Question,
    QuestionSet,
    Reading,
    Shown,
    Verdict,
    choice_of,
    replay_key,
    words_of,
)
from personafit.models import (
    LIKELIHOOD,
    ChatReply,
    ChatRequest,
    Message,
    Model,
    Spec,
    Unanswerable,
    make_model,
)
from personafit.raters.rater import Rater, inner_spec, rater_record, without_samples
from personafit.store import Status


class ModelRater(Rater):
    """Base class of raters that call a model: limits and price are the model's, and the record holds the model's settings."""

    def __init__(self, model: Model, name: str, settings: dict[str, Any]) -> None:
        self._asker = Asker(model)
        self.endpoint = model.endpoint
        self.max_concurrency = model.max_concurrency
        self.price = model.price
        self.missing_key: str | None = getattr(model, "missing_key", None)
        whole = {**model.settings, **settings}
        self.record = rater_record(name, "replay" if whole["kind"] == "replay" else "llm", whole)

    async def close(self) -> None:
        await self._asker.model.close()


class PromptedRater(ModelRater):
    """Rater that asks a model the questions of a kind and parses its replies."""

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
        """Ask, and ask once more if the reply cannot be parsed or leaves something out."""
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
    """Merge the readings of two replies; the second wins where both answer a part."""
    if earlier is None or now is None:
        return now or earlier
    answers = {_name(answer): answer for answer in (*earlier.answers, *now.answers)}
    return replace(now, answers=tuple(answers.values()))


_WORDS = words_of("likelihood")
UNTOLD = "none"
KINDS = ("embedded", "hf", "replay")


class Telling:
    """Prompt that presents the person's context as what they say about themselves before they ask."""

    version: ClassVar[str] = "1"

    @property
    def fingerprint(self) -> str:
        return fingerprint_of(LIKELIHOOD, self.version)

    def messages(self, shown: Shown, person: str) -> tuple[Message, ...]:
        """Return the conversation up to the answer, with the person first, so that prompt caches are hit."""
        question = shown.prompt
        text = _WORDS["about"].format(person=person, question=question) if person else question
        return ({"role": "user", "content": text},)


TELLING = Telling()


class LikelihoodRater(ModelRater):
    """`,ask=likelihood`: no question is asked; an answer fits to the extent that the person's context makes it more likely.

    The score of an answer is the mean log-probability of its tokens after the person's context and the question, minus the same after
    the question alone: what the answer gains from the context, and not how fluent it is. There are no letters and no order, so small
    models with a strong position bias can be used too. Without a context every answer gains nothing: a tie.
    """

    questions = (FIT,)

    def __init__(self, model: Model) -> None:
        super().__init__(model, model.name, {"question": TELLING.fingerprint, "reading": "likelihood-1"})
        self._person: str | None = None
        # Scores without the context, for the current person: every context needs the same ones.
        self._untold: dict[tuple[str, int], float] = {}

    async def rate(self, shown: Shown) -> Verdict:
        """Score the answers with and without the context, and choose the one that gains more."""
        if shown.person != self._person:
            self._person, self._untold = shown.person, {}
        verdict = Verdict(reply="", calls=0)
        scores: dict[str, float] = {}
        gains = [await self._gain(shown, index, verdict, scores) for index in range(len(shown.texts))]
        verdict.answers = [PartAnswer(shown.parts[0], *choice_of(gains), letters=scores)]
        return verdict

    def request(self, shown: Shown) -> ChatRequest:
        """Return all calls merged into one request, which suffices to estimate tokens."""
        texts: tuple[Message, ...] = tuple({"role": "assistant", "content": text} for text in shown.texts)
        return ChatRequest((*TELLING.messages(shown, shown.context.text), *texts), max_tokens=1)

    async def _gain(self, shown: Shown, index: int, verdict: Verdict, scores: dict[str, float]) -> float:
        known = (shown.about, index)
        if shown.context.text:
            told = scores[str(index)] = await self._weigh(shown, shown.context, index, verdict)
        if known not in self._untold:
            untold = await self._weigh(shown, Context(UNTOLD, "", (), None), index, verdict)
            self._untold[known] = untold
        scores[f"{index} {UNTOLD}"] = self._untold[known]
        return told - self._untold[known] if shown.context.text else 0.0

    async def _weigh(self, shown: Shown, context: Context, index: int, verdict: Verdict) -> float:
        request = ChatRequest(
            messages=TELLING.messages(shown, context.text),
            max_tokens=1,
            weighed=shown.texts[index],
            key=replay_key(shown.about, context.name, str(index), 0),
        )
        model = self._asker.model
        reply = await model.chat(request)
        verdict.add(reply)
        score = (reply.letter_scores or {}).get(LIKELIHOOD)
        if score is None:
            raise Unanswerable(f"{model.name} gives no likelihood for {request.key}.")
        return score


def prompted_rater(spec: Spec, asks: QuestionSet) -> Rater:
    """Create the rater that asks a model a kind's question, or another one for `list:SPEC` and the like. Options: ask=likelihood and
    guard= for choices, samples= for dialogues.
    """
    if spec.kind in asks.prefixed:
        model = make_model(inner_spec(spec, f"say which model is asked, as in {spec.kind}:openai:MODEL@URL"))
        return PromptedRater(model, (asks.prefixed[spec.kind],), name=f"{spec.kind}:{model.name}")
    spec, samples = without_samples(spec, asks)
    questions, options = asks.asked, dict(spec.options)
    for name in ("ask", "guard"):
        if name in options and asks.kind != CHOICES.kind:
            raise UserError(
                f"{spec.text}: {name}= is for choices and means nothing for {asks.kind} items; leave it out."
            )
    how = options.pop("ask", None)
    if how is None and "guard" in options:
        questions = (guarded_question(options.pop("guard")),)
    model_spec = replace(spec, options=options)
    if how is None:
        return PromptedRater(make_model(model_spec), questions, samples=samples)
    if how != LIKELIHOOD:
        raise UserError(
            f"{spec.text}: ask={how} is unknown; there is ask=likelihood, and without it answers are compared by letter."
        )
    if spec.kind not in KINDS:
        raise UserError(
            f"{spec.text}: ask=likelihood needs a model that can weigh a text it did not write; {', '.join(KINDS)} can."
        )
    return LikelihoodRater(make_model(model_spec))
