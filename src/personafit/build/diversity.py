"""Diversity of people, as figures for the card: distinct n-grams, spread of embeddings, clusters, and shared sentences.

PersonaFeedback's figures are given for comparison. All depend on the number of people, so samples of the same size are compared.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from personafit.build.given import habits_of, preferences_of
from personafit.build.prompts import DATA, read_toml
from personafit.build.step import table
from personafit.models.embeddings import make_embedder
from personafit.people import Person, facet_values

ALIKE = 0.7
"""Mean cosine at which two groups of people merge into one cluster."""
_TOKEN = re.compile(r"[\u3400-\u9fff]|[^\W_]+")  # a Chinese character or a word


class Diversity(NamedTuple):
    """Diversity figures of a sample of people."""

    people: int
    distinct_1: float
    """Distinct words (or Chinese characters) as a share of all words in the preferences."""
    distinct_2: float
    spread: float
    """Mean cosine distance between two people's preferences."""
    clusters: int
    shared: int
    """Number of people who share the most frequent sentence."""


def diversity(people: Sequence[Person]) -> Diversity:
    """Measure a sample of two or more people."""
    from sklearn.cluster import AgglomerativeClustering

    texts = [". ".join(facet_values(preferences_of(person))) for person in people]
    grams: dict[int, Counter[tuple[str, ...]]] = {1: Counter(), 2: Counter()}
    for tokens in (_TOKEN.findall(text.lower()) for text in texts):
        for size, counts in grams.items():
            counts.update(zip(*(tokens[start:] for start in range(size)), strict=False))
    vectors = make_embedder().embed(texts)
    likeness = vectors @ vectors.T
    distances = 1 - likeness[np.triu_indices(len(people), 1)]
    clustering = AgglomerativeClustering(
        n_clusters=None, metric="precomputed", linkage="average", distance_threshold=1 - ALIKE
    )
    found = clustering.fit(np.clip(1 - likeness, 0, 2))
    shared = Counter(text for person in people for text in {text for _, text in habits_of(person)})
    return Diversity(
        len(people),
        len(grams[1]) / max(1, grams[1].total()),
        len(grams[2]) / max(1, grams[2].total()),
        float(distances.mean()),
        int(found.n_clusters_),
        max(shared.values(), default=0),
    )


def describe_people(people: Sequence[Person]) -> str:
    """Return the card's section on diversity, by language; empty if there are too few people."""
    published = read_toml(DATA / "diversity.toml")
    rows = []
    for language in dict.fromkeys(person.language for person in people):
        mine = [person for person in people if person.language == language]
        sizes = [one["people"] for one in published["sample"] if one["people"] <= len(mine)]
        if sizes:
            rows.append((f"these, {language}", *_cells(diversity(mine[: max(sizes)]))))
            other = next(one for one in published["sample"] if one["people"] == max(sizes))
            rows.append((published["name"], *_cells(Diversity(**other))))
    if not rows:
        return ""
    columns = ("people", "sample", "distinct-1", "distinct-2", "spread", "clusters", "shared by at most")
    said = (
        "Of preferences: shares of different words and pairs of words (Chinese: characters), mean cosine distance between two people, "
        f"clusters at a mean cosine of {ALIKE:g}, and how many people share one sentence. Shares of different words are "
        f"comparable within a language only. {published['source']}"
    )
    return "\n".join(["## How far people differ", "", said, "", *table(columns, rows)])


def _cells(found: Diversity) -> tuple[object, ...]:
    shares = (f"{value:.3f}" for value in (found.distinct_1, found.distinct_2, found.spread))
    return (found.people, *shares, found.clusters, found.shared)
