"""Rules about relevance: the controls every relevance score has to beat.

A new rule is one function of a prompt and a list of attributes, and a line each in `RULES` and `VERSIONS`; one that is to score
otherwise gets a new version.
"""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from personafit._versions import fingerprint_of


class Rule(NamedTuple):
    """Scores every attribute of a list; `threshold` is where yes begins, None where nothing says so."""

    score: Callable[[str, Sequence[str]], list[float]]
    threshold: float | None


def always_yes(prompt: str, attributes: Sequence[str]) -> list[float]:
    """Everything matters."""
    return [1.0] * len(attributes)


def bm25(prompt: str, attributes: Sequence[str]) -> list[float]:
    """BM25 of each attribute for the prompt, among the attributes of the list."""
    import bm25s  # type: ignore[import-untyped]

    words = bm25s.tokenize([prompt], stopwords="en", return_ids=False, show_progress=False)[0]
    texts = bm25s.tokenize(list(attributes), stopwords="en", return_ids=False, show_progress=False)
    asked = sorted(set(words) & {word for text in texts for word in text})
    if not asked:  # the library takes no empty query
        return [0.0] * len(attributes)
    index = bm25s.BM25()
    index.index(texts, show_progress=False)
    return [float(score) for score in index.get_scores(asked)]


def overlap(prompt: str, attributes: Sequence[str]) -> list[float]:
    """How many distinct words of four letters or more the attribute shares with the prompt."""
    asked = _words(prompt)
    return [float(len(_words(attribute) & asked)) for attribute in attributes]


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w{4,}", text.lower()))


RULES = {
    "always-yes": Rule(always_yes, 1.0),
    "bm25": Rule(bm25, None),
    "overlap": Rule(overlap, 1.0),
}
VERSIONS = {"always-yes": "1", "bm25": "1", "overlap": "1"}


def rule_code(name: str) -> str:
    """What a rule's version is called in fingerprints."""
    return fingerprint_of(f"rule/relevance/{name}", VERSIONS[name])
