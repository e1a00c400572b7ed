"""A prompted model as a relevance rater: by pair, by grade or by list.

A reply that cannot be read is asked for once more, and else every attribute it was to judge is unparsed.
"""

from personafit.items.relevance import MOST_LISTED, Listing, Read, RelevanceQuestion
from personafit.models import ChatReply, ChatRequest, Message, Model
from personafit.raters.llm import REASONED_REPLY, replay_key
from personafit.raters.prompting import Prompting
from personafit.raters.rater import Part, Verdict
from personafit.store import Status

READING = "relevance-1"


class PromptedRelevance(Prompting):
    """Asks a model which attributes matter."""

    needs_prompt = False

    def __init__(self, name: str, model: Model, question: RelevanceQuestion) -> None:
        super().__init__(model, name, {"question": question.fingerprint, "reading": READING})
        self._question = question
        self.by_list = question.by_list
        self.most_listed = MOST_LISTED if question.by_list else None

    async def judge(self, listing: Listing) -> Verdict:
        """Ask, and ask once more if the reply cannot be read."""
        verdict = Verdict(calls=0, answers_whole=False)
        request, reply = await self._ask(lambda: self.request(listing), verdict)
        read = self._read(reply, listing)
        if read is None and not reply.refused and not (reply.cut and self._reasons):
            first = reply
            again = self._question.ask_again(request.messages, reply.text)
            reply = await self._chat(self._request(again, listing), verdict)
            verdict.detail = f"first reply: {first.text[:500]}"
            read = self._read(reply, listing)
        verdict.reply, verdict.reasoning = reply.text, reply.reasoning
        if read is None:
            verdict.status = Status.REFUSED if reply.refused else Status.UNPARSED
            verdict.parts = [Part("", None, None, item=one.item) for one in listing.candidates]
            return verdict
        verdict.detail = "; ".join(filter(None, [verdict.detail, read.remark])) or None
        # Without the prompt one ask answers for the attribute wherever it stands.
        answers = read.answers if self.by_list else read.answers * len(listing.candidates)
        verdict.parts = [
            Part("", label, value, item=one.item)
            for one, (label, value) in zip(listing.candidates, answers, strict=True)
        ]
        return verdict

    def request(self, listing: Listing) -> ChatRequest:
        """The call to make."""
        return self._request(self._question.messages(listing), listing)

    def _read(self, reply: ChatReply, listing: Listing) -> Read | None:
        return None if reply.refused else self._question.read(reply, listing)

    def _request(self, messages: tuple[Message, ...], listing: Listing) -> ChatRequest:
        return ChatRequest(
            messages=messages,
            max_tokens=REASONED_REPLY if self._reasons else self._question.reply_tokens(listing),
            letters=() if self._reasons else self._question.letters,
            seed=None if listing.sample == 0 else listing.sample,
            key=replay_key(listing.name, listing.view, listing.part, listing.sample),
        )
