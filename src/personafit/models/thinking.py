"""Room for models that think before they answer: what they are given, and how it shows that they had too little."""

from personafit.models.chat import ChatReply

THINKING = 4096  # tokens beside those of the answer


def only_thought(reply: ChatReply) -> bool:
    """Whether a reply was cut off while the model still thought, so that there are no words yet."""
    thought = reply.reasoning is not None or reply.tokens_reasoning > 0  # some endpoints hide the text
    return reply.cut and thought and not reply.text.strip()
