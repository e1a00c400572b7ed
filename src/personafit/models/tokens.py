"""Rough token counts without a tokenizer, good enough to plan and to hold money back."""

from collections.abc import Iterable

from personafit.models.chat import Message


def count_tokens(text: str) -> int:
    """A rough count that needs no tokenizer: four characters a token, one where the script is not alphabetic."""
    wide = sum(character > "⺀" for character in text)
    return wide + (len(text) - wide) // 4 + 1


def prompt_tokens(messages: Iterable[Message]) -> int:
    """About how many tokens a prompt has."""
    return sum(count_tokens(message["content"]) for message in messages)
