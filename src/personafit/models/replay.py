"""`replay:FILE`: recorded replies, by request key; nothing is called and nothing is spent.

Each line has `key` (as exports write it: item, view, order and sample) and `reply`, and may have `reasoning`,
`letter_scores`, `tool_calls` (each an `id`, a `name` and `arguments` as text) and token counts. A request that was never
recorded is unanswerable, not guessed.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from personafit._errors import UserError, located
from personafit._hashing import hash_text
from personafit.models.chat import ChatReply, ChatRequest, ToolCall, Unanswerable
from personafit.models.spec import Spec

LONGEST = 64 << 20  # bytes of one recorded reply


class ReplayModel:
    """A model that answers from a file."""

    price = (0.0, 0.0)
    max_concurrency = 64

    def __init__(self, spec: Spec) -> None:
        spec.allow(())
        if not spec.name:
            raise UserError(f"{spec.text}: name a file of recorded replies, as in replay:FILE.jsonl.")
        path = Path(spec.name).expanduser()
        try:
            _check_lines(path)
            data = path.read_bytes()
        except OSError as error:
            raise UserError(f"{spec.text}: cannot read {path} ({error.strerror}).") from error
        self.name = self.endpoint = spec.text
        self.settings: dict[str, Any] = {"kind": "replay", "content": hash_text(data)}
        self._replies: dict[str, dict[str, Any]] = {}
        for number, line in enumerate(data.splitlines(), 1):
            if line.strip():
                row = _row(line, path, number)
                self._replies[row["key"]] = row

    async def chat(self, request: ChatRequest) -> ChatReply:
        row = self._replies.get(request.key)
        if row is None:
            raise Unanswerable(f"{self.name} holds no reply for {request.key}.")
        return ChatReply(
            text=row["reply"],
            reasoning=row.get("reasoning"),
            letter_scores=row.get("letter_scores"),
            tokens_in=row.get("tokens_in") or 0,
            tokens_out=row.get("tokens_out") or 0,
            tokens_reasoning=row.get("tokens_reasoning") or 0,
            tool_calls=tuple(ToolCall(**call) for call in row.get("tool_calls") or ()),
        )

    async def close(self) -> None:
        """Nothing to release."""


def _check_lines(path: Path) -> None:
    """Reject a file with an overlong line before it fills the memory."""
    with path.open("rb") as file:
        number = 0
        while line := file.readline(LONGEST + 1):
            number += 1
            if len(line) > LONGEST:
                raise UserError(
                    f"{located(path, number)} is longer than {LONGEST >> 20} MB; write one reply to a line."
                )


_TEXT = ("be a text; each line is one recorded reply", lambda value: isinstance(value, str))
_COUNT = ("be a whole number", lambda value: value is None or type(value) is int)
_FIELDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "key": _TEXT,
    "reply": _TEXT,
    "tokens_in": _COUNT,
    "tokens_out": _COUNT,
    "tokens_reasoning": _COUNT,
    "reasoning": ("be a text", lambda value: isinstance(value, str | None)),
    "letter_scores": ("map letters to numbers", lambda value: value is None or _are_scores(value)),
    "tool_calls": (
        "list calls with id, name and arguments as texts",
        lambda value: value is None or _are_calls(value),
    ),
}
"""Requirement on each field of a line, in words and as a check."""


def _row(line: bytes, path: Path, number: int) -> dict[str, Any]:
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise UserError(f"{located(path, number)} is not JSON ({error}).") from error
    row = row if isinstance(row, dict) else {}
    for field, (wanted, holds) in _FIELDS.items():
        if not holds(row.get(field)):
            raise UserError(f"{located(path, number, field)} must {wanted}.")
    return row


def _are_scores(value: Any) -> bool:
    return isinstance(value, dict) and all(type(score) in (int, float) for score in value.values())


def _are_calls(value: Any) -> bool:
    fields = {"id", "name", "arguments"}
    return isinstance(value, list) and all(
        isinstance(call, dict)
        and call.keys() == fields
        and all(isinstance(one, str) for one in call.values())
        for call in value
    )
