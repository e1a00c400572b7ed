"""Rough token counts and prices without a tokenizer, good enough to plan and to hold money back; and what calls cost, noted as they are made."""

from collections.abc import Iterable
from contextvars import ContextVar

from personafit.models.chat import ChatReply, ChatRequest, Message


def count_tokens(text: str) -> int:
    """A rough count that needs no tokenizer: four characters a token, one where the script is not alphabetic."""
    wide = sum(character > "⺀" for character in text)
    return wide + (len(text) - wide) // 4 + 1


def prompt_tokens(messages: Iterable[Message]) -> int:
    """About how many tokens a prompt has."""
    return sum(count_tokens(message["content"]) for message in messages)


def estimated_cost(request: ChatRequest, price: tuple[float, float] | None, tokens_out: int) -> float:
    """About what a call costs in USD; 0 when the price is unknown."""
    if price is None:
        return 0.0
    return (prompt_tokens(request.messages) * price[0] + tokens_out * price[1]) / 1e6


def reply_cost(request: ChatRequest, reply: ChatReply, price: tuple[float, float] | None) -> float:
    """What a call cost in USD; tokens that the server did not count are estimated, or no budget would ever end."""
    if price is None:
        return 0.0
    tokens_in = reply.tokens_in or prompt_tokens(request.messages)
    tokens_out = reply.tokens_out or count_tokens(f"{reply.reasoning or ''}{reply.text}")
    return (tokens_in * price[0] + tokens_out * price[1]) / 1e6


_PAID: ContextVar[list[float] | None] = ContextVar("paid", default=None)


def note_calls() -> list[float]:
    """From now on, what each call of this task costs in USD goes into the list."""
    paid: list[float] = []
    _PAID.set(paid)
    return paid


def paid_for(cost: float) -> float:
    """Note what a call cost."""
    paid = _PAID.get()
    if paid is not None and cost:
        paid.append(cost)
    return cost
