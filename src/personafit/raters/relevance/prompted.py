"""A prompted model as a relevance rater: by pair, by grade or by list.

A reply that cannot be read is asked for once more, and else every attribute it was to judge is unparsed.
"""

from personafit.items.relevance import MOST_LISTED, Listing, Read, RelevanceQuestion
from personafit.models import ChatReply, ChatRequest, Message, Model
from personafit.raters.llm import REASONED_REPLY, replay_key
from personafit.raters.rater import Part, Verdict, rater_record
from personafit.store import Status

READING = "relevance-1"


class PromptedRelevance:
    """Asks a model which attributes matter."""

    needs_prompt = False

    def __init__(self, name: str, model: Model, question: RelevanceQuestion) -> None:
        self._model = model
        self._question = question
        self.endpoint = model.endpoint
        self.max_concurrency = model.max_concurrency
        self.price = model.price
        self.by_list = question.by_list
        self.most_listed = MOST_LISTED if question.by_list else None
        self._reasons = bool(model.settings.get("effort"))
        settings = {**model.settings, "question": question.fingerprint, "reading": READING}
        kind = "replay" if settings["kind"] == "replay" else "llm"
        self.record = rater_record(name, kind, settings)

    async def judge(self, listing: Listing) -> Verdict:
        """Ask, and ask once more if the reply cannot be read."""
        verdict = Verdict(calls=0, answers_whole=False)
        request = self.request(listing)
        reply = await self._chat(request, verdict)
        if self._starts_reasoning(reply):
            # Only now do we know that this model thinks first: give it room, here and from now on.
            self._reasons = True
            request = self.request(listing)
            reply = await self._chat(request, verdict)
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

    async def close(self) -> None:
        """Close the model."""
        await self._model.close()

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

    async def _chat(self, request: ChatRequest, verdict: Verdict) -> ChatReply:
        """One call; everything it took is added to the verdict."""
        reply = await self._model.chat(request)
        verdict.calls += 1
        verdict.tokens_in += reply.tokens_in
        verdict.tokens_out += reply.tokens_out
        verdict.tokens_reasoning += reply.tokens_reasoning
        verdict.cost += reply.cost
        return reply

    def _starts_reasoning(self, reply: ChatReply) -> bool:
        thought = reply.reasoning is not None or reply.tokens_reasoning > 0  # some endpoints hide the text
        return not self._reasons and reply.cut and thought and not reply.text.strip()
