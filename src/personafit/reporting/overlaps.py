"""`rule:overlap` for many answers at once: the same counts, from arrays of code points instead of sets of texts.

The neighbouring characters in what is known of a person are numbered; which of them a text has is then a row of yes and no, and all
texts shown to that person are looked at in a few operations.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_BEYOND = 0x110000  # no character: stands between texts, so that none runs on into the next
_BREAK = _BEYOND.to_bytes(4, "little")
_TOGETHER = 500  # texts looked at in one go


def overlaps(known: str, answers: Sequence[str], prompts: Sequence[str]) -> NDArray[np.int64]:
    """For each answer to its prompt: how many distinct pairs of neighbouring characters it shares with what is known, the prompt's left out."""
    pairs = _Pairs(known)
    counts = np.zeros(len(answers), np.int64)
    for start in range(0, len(answers), _TOGETHER):
        part = slice(start, start + _TOGETHER)
        counts[part] = (pairs.had_by(answers[part]) & ~pairs.had_by(prompts[part])).sum(1)
    return counts


class _Pairs:
    """The distinct pairs of neighbouring characters of a text, numbered from 1; 0 stands for any other pair."""

    def __init__(self, text: str) -> None:
        points = _points([text])
        letters = np.unique(points[points != _BEYOND])
        self._letter = np.zeros(_BEYOND + 1, np.int32)
        self._letter[letters] = np.arange(1, len(letters) + 1)
        self._letters = len(letters) + 1
        self._number = np.zeros(self._letters**2, np.int32)
        own = np.unique(self._codes(points)[:-1])
        self._number[own] = np.arange(1, len(own) + 1)
        self._count = len(own)

    def had_by(self, texts: Sequence[str]) -> NDArray[np.bool_]:
        """Texts × pairs: which text has which."""
        numbers = self._number[self._codes(_points(texts))]
        met = np.flatnonzero(numbers)
        place = np.repeat(np.arange(len(texts)), [len(text) + 1 for text in texts])[:-1]
        found = np.zeros((len(texts), self._count + 1), np.bool_)
        found[place[met], numbers[met]] = True
        return found[:, 1:]

    def _codes(self, points: NDArray[np.uint32]) -> NDArray[np.int32]:
        """One number for every two neighbours."""
        letters = self._letter[points]
        return letters[:-1] * np.int32(self._letters) + letters[1:]


def _points(texts: Sequence[str]) -> NDArray[np.uint32]:
    """The code points of all texts, each text with a break behind it."""
    parts = (text.encode("utf-32-le", "surrogatepass") + _BREAK for text in texts)
    return np.frombuffer(b"".join(parts), np.dtype("<u4"))
