"""What OpenAI-compatible endpoints answer, read with care: replies, errors, pauses they ask for. Servers differ, and some answer nonsense."""

import json
import math
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import orjson

from personafit.models.chat import ChatReply

DEFAULT_URL = "https://api.openai.com/v1"
CUT_OFF = ("length", "max_tokens", "MAX_TOKENS")  # how servers say that the token limit ended a reply
MOST_TOKENS = 2**31  # more is a mistake of the server's, and too much for a database's column
REJECTIONS = (400, 403, 404, 405, 415, 422, 501)
"""Statuses of which the sentence may be about a setting, and not about the key or the address."""
NAMED = {
    "logprobs": re.compile(r"log[ _-]?prob"),
    "temperature": re.compile(r"\btemperature\b"),
    "seed": re.compile(r"\bseed\b"),
    "reasoning_effort": re.compile(r"\breasoning[ _.-]effort\b"),
}
"""How such a sentence, in lower case, names each setting that can be left out."""
# Closed thoughts may lack the opening tag, which some chat templates put into the prompt.
_THINK = re.compile(r"^(?:\s*<think>(.*?)(?:</think>|\Z)|(.*?)</think>)", re.DOTALL)


def read_completion(payload: Any, letters: tuple[str, ...]) -> ChatReply | None:
    """The reply in a chat completion; None where the payload is not one."""
    try:
        choice = payload["choices"][0]
        message = choice["message"]
        content = message.get("content")
    except (TypeError, KeyError, IndexError, AttributeError):
        return None
    text = content if isinstance(content, str) else ""
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    if "think>" in text and (match := _THINK.match(text)):
        reasoning = reasoning or (match[1] or match[2] or "").strip()
        text = text[match.end() :]
    usage = _object(payload.get("usage"))
    reply = ChatReply(
        text=text,
        reasoning=reasoning if isinstance(reasoning, str) and reasoning else None,
        refused=choice.get("finish_reason") == "content_filter" or bool(message.get("refusal")),
        cut=choice.get("finish_reason") in CUT_OFF,
        tokens_in=_count(usage, "prompt_tokens"),
        tokens_out=_count(usage, "completion_tokens"),
        tokens_reasoning=_count(_object(usage.get("completion_tokens_details")), "reasoning_tokens"),
    )
    if reply.reasoning and not reply.tokens_reasoning:
        reply.tokens_reasoning = max(0, reply.tokens_out - len(text) // 4)  # not reported: all but the answer
    if letters and not reply.reasoning:
        reply.letter_scores = letter_scores(choice.get("logprobs"), letters)
    return reply


def letter_scores(logprobs: Any, letters: tuple[str, ...]) -> dict[str, float] | None:
    """The log-probability of each letter at the first token that carries text, or None if no letter is there.

    A letter outside the listed alternatives is at most as likely as the last of them, and gets that bound.
    """
    try:
        for token in logprobs["content"]:
            alternatives: dict[str, float] = {}
            for entry in [*token["top_logprobs"], token]:
                letter = entry["token"].strip()
                if letter in letters:
                    alternatives[letter] = max(entry["logprob"], alternatives.get(letter, -1e9))
            if alternatives:
                floor = min(entry["logprob"] for entry in [*token["top_logprobs"], token])
                scores = {letter: float(alternatives.get(letter, floor)) for letter in letters}
                return scores if all(map(math.isfinite, scores.values())) else None
            if token["token"].strip():
                return None
    except (TypeError, KeyError, IndexError, AttributeError, ValueError, OverflowError):
        return None
    return None


def decoded(data: bytes) -> Any:
    """What a body says as JSON, or else the beginning of its text."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        text = data.decode("utf-8", "replace")
    try:
        # Half an emoji, cut off at the token limit, is JSON to the standard library only.
        whole = json.dumps(json.loads(text), ensure_ascii=False)
        return json.loads(whole.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    except (ValueError, RecursionError):
        return text[:200]


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(usage: dict[str, Any], name: str) -> int:
    value = usage.get(name)
    return int(value) if isinstance(value, int | float) and 0 < value < MOST_TOKENS else 0


def error_text(payload: Any) -> str:
    """The sentence in an error's payload, wherever the server puts it."""
    if isinstance(payload, dict):
        error = payload.get("error", payload.get("detail", payload.get("message")))
        if isinstance(error, dict):
            named = error.get("param")
            payload = f"{error.get('message')} ({named})" if _unsaid(named, error) else error.get("message")
        else:
            payload = error
    if isinstance(
        payload, list
    ):  # FastAPI's, which repeats beside each complaint what was sent, people included
        payload = "; ".join(map(_complaint, payload))
    text = re.sub(r"<[^>]*>", " ", str(payload or ""))
    return " ".join(text.split())[:200]


def _unsaid(named: Any, error: dict[str, Any]) -> bool:
    """Whether the setting an error is about stands beside its sentence and not in it."""
    return isinstance(named, str) and bool(named) and named not in str(error.get("message"))


def _complaint(detail: Any) -> str:
    if not isinstance(detail, dict) or "msg" not in detail:
        return str(detail)
    place = detail.get("loc")
    return f"{'.'.join(map(str, place))}: {detail['msg']}" if isinstance(place, list) else str(detail["msg"])


def pause_asked(headers: Mapping[str, str]) -> float | None:
    """Seconds from the header's two forms, a number or a date; None when it is absent or neither."""
    value = headers.get("Retry-After")
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        until, now = _date(value), _date(headers.get("Date", ""))
        if until is None:
            return None
        # By the server's own clock, where it tells it: ours may be wrong, or be set while we run.
        seconds = until - (time.time() if now is None else now)
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _date(value: str) -> float | None:
    try:
        return parsedate_to_datetime(value).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
