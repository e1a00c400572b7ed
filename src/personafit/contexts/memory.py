"""`memory[:k=3,by=hybrid,budget=400]`: the memories that retrieval finds for the question, and nothing else.

What is told are the memories themselves, the newest last, each with its date where it has one. Which they are is kept with the
stored context as its parents, and how they were found is part of its maker.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from personafit._errors import UserError
from personafit._hashing import content_hash
from personafit.contexts.context import Context, People
from personafit.contexts.memories import WAYS, has_memories, memories_at, memories_of, oldest_first
from personafit.contexts.retrieval import Retriever
from personafit.models.tokens import count_tokens
from personafit.people import Memory, Person
from personafit.store import Item

KIND = "memory"
TELLING = "memories-1"  # changes whenever the same memories would be told otherwise
HEADINGS = {"en": "Remembered from earlier conversations with the person:", "zh": "从以前的对话中记得的："}
CUT = " …"


@dataclass(frozen=True)
class MemorySettings:
    """How memories are found."""

    k: int = 3
    by: str = "hybrid"
    budget: int = 400
    """About how many tokens may be told; a memory that alone is longer is cut."""
    embedder: str = ""
    """As in models.embeddings; empty for the one that comes with personafit."""

    @property
    def options(self) -> str:
        """What differs from the usual, as on the command line."""
        usual = MemorySettings()
        named = ("k", "by", "budget", "embedder")
        return ",".join(f"{n}={getattr(self, n)}" for n in named if getattr(self, n) != getattr(usual, n))


class MemoryContext:
    """The memories found for a question."""

    def __init__(self, settings: MemorySettings, people: People) -> None:
        self.settings = settings
        self.name = f"{KIND}:{settings.options}" if settings.options else KIND
        self._retriever = Retriever(settings.by, settings.embedder, people.index_folder)
        self.fingerprint = content_hash(
            [TELLING, settings.k, settings.budget, self._retriever.fingerprint, HEADINGS]
        )

    def build(self, person: Person, item: Item) -> Context:
        """The best memories within the budget."""
        found = self.find(person, item)
        return told(self.name, self.fingerprint, person, found, {})

    def covers(self, person: Person, item: Item) -> bool:
        """Whether there is anything to tell of the person, so that they can stand in for somebody."""
        return has_memories(person)

    def find(self, person: Person, item: Item) -> list[Memory]:
        """What is found, best first."""
        memories = memories_at(person, item)
        found = self._retriever.find(person.id, memories, item.prompt, self.settings.k)
        return within(found, self.settings.budget)


def within(memories: Sequence[Memory], budget: int) -> list[Memory]:
    """The first memories that fit a number of tokens; the first of all is cut if it alone does not."""
    kept: list[Memory] = []
    for memory in memories:
        size = count_tokens(memory.text)
        if size <= budget:
            kept.append(memory)
            budget -= size
        elif not kept:
            return [memory.model_copy(update={"text": _cut(memory.text, budget)})]
    return kept


def told(
    name: str, fingerprint: str, person: Person, memories: Sequence[Memory], marks: dict[str, str]
) -> Context:
    """Memories as a context; `marks` are put before some of them, by id."""
    ordered = oldest_first(memories)
    lines = [_line(memory, marks.get(memory.id, "")) for memory in ordered]
    text = "\n".join([heading(person.language), *lines]) if lines else ""
    return Context(
        name,
        text,
        tuple(memory.text for memory in ordered),
        person.id,
        maker=f"{name}#{fingerprint}",
        parents=tuple(memory.id for memory in ordered),
    )


def heading(language: str) -> str:
    """The line above the memories."""
    return HEADINGS["zh" if language.startswith("zh") else "en"]


def memory_settings(argument: str, name: str) -> MemorySettings:
    """The settings that `k=5,by=bm25` and the like stand for."""
    values: dict[str, str] = {}
    for part in filter(None, argument.split(",")):
        option, _, value = part.partition("=")
        if option not in ("k", "by", "budget", "embedder") or not value:
            raise UserError(
                f"{name}: '{part}' is no option; write k=NUMBER, by={'|'.join(WAYS)}, budget=TOKENS or embedder=NAME."
            )
        values[option] = value
    usual = MemorySettings()
    by = values.get("by", usual.by)
    if by not in WAYS:
        raise UserError(f"{name}: memories are found by {', '.join(WAYS)}, not by '{by}'.")
    k, budget = (_whole(values, option, getattr(usual, option), name) for option in ("k", "budget"))
    return MemorySettings(k, by, budget, values.get("embedder", ""))


def check_people(people: People, name: str) -> None:
    """Refuse data in which nobody has memories, or somebody's are not usable."""
    anybody = False
    for person in people.values():
        anybody = bool(memories_of(person)) or anybody
    if not anybody:
        raise UserError(
            f"{name}: nobody here has memories, or summaries to take them from; add `memories` to people.jsonl."
        )


def _whole(values: dict[str, str], option: str, usual: int, name: str) -> int:
    text = values.get(option, str(usual))
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= 1_000_000):
        raise UserError(f"{name}: {option} must be a whole number of at least 1, not '{text}'.")
    return int(text)


def _line(memory: Memory, mark: str) -> str:
    date = f"[{memory.time}] " if memory.time else ""
    return f"- {date}{mark}{' '.join(memory.text.split())}"


def _cut(text: str, budget: int) -> str:
    """So much of a text that it fits; counted, not guessed, since scripts differ."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count_tokens(text[:middle]) <= budget else (low, middle - 1)
    return text[:low].rstrip() + CUT
