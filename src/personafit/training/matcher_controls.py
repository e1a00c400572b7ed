"""What a matcher is compared with: words counted instead of embedded, and the plain cosine."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from personafit._hashing import content_hash
from personafit.models.embeddings import Vectors, unit_rows
from personafit.raters.fitted.kernel import Floats, PairVectors

_WORD = re.compile(r"\w+")


class WordCounts:
    """An embedder that counts words, weighed by how rare they are (tf-idf); it knows no synonyms."""

    def __init__(self, texts: Iterable[str]) -> None:
        documents = [frozenset(_words(text)) for text in texts]
        counts = Counter(word for words in documents for word in words)
        common = [word for word, count in counts.items() if count > 1]
        self._column = {word: place for place, word in enumerate(common)}
        self._weights = np.log((1 + len(documents)) / (1 + np.array([counts[word] for word in common]))) + 1

    @property
    def fingerprint(self) -> str:
        """Hash of the words known."""
        return content_hash(["word counts", list(self._column)])

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a text; a text without a known word is a row of zeros."""
        rows = np.zeros((len(texts), max(1, len(self._column))), dtype=np.float64)
        for place, text in enumerate(texts):
            for word, count in Counter(_words(text)).items():
                if word in self._column:
                    column = self._column[word]
                    rows[place, column] = (1 + np.log(count)) * self._weights[column]
        return unit_rows(rows)


def cosines(pairs: PairVectors) -> Floats:
    """How close each attribute is to its whole prompt, with nothing learnt."""
    products = pairs.prompts[pairs.prompt_of].astype(np.float64) * pairs.attributes[pairs.attribute_of]
    return np.asarray(products.sum(axis=1), dtype=np.float64)


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]
