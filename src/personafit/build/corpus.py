"""Corpora of the user that memories are chosen from: entries of JSONL or text files, found by likeness."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.benchmarks.lines import read_lines, required_text
from personafit.models.embeddings import Embedder, Vectors, make_embedder


def text_lines(path: Path, key: str) -> Iterator[str]:
    """The lines of a text file that a key of the config names."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            yield from file
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); check `{key}`.") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8; save it as UTF-8.") from error


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
    """What stands between empty lines, numbered."""
    groups = groupby((line.strip() for line in text_lines(path, "corpora")), key=bool)
    texts = (" ".join(lines) for words, lines in groups if words)
    return (CorpusText(text, f"{path.name}#{number}") for number, text in enumerate(texts, 1))
