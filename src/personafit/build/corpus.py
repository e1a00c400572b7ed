"""Texts of the user's own files, JSONL or plain text: entries that memories are chosen from, found by likeness."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.benchmarks.lines import read_lines, required_text
from personafit.models.embeddings import Embedder, make_embedder

LONGEST = 600  # characters of an entry: longer ones are no memory


class CorpusText(NamedTuple):
    """One text of a corpus, and where it is from."""

    text: str
    source: str


def text_lines(path: Path, key: str) -> Iterator[str]:
    """The lines of a text file that a key of the config names."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            yield from file
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); check `{key}`.") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8; save it as UTF-8.") from error


def read_corpus(paths: Sequence[Path]) -> Iterator[CorpusText]:
    """The entries of some files; those too long to be remembered are left out."""
    for path in paths:
        found = _rows(path) if path.suffix == ".jsonl" else _paragraphs(path)
        yield from (entry for entry in found if 0 < len(entry.text) <= LONGEST)


def _rows(path: Path) -> Iterator[CorpusText]:
    for number, row in read_lines(path):
        text = " ".join(required_text(row, "text", path, number).split())
        yield CorpusText(text, f"{path.name}#{number}")


def _paragraphs(path: Path) -> Iterator[CorpusText]:
    """What stands between empty lines, numbered."""
    groups = groupby((line.strip() for line in text_lines(path, "corpora")), key=bool)
    texts = (" ".join(lines) for words, lines in groups if words)
    return (CorpusText(text, f"{path.name}#{number}") for number, text in enumerate(texts, 1))


class MemoryCorpus:
    """The entries of some files, a seeded sample where there are very many, with their vectors."""

    def __init__(self, paths: Sequence[Path], most: int, seed: int, embedder: Embedder | None = None) -> None:
        kept = {entry.text: entry for entry in read_corpus(paths)}
        order = sorted(kept.values(), key=lambda entry: hash_text("corpus", str(seed), entry.text))
        self.entries = order[:most]
        self._embedder = embedder or make_embedder()
        self._vectors = self._embedder.embed([entry.text for entry in self.entries])

    def shortlist(self, about: str, count: int, key: str) -> list[CorpusText]:
        """The nearest entries and, for a quarter, others drawn by the key."""
        count = min(count, len(self.entries))
        likeness = self._vectors @ self._embedder.embed([about])[0]
        order = np.argsort(-likeness, kind="stable").tolist()
        near = max(1, count - count // 4)
        others = sorted(order[near:], key=lambda place: hash_text("shortlist", key, self.entries[place].text))
        return [self.entries[place] for place in (*order[:near], *others[: count - near])]
