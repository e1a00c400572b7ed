"""`[memories]`: how many memories, from which corpora or the writer, and what is inferred from them."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from pydantic import Field

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.benchmarks.lines import read_lines, required_text
from personafit.factory.config import BuildConfig, ConfigSection
from personafit.models.embeddings import Embedder, Vectors, make_embedder

LONGEST = 600  # characters of an entry: longer ones are no memory


class CorpusText(NamedTuple):
    """One text of a corpus, and where it is from."""

    text: str
    source: str


class MemoryCorpus:
    """The entries of some files, a seeded sample where there are very many, with their vectors."""

    def __init__(self, paths: Sequence[Path], most: int, seed: int, embedder: Embedder | None = None) -> None:
        self.entries = _sampled(paths, most, seed)
        self._embedder = embedder or make_embedder()
        self._vectors: Vectors = self._embedder.embed([entry.text for entry in self.entries])

    def shortlist(self, about: str, count: int, key: str) -> list[int]:
        """The places of the nearest entries and, for a quarter, of others drawn by the key."""
        count = min(count, len(self.entries))
        near = max(1, count - count // 4)
        likeness = self._vectors @ self._embedder.embed([about])[0]
        nearest = [int(place) for place in np.argsort(-likeness, kind="stable")[:near]]
        known, turn = set(nearest), 0
        others: list[int] = []
        while len(nearest) + len(others) < count:
            place = int(hash_text("shortlist", key, str(turn)), 16) % len(self.entries)
            turn += 1
            if place not in known:
                known.add(place)
                others.append(place)
        return [*nearest, *others]


def _sampled(paths: Sequence[Path], most: int, seed: int) -> list[CorpusText]:
    """So many different entries, drawn by their words; however large the files are, no more are held than twice as many."""
    kept: dict[str, tuple[str, CorpusText]] = {}
    bar = "g"  # after every hash; what comes later than the last of those kept so far is not needed
    for entry in (entry for path in paths for entry in read_corpus(path)):
        rank = hash_text("corpus", str(seed), entry.text)
        if rank < bar:
            kept.setdefault(entry.text, (rank, entry))
        if len(kept) >= 2 * most:
            kept = dict(sorted(kept.items(), key=lambda one: one[1][0])[:most])
            bar = max(rank for rank, _ in kept.values())
    if not kept:
        named = ", ".join(map(str, paths))
        raise UserError(
            f"{named}: there is nothing to remember in it; give entries of 1 to {LONGEST} characters."
        )
    return [entry for _, entry in sorted(kept.values())[:most]]


def read_corpus(path: Path) -> Iterator[CorpusText]:
    """The entries of one file; those too long to be remembered are left out."""
    if path.suffix == ".jsonl":
        found: Iterator[CorpusText] = (
            CorpusText(" ".join(required_text(row, "text", path, number).split()), f"{path.name}#{number}")
            for number, row in read_lines(path)
        )
    else:
        found = _paragraphs(path)
    return (entry for entry in found if 0 < len(entry.text) <= LONGEST)


def _paragraphs(path: Path) -> Iterator[CorpusText]:
    try:
        with path.open(encoding="utf-8-sig") as file:
            lines: list[str] = []
            number = 0
            for line in file:
                if line.strip():
                    lines.append(line.strip())
                elif lines:
                    number += 1
                    yield CorpusText(" ".join(lines), f"{path.name}#{number}")
                    lines = []
            if lines:
                yield CorpusText(" ".join(lines), f"{path.name}#{number + 1}")
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); check `corpora`.") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8; save it as UTF-8.") from error


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
