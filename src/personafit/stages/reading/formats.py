"""The layouts logs come in, each a function from one entry to a conversation. A new one is a function and a line in `FORMATS`."""

from collections.abc import Callable
from typing import Any

from personafit.people import Attribute
from personafit.stages.reading.parts import odd_turn, turn
from personafit.stages.records import StagedConversation, StagedTurn

OWNER = "me"  # whose an OpenAI export is: it is one person's and does not name them
_PEOPLE = ("person", "user_id", "user", "hashed_ip", "account")
_IDS = ("id", "conversation_id", "conversation_hash", "conv_id", "uuid")

Reader = Callable[[dict[str, Any], str], StagedConversation]


def find_format(row: dict[str, Any]) -> str | None:
    """The name of the layout an entry is in, by the fields it has."""
    if isinstance(row.get("mapping"), dict):
        return "openai"
    if isinstance(row.get("conversation"), list):
        return "wildchat"
    if isinstance(row.get("conversations"), list):
        return "sharegpt"
    if isinstance(row.get("turns"), list) or isinstance(row.get("messages"), list):
        return "jsonl"
    return None


def read_jsonl(row: dict[str, Any], default: str) -> StagedConversation:
    """Our own: `turns` of role and text, and what is known to be true; also chat `messages` of role and content."""
    raw = row["turns"] if isinstance(row.get("turns"), list) else row["messages"]
    turns = [
        turn(one.get("role"), one.get("text", one.get("content"))) if isinstance(one, dict) else odd_turn(one)
        for one in raw
    ]
    return _conversation(row, default, turns, _known(row.get("attributes")))


def read_sharegpt(row: dict[str, Any], default: str) -> StagedConversation:
    """ShareGPT: `conversations` of from and value."""
    turns = [
        turn(one.get("from", one.get("role")), one.get("value", one.get("content")))
        if isinstance(one, dict)
        else odd_turn(one)
        for one in row["conversations"]
    ]
    return _conversation(row, default, turns)


def read_wildchat(row: dict[str, Any], default: str) -> StagedConversation:
    """WildChat: `conversation` of role and content, the user told by a hashed address."""
    turns = [
        turn(one.get("role"), one.get("content")) if isinstance(one, dict) else odd_turn(one)
        for one in row["conversation"]
    ]
    person = next(
        (one["hashed_ip"] for one in row["conversation"] if isinstance(one, dict) and one.get("hashed_ip")),
        None,
    )
    # A conversation may occur twice under its hash where it went on; its own id, if any, comes first.
    return _conversation({"hashed_ip": person, **row}, default, turns)


def read_openai(row: dict[str, Any], default: str) -> StagedConversation:
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
        return odd_turn(message)
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
    conversation = StagedConversation.model_construct(
        id=name, person=person, turns=turns, attributes=known or []
    )
    return conversation


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


FORMATS: dict[str, Reader] = {
    "jsonl": read_jsonl,
    "sharegpt": read_sharegpt,
    "openai": read_openai,
    "wildchat": read_wildchat,
}
