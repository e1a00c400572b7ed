"""`replay:FILE`: recorded replies, by request key; nothing is called and nothing is spent.

Each line has `key` (as exports write it: item, context, order and sample) and `reply`, and may have `reasoning`,
`letter_scores`, `tool_calls` (each an `id`, a `name` and `arguments` as text) and token counts. A request that was never
recorded is unanswerable, not guessed.
"""

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from personafit._errors import UserError, field_name, located
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
        self._replies: dict[str, RecordedReply] = {}
        for number, line in enumerate(data.splitlines(), 1):
            if line.strip():
                recorded = _read_reply(line, path, number)
                self._replies[recorded.key] = recorded

    async def chat(self, request: ChatRequest) -> ChatReply:
        recorded = self._replies.get(request.key)
        if recorded is None:
            raise Unanswerable(f"{self.name} holds no reply for {request.key}.")
        return ChatReply(
            text=recorded.reply,
            reasoning=recorded.reasoning,
            letter_scores=recorded.letter_scores,
            tokens_in=recorded.tokens_in or 0,
            tokens_out=recorded.tokens_out or 0,
            tokens_reasoning=recorded.tokens_reasoning or 0,
            tool_calls=tuple(recorded.tool_calls or ()),
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


class RecordedReply(BaseModel):
    """A line of a recording; other fields are ignored."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)

    key: str
    reply: str
    reasoning: str | None = None
    letter_scores: dict[str, float] | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_reasoning: int | None = None
    tool_calls: list[ToolCall] | None = None


def _read_reply(line: bytes, path: Path, number: int) -> RecordedReply:
    try:
        return RecordedReply.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        place = located(path, number, field_name(first["loc"]) or None)
        raise UserError(f"{place}: {first['msg']}; each line is one recorded reply.") from error
