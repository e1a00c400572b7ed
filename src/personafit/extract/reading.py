"""Readers of chat logs: our JSONL, ShareGPT, OpenAI's data export, WildChat rows; as lines or as one JSON array.

Every entry becomes a conversation with a status. Unusable ones state the reason (unreadable, no user turns, duplicate) and do not
stop a log of a million lines. Turns keep their index in the log, so that evidence points into it.
"""

import codecs
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Literal

import orjson

from personafit._errors import UserError, json_kind
from personafit._hashing import hash_text
from personafit.extract.records import StagedConversation, StagedTurn
from personafit.people import Attribute
from personafit.store import Status
from personafit.store.records import storable

READING = "reading"
USUAL_NAMES = ("conversations.jsonl", "conversations.json")


class Unread(str):
    """The reason why an entry could not be read."""


def read_rows(path: Path) -> Iterator[tuple[str, dict[str, Any] | Unread]]:
    """Yield every entry of a file with its place ('line 12', 'entry 12'), or why it is unreadable; lines are read one at a time."""
    try:
        with path.open("rb") as file:
            start = len(codecs.BOM_UTF8) if file.read(3) == codecs.BOM_UTF8 else 0
            file.seek(start)
            is_array = file.read(4096).lstrip().startswith(b"[")
            file.seek(start)
            for place, value in _entries(file) if is_array else _lines(file):
                if isinstance(value, Unread):
                    yield place, Unread(f"{path}, {place} {value}")
                elif isinstance(value, dict):
                    yield place, value
                else:
                    yield place, Unread(f"{path}, {place} must be a JSON object, not {json_kind(value)}.")
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); check the path.") from error


