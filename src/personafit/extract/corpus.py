"""The conversations of a run, on disk and not in memory: a file of what was read, and an index of where each one stands.

The index holds a few words for each conversation and nothing of what was said, so a log of a million turns takes no more
memory than its number of conversations asks for. Texts are redacted before they are written, unless asked otherwise. Here too: which
language somebody writes in, and the person that is made of what is left of their attributes.
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
LOOKED_AT = 4_000  # characters: more change nothing
LEAST_LETTERS = (
    12  # fewer letters are no evidence of a language; a sign for a syllable or a word counts for three
)
_LETTER = re.compile(r"[^\W\d_]")
_CODE = re.compile(r"```.*?(?:```|\Z)|https?://\S+", re.DOTALL)


def language_of_text(text: str) -> str:
    """The language of a text; `und` where it cannot be told."""
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
        self._languages: dict[str, str] = {}

    def fill(self, conversations: Iterable[StagedConversation], redacting: bool) -> None:
        """Write down what is read, redacted where asked, and note where each conversation stands."""
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
        """One conversation, as it stands now."""
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
        """All of them in the order of the log, used or not."""
        return map(self.read, self.entries)

    def by_person(self, every: bool = False) -> dict[str, list[ConversationEntry]]:
        """What is used, or everything, by person, both in a fixed order."""
        people: dict[str, list[ConversationEntry]] = {}
        for entry in self.entries:
            if entry.used or every:
                people.setdefault(entry.person, []).append(entry)
        return {person: people[person] for person in sorted(people)}

    def language(self, person: str) -> str:
        """The language most of a person's messages are in."""
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
    """What the user said, turn by turn, where it is text."""
    return [turn.text for turn in conversation.turns if turn.role == "user" and turn.text.strip()]


def person_of(person: str, language: str, rows: Sequence[ExtractedAttribute]) -> Person:
    """The person as induced: attributes with their evidence, and the same as facets, grouped by what they are about."""
    kept = after_refinement(rows)
    names = wording(language).kinds
    facets: dict[str, FacetValue] = {}
    for kind in KINDS:
        if texts := [row.text for row in kept if row.kind == kind]:
            facets[names[kind]] = texts
    attributes = [Attribute(id=row.id, text=row.text, evidence=row.evidence) for row in kept]
    return Person(id=person, language=language, facets=facets, attributes=attributes)
