"""Room for models that think before they answer: what they are given, and how it shows that they had too little."""

from dataclasses import replace

from personafit.models.chat import ChatReply, ChatRequest, Model

THINKING = 4096  # tokens beside those of the answer


def only_thought(reply: ChatReply) -> bool:
    """Whether a reply was cut off while the model still thought, so that there are no words yet."""
    thought = reply.reasoning is not None or reply.tokens_reasoning > 0  # some endpoints hide the text
    return reply.cut and thought and not reply.text.strip()


def room_for(model: Model, tokens: int) -> int:
    """How many tokens a model may need for an answer of so many."""
    return tokens + (THINKING if model.settings.get("effort") else 0)


async def chat_with_room(model: Model, request: ChatRequest) -> list[ChatReply]:
    """What came of a request: one reply, and before it one without words where only that showed that the model thinks first."""
    request = replace(request, max_tokens=room_for(model, request.max_tokens))
    reply = await model.chat(request)
    if not only_thought(reply) or model.settings.get("effort"):
        return [reply]
    return [reply, await model.chat(replace(request, max_tokens=request.max_tokens + THINKING))]
