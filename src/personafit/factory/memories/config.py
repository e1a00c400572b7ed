"""`[memories]`: how many memories, where they come from, and what is inferred from them."""

from collections.abc import Iterator
from itertools import islice
from typing import Literal

from pydantic import Field

from personafit.factory.config import BuildConfig, ConfigSection
from personafit.factory.memories.corpus import LONGEST, read_corpus

LOOKED_AT = 1_000  # entries of each file, to see whether there are enough


class MemoriesSection(ConfigSection):
    """What the memories and features steps are asked for."""

    per_person: int = Field(12, ge=1, le=200, description="Memories of each person.")
    corpora: list[str] = Field(
        default_factory=list,
        description="JSONL files with `text`, or plain text with an empty line between entries; empty lets the writer write.",
    )
    shortlist: int = Field(
        30, ge=2, description="Entries of the corpora offered for each person, the nearest and some others."
    )
    most_entries: int = Field(20_000, ge=1, description="Entries looked at; of larger corpora a sample.")
    asks: Literal["whole", "one"] = Field(
        "whole", description="All of a person's memories in one ask, or one by one, for small models."
    )
    sampled: int = Field(6, ge=1, description="Memories drawn for the profiler to infer features from.")
    features: int = Field(3, ge=1, le=20, description="Features inferred of each person.")

    def faults(self, config: BuildConfig) -> Iterator[str]:
        """Quotas that no corpus or person can fill, and corpora with nothing in them."""
        if self.corpora and self.shortlist < self.per_person:
            yield (
                f"shortlist = {self.shortlist} is fewer than per_person = {self.per_person}: a person cannot be given "
                "more memories than are offered"
            )
        if self.sampled > self.per_person:
            yield f"sampled = {self.sampled} is more than the {self.per_person} memories a person has"
        if self.features > self.sampled:
            yield f"features = {self.features} is more than the {self.sampled} memories they are inferred from"
        paths = [config.place(name) for name in self.corpora]
        for path in paths:
            if not path.is_file():
                yield f"corpora: there is no file {path}"
        if paths:
            texts = {entry.text for path in paths for entry in islice(read_corpus(path), LOOKED_AT)}
            named = ", ".join(self.corpora)
            if not texts:
                yield f"corpora: there is nothing to remember in {named}; give entries of 1 to {LONGEST} characters"
            elif len(texts) < self.per_person:
                yield (
                    f"per_person = {self.per_person} is more than the {len(texts)} different entries of 1 to {LONGEST} characters in "
                    f"{named}"
                )