def read_objects(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the entries of a file; raise UserError for an unreadable one."""
    for _, value in read_rows(path):
        if isinstance(value, Unread):
            raise UserError(value)
        yield value


def _lines(file: BinaryIO) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(file, 1):
        if line.strip():
            yield f"line {number}", _parsed(line)


def _entries(file: BinaryIO) -> Iterator[tuple[str, Any]]:
    """Yield the entries of an array, which is read as a whole."""
    array = _parsed(file.read())
    if isinstance(array, Unread):
        yield "the array", Unread(f"{array[:-1]}; the file may have been cut off.")
    else:
        yield from ((f"entry {number}", value) for number, value in enumerate(array, 1))


def _parsed(text: bytes) -> Any:
    """Return the value of a JSON text, or why it cannot be read."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        try:  # accepts lone surrogates, which broken exports contain
            return json.loads(text.decode("utf-8"))
        except (ValueError, RecursionError):
            return Unread(f"is not JSON ({error}).")


Role = Literal["user", "assistant", "system", "tool", "other"]

_ROLES: dict[Role, str] = {
    "user": "user human prompter customer 用户",
    "assistant": "assistant gpt chatgpt bing bard claude model ai bot 助手",
    "system": "system developer 系统",
    "tool": "tool function function_call function_response observation tool_call tool_response",
}
ROLES: dict[str, Role] = {name: role for role, names in _ROLES.items() for name in names.split()}
MESSAGE = (("from", "role"), ("text", "value", "content"))
"""Fields of a message for its role and its text."""
DEEPEST = 10  # nesting limit of parts
# Types of parts whose text is the speaker's own.
TEXT_PARTS = frozenset({"text", "input_text", "output_text", "audio_transcription"})


def _message(value: Any) -> StagedTurn:
    """Convert a message with any known field names to a turn; anything else becomes a turn with a note."""
    if not isinstance(value, dict):
        return StagedTurn(role="other", text="", note=f"no message but {type(value).__name__}")
    role, content = (next((value[name] for name in names if name in value), None) for names in MESSAGE)
    if isinstance(author := value.get("author"), dict):  # as in OpenAI's export
        role = author.get("role")
    known = ROLES.get(role.strip().lower()) if isinstance(role, str) else None
    parts = list(_parts(content))
    left = Counter(kind for kind, text in parts if text is None)
    notes = [] if known else [f"unknown role {str(role)[:40]!r}"]
    if left:
        notes.append(f"not text: {', '.join(f'{count} {kind}' for kind, count in sorted(left.items()))}")
    said = storable("\n".join(text for _, text in parts if text is not None))
    return StagedTurn(role=known or "other", text=said, note="; ".join(notes) or None)


def _parts(content: Any, depth: int = 0) -> Iterator[tuple[str, str | None]]:
    """Yield the kind and text of each part; the text is None for non-text parts."""
    if content is None:
        return
    if depth > DEEPEST:
        yield "deeply nested part", None
    elif isinstance(content, str):
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


OWNER = "me"  # the person of an OpenAI export, which is one person's and does not name them
_PEOPLE = ("person", "user_id", "user", "hashed_ip", "account")
_IDS = ("id", "conversation_id", "conversation_hash", "conv_id", "uuid")

LISTS = ("conversation", "conversations", "turns", "messages")
"""Fields that hold a list of messages, in WildChat, in ShareGPT, and in our own lines."""


def _listed(row: dict[str, Any], field: str, default: str) -> StagedConversation:
    """Read a list of messages and, in our own lines, the known attributes.

    WildChat identifies the user by a hashed address, which may be in the messages. A conversation that was continued may occur
    twice under the same hash; its own id, if any, takes precedence.
    """
    messages: list[Any] = row[field]
    addresses = (one["hashed_ip"] for one in messages if isinstance(one, dict) and one.get("hashed_ip"))
    person = next(addresses, None) if field == "conversation" else None
    found = _conversation({"hashed_ip": person, **row}, default, [_message(one) for one in messages])
    known = row.get("attributes") if field in ("turns", "messages") else None
    for one in known if isinstance(known, list) else []:
        try:
            found.attributes.append(Attribute.model_validate(one))
        except ValueError:
            continue  # malformed attributes are ignored
    return found


def _tree(row: dict[str, Any], default: str) -> StagedConversation:
    """Read OpenAI's export: the current branch of its tree of messages, root first."""
    mapping = {name: one if isinstance(one, dict) else {} for name, one in row["mapping"].items()}
    node = row.get("current_node")
    if node not in mapping:  # no current leaf is stated: take the one added last
        node = next((name for name in reversed(mapping) if not mapping[name].get("children")), None)
    path: list[StagedTurn] = []
    seen: set[str] = set()
    while isinstance(node, str) and node in mapping and node not in seen:
        seen.add(node)
        if (message := mapping[node].get("message")) is not None:
            path.append(_message(message))
        node = mapping[node].get("parent")
    elsewhere = sum(one.get("message") is not None and name not in seen for name, one in mapping.items())
    conversation = _conversation(row, default or OWNER, path[::-1])
    if elsewhere:
        conversation.reason = f"{elsewhere} messages on branches that were given up are not read."
    return conversation


def _conversation(row: dict[str, Any], default: str, turns: list[StagedTurn]) -> StagedConversation:
    name, person = (_named(row, fields) for fields in (_IDS, _PEOPLE))
    return StagedConversation.model_construct(id=name, person=person or default, turns=turns, attributes=[])


def _named(row: dict[str, Any], fields: tuple[str, ...]) -> str:
    for field in fields:
        value = row.get(field)
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
            return str(value).strip().encode("utf-8", "replace").decode("utf-8")
    return ""


def read_log(path: Path, person: str = "") -> Iterator[StagedConversation]:
    """Yield every conversation of a log; `person` is its owner if it names none."""
    if path.is_dir():
        inside = [path / name for name in USUAL_NAMES if (path / name).is_file()]
        if not inside:
            raise UserError(
                f"{path} has no {' or '.join(USUAL_NAMES)}; name the file that holds the conversations."
            )
        path = inside[0]
    seen: dict[str, bytes] = {}
    first_problem = None
    for place, row in read_rows(path):
        conversation = _read(row, place, path, person)
        if conversation.status == Status.UNPARSED:
            first_problem = first_problem or conversation.reason
        else:
            _check_repeats(conversation, seen)
        yield conversation
    if not seen:
        raise UserError(first_problem or f"{path} holds no conversations; it is empty.")


def _read(row: dict[str, Any] | Unread, place: str, path: Path, person: str) -> StagedConversation:
    name = place.replace(" ", "-")
    field = None
    if isinstance(row, dict):
        field = next((one for one in LISTS if isinstance(row.get(one), list)), None)
        if field is None and not isinstance(row.get("mapping"), dict):
            fields = ", ".join(sorted(map(str, row))[:8])
            row = Unread(
                f"{path}, {place} is no conversation (it has {fields or 'no fields'}); one has turns, messages, "
                "conversations, conversation or mapping."
            )
    if isinstance(row, Unread):
        return StagedConversation(
            id=name, person=person or name, status=Status.UNPARSED, step=READING, reason=str(row)
        )
    tree = isinstance(row.get("mapping"), dict)
    conversation = _tree(row, person) if tree else _listed(row, field or "", person)
    conversation.id = conversation.id or name
    conversation.person = conversation.person or conversation.id
    own = [turn.text for turn in conversation.turns if turn.role == "user"]
    if not any(text.strip() for text in own):
        _skip(conversation, "Its user turns hold no text." if own else "It has no user turns.")
    return conversation


def _skip(conversation: StagedConversation, reason: str) -> None:
    conversation.status, conversation.step, conversation.reason = Status.SKIPPED, READING, reason


def _check_repeats(conversation: StagedConversation, seen: dict[str, bytes]) -> None:
    """Skip a conversation that was read before; rename a different one with the same id."""
    parts = (f"{turn.role}:{turn.text}" for turn in conversation.turns)
    content = bytes.fromhex(hash_text(conversation.person, *parts))
    name, number = conversation.id, 1
    while (known := seen.get(conversation.id)) is not None:
        if known == content and conversation.status == Status.OK:
            _skip(conversation, f"The same conversation was read before, as {conversation.id}.")
        number += 1
        conversation.id = f"{name}~{number}"
    if number > 1 and conversation.status == Status.OK:
        taken = f"Its id {name} was taken; it is called {conversation.id} here."
        conversation.reason = f"{conversation.reason or ''} {taken}".strip()
    seen[conversation.id] = content
