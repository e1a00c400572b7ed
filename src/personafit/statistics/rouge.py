"""ROUGE-1 and ROUGE-L, F1, as LaMP and most papers measure them: words in common, and the longest sequence in common.

Counted as the package `rouge-score` counts without a stemmer (a test holds the two together), which `evaluate` and through it
LaMP's own script call: words are runs of a-z and 0-9 in lower case, all else parts them. So a text in another script has no
words and scores 0: this measures English.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

INSTRUMENT = "rouge-f1-1"  # changes whenever the same texts would score otherwise
_WORD = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Rouge:
    """How near a text is to another, from 0 to 1."""

    rouge_1: float
    rouge_l: float


def rouge(text: str, reference: str) -> Rouge:
    """ROUGE of a text against its reference."""
    written, wanted = words(text), words(reference)
    common = sum((Counter(written) & Counter(wanted)).values())
    return Rouge(
        _f1(common, len(written), len(wanted)),
        _f1(longest_common(written, wanted), len(written), len(wanted)),
    )


def words(text: str) -> list[str]:
    """The words that are counted."""
    return _WORD.findall(text.lower())


def longest_common(first: Sequence[str], second: Sequence[str]) -> int:
    """The length of the longest sequence of words that both have in this order, with gaps."""
    before = [0] * (len(second) + 1)
    for word in first:
        now = [0]
        for place, other in enumerate(second, 1):
            now.append(before[place - 1] + 1 if word == other else max(before[place], now[-1]))
        before = now
    return before[-1]


def _f1(common: int, written: int, wanted: int) -> float:
    """F1 of the overlap of two texts: 2PR / (P + R), in terms of counts."""
    return 2 * common / (written + wanted) if common else 0.0
