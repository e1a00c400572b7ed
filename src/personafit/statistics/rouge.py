"""ROUGE-1 and ROUGE-L F1, as in LaMP and most papers: unigram overlap and the longest common subsequence.

Matches the package `rouge-score` without a stemmer (a test compares the two), which LaMP's own script calls through `evaluate`:
words are runs of a-z and 0-9 in lower case, and everything else separates them. A text in a script other than Latin therefore has
no words and scores 0: this measures English.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

INSTRUMENT = "rouge-f1-1"  # version of the metric; raise it with any change of scores
_WORD = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Rouge:
    """ROUGE-1 and ROUGE-L F1 scores, from 0 to 1."""

    rouge_1: float
    rouge_l: float


def rouge(text: str, reference: str) -> Rouge:
    """Compute ROUGE-1 and ROUGE-L of a text against its reference."""
    written, wanted = words(text), words(reference)
    common = sum((Counter(written) & Counter(wanted)).values())
    return Rouge(
        _f1(common, len(written), len(wanted)),
        _f1(longest_common(written, wanted), len(written), len(wanted)),
    )


def words(text: str) -> list[str]:
    """Split a text into the words that ROUGE counts."""
    return _WORD.findall(text.lower())


def longest_common(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the length of the longest common subsequence of two word lists."""
    before = [0] * (len(second) + 1)
    for word in first:
        now = [0]
        for place, other in enumerate(second, 1):
            now.append(before[place - 1] + 1 if word == other else max(before[place], now[-1]))
        before = now
    return before[-1]


def _f1(common: int, written: int, wanted: int) -> float:
    """Return F1, 2PR / (P + R), from counts of common words and words in each text."""
    return 2 * common / (written + wanted) if common else 0.0
