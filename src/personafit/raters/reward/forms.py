"""The forms in which servers take what is to be scored and give the score: what is sent, and where the number stands.

Plain scores are asked for wherever a server would squeeze them between 0 and 1, where good answers would become equal.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from personafit.models import Message, Unanswerable
from personafit.raters.reward.spelling import spelled, spelled_pair


@dataclass(frozen=True)
class Asked:
    """One answer to be scored: as a conversation, and as tokens where the model's tokenizer is at hand."""

    model: str
    turns: list[Message]
    tokens: list[int] | None = None
    tokenizer: Any = None


@dataclass(frozen=True)
class Form:
    """An address of a server, and how it is spoken to."""

    path: str
    body: Callable[[Asked], dict[str, Any]]
    numbers: Callable[[Any], Any]
    """What stands for the score in a reply; raises a lookup error where there is none."""
    usage: Callable[[Any], Any] = lambda payload: (payload.get("usage") or {}).get("prompt_tokens")
    here: bool = False
    """Whether the text must be made here, because the server applies no chat template."""

    def read(self, payload: Any) -> tuple[float, int]:
        """The score, and how many tokens were read, as far as the server says."""
        numbers = self.numbers(payload)
        tokens = self.usage(payload)
        numbers = numbers if isinstance(numbers, list) else [numbers]
        if len(numbers) != 1:
            raise Unanswerable(f"The server gives {len(numbers)} numbers per text; a reward model gives one.")
        score = math.nan if numbers[0] is None else float(numbers[0])
        return score, tokens if isinstance(tokens, int) and tokens > 0 else 0


def _conversation(asked: Asked) -> dict[str, Any]:
    plain = {"model": asked.model, "use_activation": False}
    if asked.tokens is not None:
        return plain | {"input": asked.tokens}
    return plain | {"messages": asked.turns, "add_generation_prompt": False}


def _pair(asked: Asked) -> tuple[str, str]:
    if asked.tokens is not None:
        return spelled_pair(asked.tokenizer, asked.tokens)
    return "\n\n".join(turn["content"] for turn in asked.turns[:-1]), asked.turns[-1]["content"]


def _two_texts(asked: Asked) -> dict[str, Any]:
    first, second = _pair(asked)
    return {"model": asked.model, "text_1": first, "text_2": second, "use_activation": False}


def _document(asked: Asked) -> dict[str, Any]:
    query, document = _pair(asked)
    plain = {"raw_scores": True, "use_activation": False}  # infinity's word for it, and vLLM's
    return {"model": asked.model, "query": query, "documents": [document], **plain}


def _tokens(asked: Asked) -> dict[str, Any]:
    return {"input_ids": asked.tokens}


def _inputs(asked: Asked) -> dict[str, Any]:
    text = spelled(asked.tokenizer, asked.tokens or [], marks=True)
    return {"inputs": text, "raw_scores": True, "truncate": False}


def _query(asked: Asked) -> dict[str, Any]:
    return {"query": [spelled(asked.tokenizer, asked.tokens or [], marks=False)]}


def _pooled(payload: Any) -> Any:
    """One number, or one per token, of which the last counts."""
    numbers = payload["data"][0]["data"]
    while isinstance(numbers, list) and numbers and isinstance(numbers[0], list):
        numbers = numbers[-1]
    return numbers


def _embedded(payload: Any) -> Any:
    return payload["embedding"]


def _predicted(payload: Any) -> Any:
    return [label["score"] for label in payload]


def _rewards(payload: Any) -> Any:
    (reward,) = payload["rewards"]
    return reward


APIS: dict[str, Form] = {
    "classify": Form("classify", _conversation, lambda payload: payload["data"][0]["probs"]),
    "pooling": Form("pooling", _conversation, _pooled),
    "score": Form("score", _two_texts, lambda payload: payload["data"][0]["score"]),
    "rerank": Form("rerank", _document, lambda payload: payload["results"][0]["relevance_score"]),
    "sglang": Form(
        "classify", _tokens, _embedded, lambda payload: payload["meta_info"]["prompt_tokens"], here=True
    ),
    "tei": Form("predict", _inputs, _predicted, lambda _payload: 0, here=True),
    "openrlhf": Form("get_reward", _query, _rewards, lambda _payload: 0, here=True),
}
