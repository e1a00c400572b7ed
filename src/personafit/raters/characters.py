"""Character n-grams and words of texts, as rules and fitted models count them.

Weights are fitted on these counts, and a rule that splits text differently is another rule: if you change a function,
raise the version of what is built on it. Chinese is written without spaces, so pairs of neighbouring characters stand in for its words.
"""

import re
from functools import lru_cache
from operator import add

HAN = re.compile(r"[\u4e00-\u9fff]+")
_RUNS = re.compile(r"[\u4e00-\u9fff]+|[a-z0-9]+")
_LATIN_WORDS = re.compile(r"[a-z0-9]{2,}")


def adjacent(text: str, length: int) -> list[str]:
    """Return all substrings of `length` characters in order, whatever the characters are."""
    grams = list(text)
    for offset in range(1, length):
        grams = list(map(add, grams, text[offset:]))
    return grams


@lru_cache(maxsize=256)
def neighbours(text: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return all pairs of adjacent characters, in order and as a set."""
    pairs = tuple(map(add, text, text[1:]))
    return pairs, frozenset(pairs)


@lru_cache(maxsize=4096)
def han_pairs(text: str) -> frozenset[str]:
    """Return the pairs of adjacent Chinese characters."""
    return frozenset(pair for run in HAN.findall(text) for pair in adjacent(run, 2))


def latin_words(text: str) -> set[str]:
    """Return the words and numbers in Latin letters of a lower-case text."""
    return set(_LATIN_WORDS.findall(text))


def matchable(text: str, length: int) -> set[str]:
    """Return what can count as a match: n-grams within runs of Chinese characters and, for 2-grams, whole Latin words."""
    found: set[str] = set()
    for run in _RUNS.findall(text.lower()):
        if run[0] >= "\u4e00":
            found.update(adjacent(run, length))
        elif length == 2 and len(run) > 1:
            found.add(run)
    return found


@lru_cache(4096)
def long_words(text: str) -> frozenset[str]:
    """Return the distinct words of four letters or more."""
    return frozenset(re.findall(r"\w{4,}", text.lower()))
