"""The conversations of a run, on disk and not in memory: a file of what was read, and an index of where each one stands.

The index holds a few words for each conversation and nothing of what was said, so a log of a million turns takes no more
memory than its number of conversations asks for. Texts are redacted before they are written, unless asked otherwise.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from sys import intern
from typing import BinaryIO

import orjson

from personafit.people.redaction import redact
from personafit.stages.extracting import parts_of
from personafit.stages.language import LOOKED_AT, UNKNOWN, languages
from personafit.stages.records import StagedConversation
from personafit.store import Status


@dataclass(slots=True)
class ConversationEntry:
    """Where a conversation stands in the corpus file, with what is needed to select it without reading it."""

    id: str
    person: str
    language: str
    messages: int
    """User turns with text."""
    parts: int
    """Asks it takes."""
    offset: int
    status: Status
    step: str
    reason: str | None

    @property
    def used(self) -> bool:
        """Whether attributes are looked for in it."""
        return self.status == Status.OK

    def leave_out(self, step: str, reason: str, status: Status = Status.SKIPPED) -> None:
        """It goes no further, and says why."""
        self.status, self.step, self.reason = status, intern(step), intern(reason)


class ConversationCorpus:
    """All conversations of a run, kept in a file; use it as a context manager."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries: list[ConversationEntry] = []
        self.redactions: Counter[str] = Counter()
        self.known = 0
        """Attributes that the log itself says are true."""
        self._file: BinaryIO | None = None
        self._places: dict[str, ConversationEntry] | None = None

    def fill(self, conversations: Iterable[StagedConversation], redacting: bool) -> None:
        """Write down what is read, redacted where asked, and note where each conversation stands."""
        with self.path.open("wb") as file:
            for conversation in conversations:
                if redacting:
                    self._redact(conversation)
                self._tell_language(conversation)
                self.known += len(conversation.attributes)
                offset = file.tell()
                file.write(
                    orjson.dumps(conversation.model_dump(mode="json"), option=orjson.OPT_APPEND_NEWLINE)
                )
                self.entries.append(
                    ConversationEntry(
                        id=conversation.id,
                        person=intern(conversation.person),
                        language=intern(conversation.language),
                        messages=sum(
                            turn.role == "user" and bool(turn.text.strip()) for turn in conversation.turns
                        ),
                        parts=len(parts_of(conversation)) if conversation.status == Status.OK else 0,
                        offset=offset,
                        status=conversation.status,
                        step=intern(conversation.step),
                        reason=conversation.reason,
                    )
                )

    def __enter__(self) -> "ConversationCorpus":
        return self

    def __exit__(self, *_exc: object) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def read(self, entry: ConversationEntry) -> StagedConversation:
        """One conversation, as it stands now."""
        if self._file is None:
            self._file = self.path.open("rb")
        self._file.seek(entry.offset)
        conversation = StagedConversation.model_validate_json(self._file.readline())
        conversation.status, conversation.step, conversation.reason = entry.status, entry.step, entry.reason
        return conversation

    def named(self, name: str) -> StagedConversation:
        """The conversation of that id."""
        if self._places is None:
            self._places = {entry.id: entry for entry in self.entries}
        return self.read(self._places[name])

    def conversations(self) -> Iterator[StagedConversation]:
        """All of them in the order of the log, used or not."""
        return map(self.read, self.entries)

    def by_person(self) -> dict[str, list[ConversationEntry]]:
        """What is used, by person, both in a fixed order."""
        people: dict[str, list[ConversationEntry]] = {}
        for entry in self.entries:
            if entry.used:
                people.setdefault(entry.person, []).append(entry)
        return {person: people[person] for person in sorted(people)}

    def _redact(self, conversation: StagedConversation) -> None:
        for turn in conversation.turns:
            found = redact(turn.text)
            turn.text = found.text
            self.redactions.update(found.counts)
        for known in conversation.attributes:
            known.text = redact(known.text).text

    def _tell_language(self, conversation: StagedConversation) -> None:
        said, length = [], 0
        for turn in conversation.turns:
            if turn.role == "user" and length < LOOKED_AT:
                said.append(turn.text[:LOOKED_AT])
                length += len(turn.text)
        found = languages("\n".join(said)) if said else [UNKNOWN]
        conversation.language = found[0]
        if len(found) > 1 and conversation.status == Status.OK:
            mixed = f"The user writes in several languages: {', '.join(found)}."
            conversation.reason = f"{conversation.reason or ''} {mixed}".strip()


def user_texts(conversation: StagedConversation) -> list[str]:
    """What the user said, turn by turn, where it is text."""
    return [turn.text for turn in conversation.turns if turn.role == "user" and turn.text.strip()]
