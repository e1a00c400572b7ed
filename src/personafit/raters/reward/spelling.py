"""Tokens as text, for servers that take text: spelled so that the server's tokenizer makes the same tokens of it again.

Some servers put a beginning of sequence before every text, which a chat template may already have written; two of them would
be scored without complaint. So what is spelled is read back here, as the server will read it, before anything is sent.
"""

from collections.abc import Iterator
from typing import Any

from personafit.models import Unanswerable

TRIED = 8  # places to part a text at


def spelled(tokenizer: Any, tokens: list[int], marks: bool) -> str:
    """One text; `marks` says whether the server adds the tokenizer's own marks of beginning and end."""
    for text in _without_marks(tokenizer, tokens) if marks else [_decoded(tokenizer, tokens)]:
        if text and tokenizer(text, add_special_tokens=marks)["input_ids"] == tokens:
            return text
    raise Unanswerable(
        "The model's tokenizer reads its own text otherwise than before, so no text can be sent."
    )


def spelled_pair(tokenizer: Any, tokens: list[int]) -> tuple[str, str]:
    """Two texts that the server joins, and strips of white space, into the same tokens."""
    for place in _places(tokenizer, tokens):
        first, second = _decoded(tokenizer, tokens[:place]), _decoded(tokenizer, tokens[place:])
        stripped = first == first.strip() and second == second.strip()
        if stripped and first and second and tokenizer(first, second)["input_ids"] == tokens:
            return first, second
    raise Unanswerable(
        "The text cannot be parted in two such that the server puts it together again "
        "(a chat template that ends in white space, or marks between two texts)."
    )


def _decoded(tokenizer: Any, tokens: list[int]) -> str:
    text: str = tokenizer.decode(tokens, skip_special_tokens=False, clean_up_tokenization_spaces=False)
    return text


def _without_marks(tokenizer: Any, tokens: list[int]) -> Iterator[str]:
    """The whole text, and without the marks at its ends that the server may add."""
    begins = tokens[:1] in ([tokenizer.bos_token_id], [tokenizer.cls_token_id])
    ends = tokens[-1:] in ([tokenizer.eos_token_id], [tokenizer.sep_token_id])
    for start in (0, 1)[: 1 + begins]:
        for stop in (0, 1)[: 1 + ends]:
            yield _decoded(tokenizer, tokens[start : len(tokens) - stop])


def _places(tokenizer: Any, tokens: list[int]) -> list[int]:
    """Where to try: beside special tokens, which no tokenizer joins with their neighbours, the last first; then in the middle."""
    special = set(tokenizer.all_special_ids)
    beside = [at + side for at, token in enumerate(tokens) if token in special for side in (0, 1)]
    found = sorted({place for place in beside if 0 < place < len(tokens)}, reverse=True)
    middle = len(tokens) // 2
    return [*found[:TRIED], *range(max(1, middle - TRIED), middle)]
