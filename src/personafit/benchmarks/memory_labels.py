"""Relevance labels of memories, from `relevant_memories.jsonl` of a benchmark folder, to evaluate retrieval.

A line is `{"item": ID, "relevant": [MEMORY ID, ...]}`; an empty list means that no memory is relevant.
"""

import os.path
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from personafit._errors import UserError, located
from personafit.benchmarks.folder import FolderBenchmark
from personafit.benchmarks.lines import read_records
from personafit.benchmarks.starter import FOLDER as STARTER
from personafit.contexts.memories import memories_of
from personafit.contexts.retrieval import Retrieval, Retriever
from personafit.people import Person
from personafit.store import Item

FILE = "relevant_memories.jsonl"


class MemoryLabel(BaseModel):
    """The memories relevant to an item."""

    model_config = ConfigDict(extra="forbid")

    item: str = Field(description="Id of an item.")
    relevant: list[str] = Field(
        description="Ids of the person's memories that bear on it; empty where none does."
    )


class LabelledMemories:
    """The people, items and memory labels of a benchmark."""

    def __init__(self, benchmark: str) -> None:
        folder = STARTER if benchmark == "starter" else Path(benchmark)
        path = folder / FILE
        if not os.path.isfile(path):
            raise UserError(
                f"{benchmark} does not say which memories bear on which items: {path} is missing; a line is "
                '{"item": ID, "relevant": [MEMORY ID, ...]}.'
            )
        source = FolderBenchmark(folder)
        self.people: dict[str, Person] = {person.id: person for person in source.people()}
        self._items: dict[str, Item] = {item.id: item for item in source.items()}
        self.labels = list(self._read(path))
        self.memories = {person.id: len(memories_of(person)) for person in self.people.values()}

    def retrieved(self, retriever: Retriever, depth: int) -> Iterator[tuple[str, Retrieval]]:
        """Iterate over the labelled items with their person's language, what was retrieved and what is relevant."""
        for item, relevant in self.labels:
            person = self.people[item.person]
            found = retriever.find(person.id, memories_of(person), item.prompt, depth)
            yield (
                person.language,
                Retrieval(person.id, item.prompt, [memory.id for memory in found], frozenset(relevant)),
            )

    def _read(self, path: Path) -> Iterator[tuple[Item, Sequence[str]]]:
        for number, label in read_records(path, MemoryLabel, key=lambda label: label.item, field="item"):
            item = self._items.get(label.item)
            if item is None:
                raise UserError(f"{located(path, number, 'item')}: there is no item '{label.item}'.")
            known = {memory.id for memory in memories_of(self.people[item.person])}
            if unknown := [one for one in label.relevant if one not in known]:
                raise UserError(
                    f"{located(path, number, 'relevant')}: {item.person} has no memory '{unknown[0]}'."
                )
            yield item, label.relevant
