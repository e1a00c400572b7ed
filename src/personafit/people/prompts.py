"""Multi-turn prompts: stored and shown as one text with a role mark before each turn, and split into messages for the system.

A text without marks is a single user turn.
"""

import re
from collections.abc import Sequence
from typing import Any

from personafit._errors import UserError

ROLES = ("system", "user", "assistant")
PROMPT_SCHEMA: dict[str, Any] = {
    "type": ["string", "array"],
    "items": {
        "type": "object",
        "required": ["role", "content"],
        "properties": {"role": {"enum": list(ROLES)}, "content": {"type": "string"}},
    },
}
"""JSON Schema of a prompt."""
_MARK = re.compile(rf"(?:\A|\n\n)\[({'|'.join(ROLES)})\] ")


def prompt_text(messages: Sequence[Any], place: str = "question") -> str:
    """Join messages with `role` and `content`, the last of them the user's, into one text; a single message is returned unmarked."""
    turns: list[tuple[str, str]] = []
    for number, message in enumerate(messages, 1):
        said = message if isinstance(message, dict) else {}
        role, content = said.get("role"), said.get("content")
        if role not in ROLES or not isinstance(content, str) or not content.strip():
            raise UserError(
                f"{place}: message {number} must be an object with 'role' ({', '.join(ROLES)}) and 'content', a text."
            )
        turns.append((role, content.strip()))
    if not turns or turns[-1][0] != "user":
        raise UserError(f"{place}: the last message must be the user's.")
    if len(turns) == 1:
        return turns[0][1]
    plain = [
        (role, _MARK.sub(r" (\1) ", text)) for role, text in turns
    ]  # a mark within a turn would split it
    return "\n\n".join(f"[{role}] {text}" for role, text in plain)


def prompt_messages(text: str) -> list[dict[str, str]]:
    """Split a prompt into messages, the last of them the user's."""
    marks = list(_MARK.finditer(text))
    if len(marks) < 2 or marks[0].start() != 0 or marks[-1][1] != "user":
        return [{"role": "user", "content": text}]
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    return [
        {"role": mark[1], "content": text[mark.end() : end]} for mark, end in zip(marks, ends, strict=True)
    ]
