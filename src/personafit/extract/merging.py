"""Semantic equivalence of statements: merging a person's found attributes, and assigning found statements to known ones.

Merging is average linkage over cosines, cut at 0.7, one person at a time. The result does not depend on the order of the attributes:
they are sorted first, and the representative is the member nearest to the cluster's centre, weighted by confidence, with ties
broken by confidence and text.

For assignment, the frame of each statement ("The user …") is removed, the cosines of all pairs of a person are computed, and the
one-to-one assignment with the greatest sum is made among pairs at `SAME` or above: an explicit rule, because precision and recall
depend on it. `SAME` and the rule's accuracy were measured on our own labelled pairs (docs/measurements/extraction.md); it errs both
ways, so recall and precision carry its error.
"""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from personafit.extract.records import ExtractedAttribute
from personafit.models.embeddings import Embedder, Vectors

Floats = NDArray[np.float64]
LIKENESS = 0.7  # mean cosine from which two clusters are merged
MOST_AT_ONCE = 4_000  # attributes of one person clustered at once: memory grows with the square
DIGITS = 5  # digits of a cosine: the last bits depend on the batch of the embedder


def merge(rows: Sequence[ExtractedAttribute], embedder: Embedder) -> list[ExtractedAttribute]:
    """Merge the equivalent attributes of one person; return all rows sorted, the merged ones naming their representative."""
    usable = sorted((row for row in rows if row.status == "kept"), key=_order)
    rest = [row for row in rows if row.status != "kept"]
    if not usable:
        return sorted(rest, key=_order)
    texts = sorted({row.text for row in usable})
    vectors = dict(zip(texts, embedder.embed(texts), strict=True))
    merged: list[ExtractedAttribute] = []
    for members in _clusters(usable, vectors):
        chosen = _representative(members, vectors)
        evidence = list(dict.fromkeys(place for row in sorted(members, key=_order) for place in row.evidence))
        confidence = max(row.confidence for row in members)
        for row in members:
            if row is chosen:
                merged.append(row.model_copy(update={"evidence": evidence, "confidence": confidence}))
            else:
                merged.append(row.model_copy(update={"status": "merged", "into": chosen.id}))
    return sorted(merged + rest, key=_order)


def _order(row: ExtractedAttribute) -> tuple[str, str, str]:
    return row.conversation, row.text, row.id


def _clusters(rows: list[ExtractedAttribute], vectors: dict[str, Vectors]) -> list[list[ExtractedAttribute]]:
    """Return clusters of equivalent rows; identical texts always share a cluster."""
    same: dict[str, list[ExtractedAttribute]] = {}
    for row in rows:
        same.setdefault(row.text, []).append(row)
    groups = [[text] for text in sorted(same)]
    while True:
        linked: list[list[str]] = []
        for start in range(0, len(groups), MOST_AT_ONCE):
            linked += _link(groups[start : start + MOST_AT_ONCE], vectors)
        # Too many groups are clustered in blocks, repeatedly until nothing merges any more.
        if len(groups) <= MOST_AT_ONCE or len(linked) == len(groups):
            return [[row for text in group for row in same[text]] for group in linked]
        groups = sorted(linked)


def _link(groups: list[list[str]], vectors: dict[str, Vectors]) -> list[list[str]]:
    centres = np.stack([unit(sum(vectors[text] for text in group)) for group in groups])
    found: dict[int, list[str]] = {}
    for label, group in zip(linked(centres), groups, strict=True):
        found.setdefault(label, []).extend(group)
    return sorted(sorted(group) for group in found.values())


def linked(vectors: Vectors | Floats) -> list[int]:
    """Return the cluster label of each vector, by average linkage over cosines."""
    if len(vectors) < 2:
        return [1] * len(vectors)
    from scipy.cluster.hierarchy import fcluster, linkage

    pairs = np.triu_indices(len(vectors), 1)
    distances = np.round(1.0 - vectors @ vectors.T, DIGITS)[pairs].astype(np.float64)
    tree = linkage(np.clip(distances, 0.0, 2.0), method="average")
    labels: list[int] = fcluster(tree, t=1.0 - LIKENESS, criterion="distance").tolist()
    return labels


def _representative(members: list[ExtractedAttribute], vectors: dict[str, Vectors]) -> ExtractedAttribute:
    centre = unit(sum(row.confidence * vectors[row.text] + 1e-6 * vectors[row.text] for row in members))
    return min(
        members,
        key=lambda row: (
            -round(float(vectors[row.text] @ centre), DIGITS),
            -row.confidence,
            *_order(row),
        ),
    )


def unit(vector: "Vectors | int") -> Vectors:
    """Return the vector scaled to length 1; a zero vector is unchanged."""
    array = np.asarray(vector, dtype=np.float32)
    length = float(np.linalg.norm(array))
    return array / length if length else array


SAME = 0.45  # cosine from which two statements about a person may be equivalent
_FRAME = re.compile(r"^\s*(?:the|this) user(?:['’]s)?\s+|^\s*(?:该|这位|此)?用户的?", re.IGNORECASE)


def likeness(found: Sequence[str], known: Sequence[str], embedder: Embedder) -> Floats:
    """Return the cosines of every found and every known statement, without their frames."""
    if not found or not known:
        return np.zeros((len(found), len(known)))
    bare = [_FRAME.sub("", text) or text for text in (*found, *known)]
    vectors = embedder.embed(bare).astype(np.float64)
    cosines: Floats = vectors[: len(found)] @ vectors[len(found) :].T
    return cosines


def assign(cosines: Floats, same: float = SAME) -> list[int | None]:
    """Assign found statements to known ones; return the known index for each, or None. No known one is assigned twice."""
    from scipy.optimize import linear_sum_assignment

    taken: list[int | None] = [None] * len(cosines)
    if cosines.size:
        worth = np.where(cosines >= same, cosines, 0.0)
        for row, column in zip(*linear_sum_assignment(worth, maximize=True), strict=True):
            if worth[row, column] > 0:
                taken[int(row)] = int(column)
    return taken


def match_known(found: Sequence[str], known: Sequence[str], embedder: Embedder) -> list[int | None]:
    """Assign one person's found statements to the known ones, by `likeness` and `assign`."""
    return assign(likeness(found, known, embedder))
