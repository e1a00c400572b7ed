"""The conversations of a run, on disk: a file of what was read, and an index of the conversations in it.

The index holds a small entry per conversation and no message text, so memory grows only with the number of conversations.
Texts are redacted before they are written, unless configured otherwise. Also here: language detection, and the person built from the
final attributes.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from sys import intern
from typing import BinaryIO

from personafit._errors import UserError
from personafit.extract.asking import wording
from personafit.extract.extracting import parts_of
from personafit.extract.records import (
    KINDS,
    ExtractedAttribute,
    StagedConversation,
    after_refinement,
    line_of,
)
from personafit.people import Attribute, FacetValue, Person
from personafit.people.redaction import redact
from personafit.store import Status

UNKNOWN = "und"
LOOKED_AT = 4_000  # characters; more make no difference
LEAST_LETTERS = (
    12  # fewer letters are no evidence of a language; a syllabic or logographic character counts as three
)
_LETTER = re.compile(r"[^\W\d_]")
_CODE = re.compile(r"```.*?(?:```|\Z)|https?://\S+", re.DOTALL)


def language_of_text(text: str) -> str:
    """Detect the language of a text; return `und` if it has too few letters."""
    text = _CODE.sub(" ", text[: 2 * LOOKED_AT])[:LOOKED_AT]
    letters = _LETTER.findall(text)
    if sum(3 if letter > "\u2e80" else 1 for letter in letters) < LEAST_LETTERS:
        return UNKNOWN
    try:
        import py3langid  # loads its model on the first call
    except ImportError as error:
        raise UserError(
            "Telling languages apart needs py3langid: pip install 'personafit[extract]' brings it."
        ) from error
    language, _ = py3langid.classify(text)
    return str(language)


@dataclass(slots=True)
class ConversationEntry:
    """Index entry of a conversation: its place in the corpus file, and what is needed to select it without reading it."""

    id: str
    person: str
    language: str
    messages: int
    """Number of user turns with text."""
    parts: int
    """Number of asks it takes."""
    offset: int
    status: Status
    step: str
    reason: str | None

    @property
    def used(self) -> bool:
        """Whether attributes are extracted from it."""
        return self.status == Status.OK

    def leave_out(self, step: str, reason: str, status: Status = Status.SKIPPED) -> None:
        """Exclude the conversation from further steps, with the reason."""
        self.status, self.step, self.reason = status, intern(step), intern(reason)


class ConversationCorpus:
    """All conversations of a run, kept in a file; use it as a context manager."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries: list[ConversationEntry] = []
        self.redactions: Counter[str] = Counter()
        self.known = 0
        """Number of attributes that the log itself states."""
        self._file: BinaryIO | None = None
        self._places: dict[str, ConversationEntry] | None = None
        self._languages: dict[str, str] = {}

    def fill(self, conversations: Iterable[StagedConversation], redacting: bool) -> None:
        """Write the conversations to the file, redacted if requested, and index them."""
        with self.path.open("wb") as file:
            for conversation in conversations:
                if redacting:
                    self._redact(conversation)
                self._tell_language(conversation)
                self.known += len(conversation.attributes)
                offset = file.tell()
                file.write(line_of(conversation))
                self.entries.append(
                    ConversationEntry(
                        id=conversation.id,
                        person=intern(conversation.person),
                        language=intern(conversation.language),
                        messages=len(user_texts(conversation)),
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
        """Return one conversation with its current status."""
        if self._file is None:
            self._file = self.path.open("rb")
        self._file.seek(entry.offset)
        conversation = StagedConversation.model_validate_json(self._file.readline())
        conversation.status, conversation.step, conversation.reason = entry.status, entry.step, entry.reason
        return conversation

    def named(self, name: str) -> StagedConversation:
        if self._places is None:
            self._places = {entry.id: entry for entry in self.entries}
        return self.read(self._places[name])

    def conversations(self) -> Iterator[StagedConversation]:
        """Yield all conversations in the order of the log, used or not."""
        return map(self.read, self.entries)

    def by_person(self, every: bool = False) -> dict[str, list[ConversationEntry]]:
        """Return the used entries, or all, by person, in a fixed order."""
        people: dict[str, list[ConversationEntry]] = {}
        for entry in self.entries:
            if entry.used or every:
                people.setdefault(entry.person, []).append(entry)
        return {person: people[person] for person in sorted(people)}

    def language(self, person: str) -> str:
        """Return the language of most of a person's messages."""
        if not self._languages:
            for name, entries in self.by_person(every=True).items():
                counts: Counter[str] = Counter()
                for entry in entries:
                    if entry.language != UNKNOWN:
                        counts[entry.language] += entry.messages
                self._languages[name] = min(counts, key=lambda one: (-counts[one], one), default="en")
        return self._languages[person]

    def _redact(self, conversation: StagedConversation) -> None:
        for turn in conversation.turns:
            found = redact(turn.text)
            turn.text = found.text
            self.redactions.update(found.counts)
        for known in conversation.attributes:
            known.text = redact(known.text).text

    def _tell_language(self, conversation: StagedConversation) -> None:
        said = ""
        for turn in conversation.turns:
            if turn.role == "user" and len(said) < LOOKED_AT:
                said += f"{turn.text[:LOOKED_AT]}\n"
        conversation.language = language_of_text(said)


def user_texts(conversation: StagedConversation) -> list[str]:
    """Return the non-empty texts of the user's turns."""
    return [turn.text for turn in conversation.turns if turn.role == "user" and turn.text.strip()]


def person_of(person: str, language: str, rows: Sequence[ExtractedAttribute]) -> Person:
    """Return the induced person: attributes with their evidence, and the same texts as facets by kind."""
    kept = after_refinement(rows)
    names = wording(language).kinds
    facets: dict[str, FacetValue] = {}
    for kind in KINDS:
        if texts := [row.text for row in kept if row.kind == kind]:
            facets[names[kind]] = texts
    attributes = [Attribute(id=row.id, text=row.text, evidence=row.evidence) for row in kept]
    return Person(id=person, language=language, facets=facets, attributes=attributes)
