"""What raters that prompt a model share: limits, the record, calls that add up, and room for models that think first."""

from collections.abc import Callable
from typing import Any

from personafit.models import ChatReply, ChatRequest, Model
from personafit.models.thinking import only_thought
from personafit.raters.rater import Verdict, rater_record


class Prompting:
    """A model that is asked; what is asked and how it is read is the business of whoever derives from this."""

    def __init__(self, model: Model, name: str, settings: dict[str, Any]) -> None:
        self._model = model
        self.endpoint = model.endpoint
        self.max_concurrency = model.max_concurrency
        self.price = model.price
        self._reasons = bool(model.settings.get("effort"))
        whole = {**model.settings, **settings}
        self.record = rater_record(name, "replay" if whole["kind"] == "replay" else "llm", whole)

    async def close(self) -> None:
        """Close the model."""
        await self._model.close()

    async def _ask(self, make: Callable[[], ChatRequest], verdict: Verdict) -> tuple[ChatRequest, ChatReply]:
        """Make the request and send it; a model that turns out to think first is given room, here and from now on."""
        request = make()
        reply = await self._chat(request, verdict)
        if self._starts_reasoning(reply):
            self._reasons = True
            request = make()
            reply = await self._chat(request, verdict)
        return request, reply

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
        return not self._reasons and only_thought(reply)
