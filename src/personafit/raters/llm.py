"""A prompted model as a rater.

Where the model shows the scores of the option letters and does not reason first, the choice is read from them, with
a margin. Otherwise the reply is parsed strictly, asked for once more if it names no letter, and else is unparsed.
"""

from personafit.items import ChoiceQuestion, Shown
from personafit.models import ChatReply, ChatRequest, Model
from personafit.raters.prompting import Prompting
from personafit.raters.rater import Verdict, choice_of
from personafit.store import Status

SHORT_REPLY = 16
REASONED_REPLY = 4096


class LLMRater(Prompting):
    """Asks a model which answer fits."""

    order_matters = True

    def __init__(
        self, model: Model, question_fingerprint: str, question: ChoiceQuestion | None = None
    ) -> None:
        settings = {"question": question_fingerprint, "reading": "letters-then-parser-1"}
        super().__init__(model, model.name, settings)
        self._question = question  # asked in place of the usual one, such as the same behind another guard

    async def rate(self, shown: Shown, question: ChoiceQuestion) -> Verdict:
        """Ask, and ask once more if the reply names no letter."""
        question = self._question or question
        request = self.request(shown, question)
        reply = await self._model.chat(request)
        if self._starts_reasoning(reply):
            # Only now do we know that this model thinks first: give it room, here and from now on.
            self._reasons = True
            first, reply = reply, await self._model.chat(self.request(shown, question))
            verdict = self._read(reply, shown, question)
            return _add_costs(verdict, first)
        verdict = self._read(reply, shown, question)
        if verdict.status != Status.UNPARSED or (reply.cut and self._reasons):
            return verdict
        messages = question.ask_again(request.messages, reply.text, len(shown.order))
        second = await self._model.chat(self._request(messages, shown, question))
        again = self._read(second, shown, question)
        again.detail = f"first reply: {reply.text[:500]}"
        return _add_costs(again, reply)

    def request(self, shown: Shown, question: ChoiceQuestion) -> ChatRequest:
        """The call to make."""
        question = self._question or question
        return self._request(question.messages(shown), shown, question)

    def _request(
        self, messages: tuple[dict[str, str], ...], shown: Shown, question: ChoiceQuestion
    ) -> ChatRequest:
        return ChatRequest(
            messages=messages,
            max_tokens=REASONED_REPLY if self._reasons else SHORT_REPLY,
            letters=() if self._reasons else question.letters(len(shown.order)),
            seed=None if shown.sample == 0 else shown.sample,
            key=replay_key(shown.item.id, shown.context.name, shown.order_name, shown.sample),
        )

    def _read(self, reply: ChatReply, shown: Shown, question: ChoiceQuestion) -> Verdict:
        verdict = Verdict(
            reply=reply.text,
            reasoning=reply.reasoning,
            tokens_in=reply.tokens_in,
            tokens_out=reply.tokens_out,
            tokens_reasoning=reply.tokens_reasoning,
            cost=reply.cost,
        )
        letters = question.letters(len(shown.order))
        if reply.letter_scores is not None and set(letters) <= reply.letter_scores.keys():
            scores = [0.0] * len(letters)
            for letter, index in zip(letters, shown.order, strict=True):
                scores[index] = reply.letter_scores[letter]
            verdict.label, verdict.value = choice_of(scores)
            verdict.letter_scores = reply.letter_scores
            return verdict
        if reply.refused:
            verdict.status = Status.REFUSED
            return verdict
        named = question.parse(reply.text, len(letters))
        if named is None:
            verdict.status = Status.UNPARSED
            return verdict
        chosen = shown.order[letters.index(named)]
        verdict.label, verdict.value = choice_of([1.0 if i == chosen else 0.0 for i in range(len(letters))])
        return verdict


def replay_key(item: str, view: str, order: str, sample: int) -> str:
    """The name of a request in recordings."""
    return f"{item}|{view}|{order}|{sample}"


def _add_costs(verdict: Verdict, earlier: ChatReply) -> Verdict:
    verdict.tokens_in += earlier.tokens_in
    verdict.tokens_out += earlier.tokens_out
    verdict.tokens_reasoning += earlier.tokens_reasoning
    verdict.cost += earlier.cost
    verdict.calls += 1
    return verdict
