"""Which blocks of the attention square a packed row needs, read off its tree instead of off the square itself.

The square of a row of 32,768 tokens has a billion cells; the tree has one integer per token. A block is wholly visible when
its last key lies before its first query and every subtree in it reaches past its last query.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int32]
BLOCK = 128


@dataclass(frozen=True)
class Blocks:
    """Per block of queries, and per block of keys, how many blocks count and which: partly visible and wholly visible."""

    partial: tuple[Ints, Ints]
    full: tuple[Ints, Ints]
    partial_by_key: tuple[Ints, Ints]
    full_by_key: tuple[Ints, Ints]


def blocks_of(ends: npt.NDArray[np.int64], block: int = BLOCK) -> Blocks:
    """The blocks of a row whose length is a multiple of the block."""
    shaped = ends.reshape(-1, block)
    count = len(shaped)
    first = np.arange(count) * block
    last = first + block - 1
    reach, least = shaped.max(axis=1), shaped.min(axis=1)
    queries = np.arange(count)
    some = (queries[None, :] <= queries[:, None]) & (reach[None, :] > first[:, None])
    whole = (queries[None, :] < queries[:, None]) & (least[None, :] > last[:, None])
    partial = some & ~whole
    return Blocks(_listed(partial), _listed(whole), _listed(partial.T), _listed(whole.T))


def _listed(grid: npt.NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Per row how many are set, and their places first."""
    places = np.argsort(~grid, axis=1, kind="stable")
    return grid.sum(axis=1).astype(np.int32), places.astype(np.int32)
