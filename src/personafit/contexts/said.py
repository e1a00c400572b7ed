"""`history[:budget=32000]`: everything that was said before the question, word for word; of what is too long, the latest.

Where `memory` looks for what bears on the question, this tells all of it, as benchmarks of long histories do.
"""

from personafit._errors import UserError
from personafit._hashing import content_hash
from personafit.contexts.context import Context, ContextBuilder, People
from personafit.contexts.memories import has_memories, memories_at, oldest_first
from personafit.models.tokens import count_tokens
from personafit.people import Memory, Person
from personafit.store import Item

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
