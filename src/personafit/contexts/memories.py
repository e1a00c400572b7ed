"""A person's memories, wherever they come from: on record, the sentences of summaries, or what was said in a session; and the context
`history[:budget=32000]` that tells all of them.

Memories on record come first; somebody who has none but summaries of earlier interactions gets one memory for each sentence or
bullet of them, named after the domain and its place.
"""

import re
from collections.abc import Iterator, Sequence

from personafit._errors import UserError
from personafit._hashing import content_hash, hash_text
from personafit.contexts.context import Context, ContextBuilder, People
from personafit.models.tokens import count_tokens
from personafit.people import Conversation, Memory, Person
from personafit.store import Item

HISTORY, UNTIL = "history", "until"  # slices of an item
WAYS = ("bm25", "dense", "hybrid")
"""How memories can be found for a question."""

_PIECE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\s*\n\s*(?:[-*•]\s+|\d+[.)]\s+)?")
_BULLET = re.compile(r"^(?:[-*•]\s+|\d+[.)]\s+)")


def memories_of(person: Person) -> list[Memory]:
    """What is remembered about the person, in the order of the file; ids must differ and no text may be blank."""
    memories = person.memories or list(_of_summaries(person))
    seen: set[str] = set()
    for memory in memories:
        if memory.id in seen:
            raise UserError(
                f"Person '{person.id}' has two memories with the id '{memory.id}'; give each its own."
            )
        if not memory.text.strip():
            raise UserError(
                f"Memory '{memory.id}' of person '{person.id}' is blank; remove it or say what is remembered."
            )
        seen.add(memory.id)
    return memories


def memories_at(person: Person, item: Item) -> list[Memory]:
    """What had been said when the item was asked: of the history it names, the first so many; of anybody else everything.

    An item names a history, the `source` of its memories, with the slice `history`, and how many of them with `until`.
    """
    memories = memories_of(person)
    history = item.slices.get(HISTORY)
    if history is None:
        return memories
    named = [memory for memory in memories if memory.source == history]
    if person.id != item.person:
        return named or memories
    return named[: int(item.slices.get(UNTIL, len(named)))]


def has_memories(person: Person) -> bool:
    """Whether there is anything to retrieve."""
    return bool(person.memories or any(text.strip() for text in person.summaries.values()))


def session_memories(conversation: Conversation, time: str | None = None) -> list[Memory]:
    """What the person said in a conversation, a memory for each turn of theirs; 'ID#3' is turn 3, from 0."""
    return [
        Memory(id=f"{conversation.id}#{number}", text=turn.text, time=time, source=conversation.id)
        for number, turn in enumerate(conversation.turns)
        if turn.role == "user" and turn.text.strip()
    ]


def memories_hash(memories: Sequence[Memory]) -> str:
    """Hash of ids, texts and times: an index or a profile made from others is out of date."""
    return hash_text(*(part for one in memories for part in (one.id, one.text, one.time or "")))


def oldest_first(memories: Sequence[Memory]) -> list[Memory]:
    """By time, those without one first; the order of the file decides ties."""
    return sorted(memories, key=lambda memory: memory.time or "")


def _of_summaries(person: Person) -> Iterator[Memory]:
    for domain, text in person.summaries.items():
        pieces = (_BULLET.sub("", piece.strip()) for piece in _PIECE.split(text))
        for number, piece in enumerate((piece for piece in pieces if piece), 1):
            yield Memory(id=f"{domain}#{number}", text=piece, source=domain)


BUDGET = 32_000  # tokens
HEADINGS = {"en": "Said in earlier conversations:", "zh": "以前的对话："}


class HistoryContext:
    """All that was said, up to the item."""

    def __init__(self, budget: int) -> None:
        self.name = "history" if budget == BUDGET else f"history:budget={budget}"
        self.fingerprint = content_hash(["said-1", budget, HEADINGS])
        self._budget = budget
        self._tokens: dict[str, int] = {}
        self._of: str | None = None

    def build(self, person: Person, item: Item) -> Context:
        """The latest memories that fit, the oldest of them first."""
        kept = self._latest(person, oldest_first(memories_at(person, item)))
        heading = HEADINGS["zh" if person.language.startswith("zh") else "en"]
        text = "\n".join([heading, *(memory.text for memory in kept)]) if kept else ""
        return Context(
            self.name,
            text,
            tuple(memory.text for memory in kept),
            person.id,
            maker=f"{self.name}#{self.fingerprint}",
            parents=tuple(memory.id for memory in kept),
        )

    def covers(self, person: Person, item: Item) -> bool:
        """Whether there is anything to tell of the person, so that they can stand in for somebody."""
        return has_memories(person)

    def _latest(self, person: Person, memories: list[Memory]) -> list[Memory]:
        if person.id != self._of:  # work goes person by person, and one history serves many questions
            self._of, self._tokens = person.id, {}
        left, kept = self._budget, 0
        for memory in reversed(memories):
            if memory.id not in self._tokens:
                self._tokens[memory.id] = count_tokens(memory.text)
            left -= self._tokens[memory.id]
            if left < 0:
                break
            kept += 1
        return memories[len(memories) - kept :]


def history_context(argument: str, people: People, seed: int) -> ContextBuilder:
    """Make `history` or `history:budget=TOKENS`."""
    name = f"history:{argument}" if argument else "history"
    option, _, value = argument.partition("=")
    if argument and (option != "budget" or not (value.isascii() and value.isdecimal() and int(value) > 0)):
        raise UserError(f"{name}: write history:budget=TOKENS, such as history:budget=8000.")
    if not any(has_memories(person) for person in people.values()):
        raise UserError(f"{name}: nobody here has memories to tell; add `memories` to people.jsonl.")
    return HistoryContext(int(value) if argument else BUDGET)
