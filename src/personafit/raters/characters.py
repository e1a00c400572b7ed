"""Texts as characters that can be compared: what rules and fitted models count without knowing any words.

Fitted models count what their weights were fitted on, and a rule that splits otherwise is another rule: whoever changes a function
raises the version of what is built on it. Chinese is written without spaces, so pairs of neighbouring characters stand in for its words.
"""

import re
from functools import lru_cache
from operator import add

HAN = re.compile(r"[\u4e00-\u9fff]+")
_RUNS = re.compile(r"[\u4e00-\u9fff]+|[a-z0-9]+")
_LATIN_WORDS = re.compile(r"[a-z0-9]{2,}")


def adjacent(text: str, length: int) -> list[str]:
    """All substrings of `length` characters in order, whatever the characters are."""
    grams = list(text)
    for offset in range(1, length):
        grams = list(map(add, grams, text[offset:]))
    return grams


@lru_cache(maxsize=256)
def neighbours(text: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """All pairs of neighbouring characters, in order and distinct."""
    pairs = tuple(map(add, text, text[1:]))
    return pairs, frozenset(pairs)


@lru_cache(maxsize=4096)
def han_pairs(text: str) -> frozenset[str]:
    """The pairs of neighbouring Chinese characters."""
    return frozenset(pair for run in HAN.findall(text) for pair in adjacent(run, 2))


def latin_words(text: str) -> set[str]:
    """The words and numbers in Latin letters of a lower-case text."""
    return set(_LATIN_WORDS.findall(text))


def matchable(text: str, length: int) -> set[str]:
    """What can count as a match: n-grams within runs of Chinese characters and, as 2-grams, whole Latin words."""
    found: set[str] = set()
    for run in _RUNS.findall(text.lower()):
        if run[0] >= "\u4e00":
            found.update(adjacent(run, length))
        elif length == 2 and len(run) > 1:
            found.add(run)
    return found


@lru_cache(4096)
def long_words(text: str) -> frozenset[str]:
    """The distinct words of four letters or more."""
    return frozenset(re.findall(r"\w{4,}", text.lower()))
