"""`,ask=likelihood`: nothing is asked; an answer fits as far as knowing the person makes the model find it likelier.

The score of an answer is the mean log-probability of its tokens as a reply to the person who says who they are, less the same as a reply
to the bare question: what an answer gains from the person, and not how smooth it is. No letters and no order, so that
small models which prefer whatever stands first can be heard. Told nothing about the person, every answer gains nothing: a tie.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

from personafit._errors import UserError
from personafit._versions import fingerprint_of, other_words, own_version
from personafit.contexts import Context
from personafit.items import FIT
from personafit.items.reading import PartAnswer, Shown, Verdict, choice_of, replay_key
from personafit.items.wording import words_of
from personafit.models import LIKELIHOOD, ChatRequest, Message, Model, Spec, Unanswerable, make_model
from personafit.raters.prompted import ModelRater

_WORDS = words_of("likelihood")
UNTOLD = "none"
KINDS = ("embedded", "hf", "replay")


@dataclass(frozen=True)
class Telling:
    """How the person is told to the model: as what they say of themselves before they ask."""

    version: ClassVar[str] = "1"

    about: str = _WORDS["about"]

    @cached_property
    def fingerprint(self) -> str:
        """That of the version, and of other words than the usual ones."""
        return fingerprint_of(LIKELIHOOD, own_version(self), other_words(self))

    def messages(self, shown: Shown, person: str) -> tuple[Message, ...]:
        """The conversation up to the answer; the person first, so that prompt caches are hit."""
        question = shown.prompt
        text = self.about.format(person=person, question=question) if person else question
        return ({"role": "user", "content": text},)


TELLING = Telling()


class LikelihoodRater(ModelRater):
    """Weighs each answer by what it gains from the person."""

    questions = (FIT,)

    def __init__(self, model: Model) -> None:
        super().__init__(model, model.name, {"question": TELLING.fingerprint, "reading": "likelihood-1"})
        self._person: str | None = None
        self._untold: dict[
            tuple[str, int], float
        ] = {}  # of the person at work: every view needs the same ones

    async def rate(self, shown: Shown) -> Verdict:
        """Weigh the answers with and without the person; the one that gains more is chosen."""
        if shown.person != self._person:
            self._person, self._untold = shown.person, {}
        verdict = Verdict(reply="", calls=0)
        scores: dict[str, float] = {}
        gains = [await self._gain(shown, index, verdict, scores) for index in range(len(shown.texts))]
        verdict.answers = [PartAnswer(shown.parts[0], *choice_of(gains), letters=scores)]
        return verdict

    def request(self, shown: Shown) -> ChatRequest:
        """The calls to be made, put together into one: an estimate only counts what is in them."""
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


def likelihood_rater(spec: Spec) -> LikelihoodRater:
    """The rater behind `,ask=likelihood`."""
    if spec.options["ask"] != LIKELIHOOD:
        raise UserError(
            f"{spec.text}: ask={spec.options['ask']} is unknown; there is ask=likelihood, and without it answers are "
            "compared by letter."
        )
    if spec.kind not in KINDS:
        raise UserError(
            f"{spec.text}: ask=likelihood needs a model that can weigh a text it did not write; {', '.join(KINDS)} can."
        )
    rest = {name: value for name, value in spec.options.items() if name != "ask"}
    return LikelihoodRater(make_model(replace(spec, options=rest)))
