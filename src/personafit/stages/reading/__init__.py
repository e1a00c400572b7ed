"""Chat logs in: our JSONL, ShareGPT, OpenAI's data export, WildChat rows; streamed, and nothing lost.

Every entry becomes a conversation with a status. What cannot be used says why: it cannot be read, has no user turns, was
there before. Turns keep the places they had, so that evidence points into the log.
"""

from collections.abc import Iterator
from pathlib import Path

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.stages.reading.formats import FORMATS, find_format
from personafit.stages.reading.rows import LogRow, read_rows
from personafit.stages.records import StagedConversation
from personafit.store import Status

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
    layout = find_format(row.value)
    if layout is None:
        fields = ", ".join(sorted(map(str, row.value))[:8])
        return _unread(
            name,
            person,
            f"{path}, {row.place} is no conversation (it has {fields or 'no fields'}); one has turns, messages, "
            "conversations, conversation or mapping.",
        )
    conversation = FORMATS[layout](row.value, person)
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
