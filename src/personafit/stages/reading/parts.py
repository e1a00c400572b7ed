"""Messages as logs hold them: a text, or parts of which some are text, by somebody who goes by many names."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Literal

from personafit.stages.records import StagedTurn

Role = Literal["user", "assistant", "system", "tool", "other"]

ROLES: dict[str, Role] = {
    **dict.fromkeys(("user", "human", "prompter", "customer", "用户"), "user"),
    **dict.fromkeys(
        ("assistant", "gpt", "chatgpt", "bing", "bard", "claude", "model", "ai", "bot", "助手"), "assistant"
    ),
    **dict.fromkeys(("system", "developer", "系统"), "system"),
    **dict.fromkeys(
        (
            "tool",
            "function",
            "function_call",
            "function_response",
            "observation",
            "tool_call",
            "tool_response",
        ),
        "tool",
    ),
}
DEEPEST = 10  # parts within parts
# Parts whose words are the speaker's own.
TEXT_PARTS = frozenset({"text", "input_text", "output_text", "audio_transcription"})


def turn(role: Any, content: Any) -> StagedTurn:
    """One message; what is no text and who is nobody known is said in its note."""
    name = role.strip().lower() if isinstance(role, str) else ""
    known = ROLES.get(name)
    texts: list[str] = []
    left: Counter[str] = Counter()
    for kind, text in _parts(content):
        if text is None:
            left[kind] += 1
        else:
            texts.append(text)
    notes = []
    if known is None:
        notes.append(f"unknown role {str(role)[:40]!r}")
    if left:
        listed = ", ".join(f"{count} {kind}" for kind, count in sorted(left.items()))
        notes.append(f"not text: {listed}")
    text = _writable("\n".join(texts))
    return StagedTurn(role=known or "other", text=text, note="; ".join(notes) or None)


def odd_turn(value: Any) -> StagedTurn:
    """Something that stands where a message should."""
    return StagedTurn(role="other", text="", note=f"no message but {type(value).__name__}")


def _parts(content: Any, depth: int = 0) -> Iterator[tuple[str, str | None]]:
    """Each part as its kind and its text; None where it has none."""
    if content is None:
        return
    if depth > DEEPEST:
        yield "deeply nested part", None
        return
    if isinstance(content, str):
        yield "text", content
    elif isinstance(content, list):
        for part in content:
            yield from _parts(part, depth + 1)
    elif isinstance(content, dict):
        kind = str(content.get("type") or content.get("content_type") or "part")[:40]
        if isinstance(content.get("parts"), list):
            yield from _parts(content["parts"], depth + 1)
        elif isinstance(content.get("text"), str) and (kind in TEXT_PARTS or len(content) == 1):
            yield "text", content["text"]
        else:
            yield kind, None
    else:
        yield type(content).__name__, None


def _writable(text: str) -> str:
    """Half a surrogate pair and NUL can be stored nowhere; a mark stands in their place."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "\ufffd")
