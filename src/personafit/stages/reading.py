"""Chat logs in: our JSONL, ShareGPT, OpenAI's data export, WildChat rows; streamed, and nothing lost.

Every entry becomes a conversation with a status. What cannot be used says why: it cannot be read, has no user turns, was
there before. Turns keep the places they had, so that evidence points into the log.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.people import Attribute
from personafit.stages.records import StagedConversation, StagedTurn, writable
from personafit.stages.rows import LogRow, read_rows
from personafit.store import Status

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
MESSAGE = (("from", "role"), ("text", "value", "content"))
"""Fields of a message that say who speaks, and what is said."""
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
    text = writable("\n".join(texts))
    return StagedTurn(role=known or "other", text=text, note="; ".join(notes) or None)


def _message(value: Any) -> StagedTurn:
    """What stands where a message should, whatever its fields are called."""
    if not isinstance(value, dict):
        return StagedTurn(role="other", text="", note=f"no message but {type(value).__name__}")
    role, content = (next((value[name] for name in names if name in value), None) for names in MESSAGE)
    return turn(role, content)


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


OWNER = "me"  # whose an OpenAI export is: it is one person's and does not name them
_PEOPLE = ("person", "user_id", "user", "hashed_ip", "account")
_IDS = ("id", "conversation_id", "conversation_hash", "conv_id", "uuid")

LISTS = ("conversation", "conversations", "turns", "messages")
"""Fields that hold a list of messages: of WildChat, of ShareGPT, and of our own lines."""


def _listed(row: dict[str, Any], field: str, default: str) -> StagedConversation:
    """A list of messages, and, in our own lines, what is known to be true.

    WildChat tells the user by a hashed address, which its messages may have. A conversation of its may occur twice under its hash
    where it went on; its own id, if any, comes first.
    """
    messages: list[Any] = row[field]
    addresses = (one["hashed_ip"] for one in messages if isinstance(one, dict) and one.get("hashed_ip"))
    known = _known(row.get("attributes")) if field in ("turns", "messages") else []
    person = next(addresses, None) if field == "conversation" else None
    return _conversation({"hashed_ip": person, **row}, default, [_message(one) for one in messages], known)


def _tree(row: dict[str, Any], default: str) -> StagedConversation:
    """OpenAI's export: a tree of messages; the branch that was current is read, root first."""
    mapping: dict[str, Any] = row["mapping"]
    node = row.get("current_node")
    if node not in mapping:
        node = _deepest(mapping)
    path: list[StagedTurn] = []
    seen: set[str] = set()
    while isinstance(node, str) and node in mapping and node not in seen:
        seen.add(node)
        entry = mapping[node] if isinstance(mapping[node], dict) else {}
        if (message := entry.get("message")) is not None:
            path.append(_openai_turn(message))
        node = entry.get("parent")
    path.reverse()
    elsewhere = sum(
        isinstance(entry, dict) and entry.get("message") is not None and name not in seen
        for name, entry in mapping.items()
    )
    conversation = _conversation(row, default or OWNER, path)
    if elsewhere:
        conversation.reason = f"{elsewhere} messages on branches that were given up are not read."
    return conversation


def _openai_turn(message: Any) -> StagedTurn:
    if not isinstance(message, dict):
        return _message(message)
    author = message.get("author")
    role = author.get("role") if isinstance(author, dict) else None
    return turn(role, message.get("content"))


def _deepest(mapping: dict[str, Any]) -> str | None:
    """A leaf, where the export does not say which was current: the one added last."""
    leaves = [
        name for name, entry in mapping.items() if isinstance(entry, dict) and not entry.get("children")
    ]
    return leaves[-1] if leaves else None


def _conversation(
    row: dict[str, Any], default: str, turns: list[StagedTurn], known: list[Attribute] | None = None
) -> StagedConversation:
    name = _named(row, _IDS)
    person = _named(row, _PEOPLE) or default
    return StagedConversation.model_construct(id=name, person=person, turns=turns, attributes=known or [])


def _named(row: dict[str, Any], fields: tuple[str, ...]) -> str:
    for field in fields:
        value = row.get(field)
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
            return str(value).strip().encode("utf-8", "replace").decode("utf-8")
    return ""


def _known(rows: Any) -> list[Attribute]:
    """Known attributes; what does not fit is no attribute."""
    found = []
    for row in rows if isinstance(rows, list) else []:
        try:
            found.append(Attribute.model_validate(row))
        except ValueError:
            continue
    return found


READING = "reading"
USUAL_NAMES = ("conversations.jsonl", "conversations.json")


def read_log(path: Path, person: str = "") -> Iterator[StagedConversation]:
    """Every conversation of a log; `person` is whose it is where it does not say."""
    path = _file(path)
    seen: dict[str, bytes] = {}
    readable = 0
    first_problem = None
    for row in read_rows(path):
        conversation = _read(row, path, person)
        if conversation.status == Status.UNPARSED:
            first_problem = first_problem or conversation.reason
        else:
            readable += 1
            _check_repeats(conversation, seen)
        yield conversation
    if not readable:
        raise UserError(first_problem or f"{path} holds no conversations; it is empty.")


def _file(path: Path) -> Path:
    if not path.is_dir():
        return path
    for name in USUAL_NAMES:
        if (path / name).is_file():
            return path / name
    raise UserError(f"{path} has no {' or '.join(USUAL_NAMES)}; name the file that holds the conversations.")


def _read(row: LogRow, path: Path, person: str) -> StagedConversation:
    name = row.place.replace(" ", "-")
    if row.value is None:
        return _unread(name, person, row.problem or "")
    field = next((name for name in LISTS if isinstance(row.value.get(name), list)), None)
    tree = isinstance(row.value.get("mapping"), dict)
    if field is None and not tree:
        fields = ", ".join(sorted(map(str, row.value))[:8])
        return _unread(
            name,
            person,
            f"{path}, {row.place} is no conversation (it has {fields or 'no fields'}); one has turns, messages, "
            "conversations, conversation or mapping.",
        )
    conversation = _tree(row.value, person) if tree else _listed(row.value, field or "", person)
    conversation.id = conversation.id or name
    conversation.person = conversation.person or conversation.id
    if not any(turn.role == "user" for turn in conversation.turns):
        conversation.status, conversation.step = Status.SKIPPED, READING
        conversation.reason = "It has no user turns."
    elif not any(turn.role == "user" and turn.text.strip() for turn in conversation.turns):
        conversation.status, conversation.step = Status.SKIPPED, READING
        conversation.reason = "Its user turns hold no text."
    return conversation


def _unread(name: str, person: str, problem: str) -> StagedConversation:
    return StagedConversation(
        id=name, person=person or name, status=Status.UNPARSED, step=READING, reason=problem
    )


def _check_repeats(conversation: StagedConversation, seen: dict[str, bytes]) -> None:
    """The same conversation twice counts once; another one under the same id gets an id of its own."""
    parts = (f"{turn.role}:{turn.text}" for turn in conversation.turns)
    content = bytes.fromhex(hash_text(conversation.person, *parts))
    name = conversation.id
    number = 1
    while (known := seen.get(conversation.id)) is not None:
        if known == content and conversation.status == Status.OK:
            conversation.status, conversation.step = Status.SKIPPED, READING
            conversation.reason = f"The same conversation was read before, as {conversation.id}."
        number += 1
        conversation.id = f"{name}~{number}"
    if number > 1 and conversation.status == Status.OK:
        taken = f"Its id {name} was taken; it is called {conversation.id} here."
        conversation.reason = f"{conversation.reason or ''} {taken}".strip()
    seen[conversation.id] = content
