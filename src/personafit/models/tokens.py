"""Rough token counts without a tokenizer, good enough to plan and to hold money back."""

from collections.abc import Iterable

import orjson

from personafit.models.chat import ChatRequest, Message


def count_tokens(text: str) -> int:
    """A rough count that needs no tokenizer: four characters a token, one where the script is not alphabetic."""
    wide = sum(character > "⺀" for character in text)
    return wide + (len(text) - wide) // 4 + 1


def prompt_tokens(messages: Iterable[Message]) -> int:
    """Estimate the number of tokens of a prompt."""
    return sum(count_tokens(message["content"]) for message in messages)


def request_tokens(request: ChatRequest) -> int:
    """About how many tokens a request has: its messages, and the functions it offers."""
    tools = count_tokens(orjson.dumps(request.tools).decode()) if request.tools else 0
    return prompt_tokens(request.messages) + tools
