"""Who is trained on, in which order: people are held out whole, and a batch holds whole people as far as they fit.

What a person's pairs share is computed once where they stand in one row, so the pairs of a person stay together. Every
batch is full, since the number of pairs in a step is part of a recipe; a person is split only when nobody left fits.
"""

from collections import defaultdict, deque
from collections.abc import Sequence

import numpy as np

from personafit.training.reward.pairs import RewardPair


def limited(pairs: Sequence[RewardPair], limit: int | None, seed: int) -> list[RewardPair]:
    """At most so many pairs, of people drawn one after the other."""
    if limit is None or len(pairs) <= limit:
        return list(pairs)
    own = _by_owner(pairs)
    drawn = _shuffled(sorted(own), seed)
    kept = [index for owner in drawn for index in own[owner]][:limit]
    return [pairs[index] for index in sorted(kept)]


def held_out(
    pairs: Sequence[RewardPair], share: float, seed: int
) -> tuple[list[RewardPair], list[RewardPair]]:
    """The pairs to train on and those of the people held out: a share of the people, at least one of two."""
    owners = _shuffled(sorted({pair.owner for pair in pairs}), seed)
    count = min(max(1, round(share * len(owners))), len(owners) - 1) if share and owners else 0
    out = set(owners[:count])
    return [p for p in pairs if p.owner not in out], [p for p in pairs if p.owner in out]


def sampled(pairs: Sequence[RewardPair], count: int, seed: int) -> list[RewardPair]:
    """So many of the pairs, drawn without putting back."""
    chosen = np.random.default_rng(seed).permutation(len(pairs))[:count]
    return [pairs[index] for index in sorted(chosen.tolist())]


def grouped_order(
    owners: Sequence[str], batch: int, epochs: float, seed: int, together: int | None = None
) -> list[int]:
    """The indices of all epochs in the order they are trained on; each `batch` of them are one batch.

    No more than `together` pairs of a person are drawn at once, so that several people meet in a batch.
    """
    own: defaultdict[str, list[int]] = defaultdict(list)
    for index, owner in enumerate(owners):
        own[owner].append(index)
    names = sorted(own)
    order: list[int] = []
    total = round(epochs * len(owners))
    epoch = 0
    while len(order) < total:
        random = np.random.default_rng([seed, epoch])
        groups = [
            drawn[start : start + (together or batch)]
            for owner in names
            for drawn in [[own[owner][place] for place in random.permutation(len(own[owner]))]]
            for start in range(0, len(drawn), together or batch)
        ]
        waiting = deque(groups[place] for place in random.permutation(len(groups)))
        while waiting:
            room = batch - len(order) % batch
            fits = next((place for place, pairs in enumerate(waiting) if len(pairs) <= room), None)
            if fits is None:
                order += waiting[0][:room]
                waiting[0] = waiting[0][room:]
            else:
                order += waiting[fits]
                del waiting[fits]
        epoch += 1
    return order[:total]


def _by_owner(pairs: Sequence[RewardPair]) -> dict[str, list[int]]:
    own: defaultdict[str, list[int]] = defaultdict(list)
    for index, pair in enumerate(pairs):
        own[pair.owner].append(index)
    return own


def _shuffled(owners: Sequence[str], seed: int) -> list[str]:
    return [owners[place] for place in np.random.default_rng(seed).permutation(len(owners))]
