"""Texts as terms for BM25: words where words are spaced, pairs of characters where they are not.

English words lose their commonest endings and the words that say nothing; Chinese and Japanese runs become overlapping pairs, so
that no segmenter and no dictionary is needed.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

TERMS = "words-and-bigrams-1"  # changes whenever a text would give other terms
_RUN = re.compile(r"([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+)|([^\W_\u3040-\u9fff]+)")
_SAYS_NOTHING = frozenset(
    "a about again all also am an and any are as at be been but by can could did do does for from get go good had has have he "
    "her here him his how i if in into is it its just like make me more most my no not of off on one or our out over own please "
    "she should so some such than that the their them then there these they thing things this those to too up us use very want "
    "was way we were what when where which who why will with would you your".split()
)


def terms(text: str) -> list[str]:
    """The terms of a text, in order, repetitions included."""
    return list(_terms(text))


def _terms(text: str) -> Iterator[str]:
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    for wide, word in _RUN.findall(text.lower()):
        if wide:
            yield from (wide[place : place + 2] for place in range(max(1, len(wide) - 1)))
        elif word not in _SAYS_NOTHING:
            yield _stem(word)


@lru_cache(1 << 16)
def _stem(word: str) -> str:
    """Without a plural, a past or a progressive ending; crude, and the same for questions and memories."""
    for ending, least in (("ing", 6), ("ies", 5), ("ed", 5), ("es", 5), ("s", 4)):
        if word.endswith(ending) and len(word) >= least and not word.endswith("ss"):
            return word[: -len(ending)]
    return word
