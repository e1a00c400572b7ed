"""Laying out token sequences that share beginnings as a tree, so that what they share is computed once.

All that is known of a person, then the question, then the answer: among the sequences of one person the beginnings are
the same. Sorted, each sequence differs from the one before only in its end; only the ends are laid out, one after the
other. One integer per token says how far its subtree reaches: a token may look at a key if and only if
`key <= token < end[key]`. Positions run along each path, so every path sees exactly what it would see alone.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class TokenRow:
    """One row of tokens for the model."""

    tokens: Ints
    positions: Ints
    ends: Ints  # per token the index just after its subtree
    owners: Ints  # which of the sequences given are in this row
    last: Ints  # per sequence in the row, the index of its last token: where it is scored

    def __len__(self) -> int:
        return len(self.tokens)


class _PackedRow:
    """A row of packed sequences while it is filled."""

    def __init__(self, capacity: int) -> None:
        self._tokens, self._positions, self._ends = (np.empty(capacity, dtype=np.int64) for _ in range(3))
        self.length = 0
        self._owners: list[int] = []
        self._last: list[int] = []
        self._sequence = np.empty(0, dtype=np.int64)
        self._path = np.empty(0, dtype=np.int64)  # where the tokens of the last sequence stand in the row

    @property
    def count(self) -> int:
        """Number of sequences in the row."""
        return len(self._owners)

    def shared(self, sequence: Ints) -> int:
        """How many tokens the sequence has in common with the one before."""
        return _common(sequence, self._sequence)

    def add(self, owner: int, sequence: Ints, shared: int) -> None:
        """Lay out what the sequence does not share; what it does not share of the one before is closed to it."""
        start, stop = self.length, self.length + len(sequence) - shared
        self._ends[self._path[shared:]] = start
        self._tokens[start:stop] = sequence[shared:]
        self._positions[start:stop] = np.arange(shared, len(sequence))
        self._path = np.concatenate([self._path[:shared], np.arange(start, stop)])
        self._sequence, self.length = sequence, stop
        self._owners.append(owner)
        self._last.append(int(self._path[-1]))

    def packed(self) -> TokenRow:
        """The row as it is now, all its subtrees ended."""
        self._ends[self._path] = self.length
        tokens, positions, ends = (
            column[: self.length] for column in (self._tokens, self._positions, self._ends)
        )
        return TokenRow(tokens, positions, ends, np.asarray(self._owners), np.asarray(self._last))


def pack_trees(sequences: Sequence[Sequence[int]], capacity: int, together: int = 1) -> Iterator[TokenRow]:
    """Rows of at most `capacity` tokens in which shared beginnings stand once; a beginning is repeated in a new row.

    Each `together` sequences, such as the two of a pair, stay in one row.
    """
    units = [range(start, start + together) for start in range(0, len(sequences), together)]
    within = [sorted(unit, key=lambda index: list(sequences[index])) for unit in units]
    return _pack(sequences, sorted(within, key=lambda unit: list(sequences[unit[0]])), capacity, share=True)


def pack_sequences(
    sequences: Sequence[Sequence[int]], capacity: int, together: int = 1, most: int | None = None
) -> Iterator[TokenRow]:
    """Rows of at most `capacity` tokens in which at most `most` sequences stand whole, one after the other."""
    units = (range(start, start + together) for start in range(0, len(sequences), together))
    return _pack(sequences, units, capacity, share=False, most=most)


def _pack(
    sequences: Sequence[Sequence[int]],
    units: Iterable[Sequence[int]],
    capacity: int,
    share: bool,
    most: int | None = None,
) -> Iterator[TokenRow]:
    row = _PackedRow(capacity)
    for unit in units:
        members = [np.asarray(sequences[index], dtype=np.int64) for index in unit]
        if not all(map(len, members)):
            raise ValueError(f"sequence {unit[0]}, or one with it, is empty; there is nothing to score")
        lengths = _fresh(row, members, share)
        full = most is not None and row.count + len(unit) > most
        if full or row.length + sum(lengths) > capacity:
            if row.length:
                yield row.packed()
            row = _PackedRow(capacity)
            lengths = _fresh(row, members, share)
            if sum(lengths) > capacity:
                raise ValueError(f"sequence {unit[0]} needs {sum(lengths)} tokens; {capacity} can be packed")
        for index, sequence, fresh in zip(unit, members, lengths, strict=True):
            row.add(index, sequence, len(sequence) - fresh)
    if row.length:
        yield row.packed()


def _fresh(row: _PackedRow, members: list[Ints], share: bool) -> list[int]:
    """How many tokens each member adds to the row after those before it."""
    if not share:
        return [len(sequence) for sequence in members]
    shared = [row.shared(members[0]), *(_common(one, two) for one, two in pairwise(members))]
    return [len(sequence) - count for sequence, count in zip(members, shared, strict=True)]


def _common(first: Ints, second: Ints) -> int:
    """Return the length of the common prefix of two sequences."""
    count = min(len(first), len(second))
    differ = np.flatnonzero(first[:count] != second[:count])
    return int(differ[0]) if len(differ) else count


def split(row: TokenRow) -> list[Ints]:
    """The sequences of a row in which they stand whole."""
    starts = np.flatnonzero(row.positions == 0)
    return np.split(row.tokens, starts[1:])


def segments(row: TokenRow) -> list[tuple[int, int, Ints]]:
    """The stretches of a row that lie on one path, each as start, stop, and the earlier tokens it may look at."""
    starts = np.flatnonzero(np.diff(row.positions, prepend=-2) != 1)
    stops = np.append(starts[1:], len(row))
    return [
        (int(start), int(stop), np.flatnonzero(row.ends[:start] > start))
        for start, stop in zip(starts, stops, strict=True)
    ]


BlockPlaces = npt.NDArray[np.int32]
BLOCK = 128


@dataclass(frozen=True)
class Blocks:
    """Per block of queries, and per block of keys, how many blocks count and which: partly visible and wholly visible."""

    partial: tuple[BlockPlaces, BlockPlaces]
    full: tuple[BlockPlaces, BlockPlaces]
    partial_by_key: tuple[BlockPlaces, BlockPlaces]
    full_by_key: tuple[BlockPlaces, BlockPlaces]


def blocks_of(ends: Ints, block: int = BLOCK, wholes: bool = True) -> Blocks:
    """Which blocks of the attention square a row needs, read off its tree; its length is a multiple of the block.

    The square of a row of 32,768 tokens has a billion cells; the tree has one integer per token. A block is wholly visible when
    its last key lies before its first query and every subtree in it reaches past its last query; without `wholes` every cell of it
    is to be looked at all the same.
    """
    shaped = ends.reshape(-1, block)
    count = len(shaped)
    first = np.arange(count) * block
    last = first + block - 1
    reach, least = shaped.max(axis=1), shaped.min(axis=1)
    queries = np.arange(count)
    some = (queries[None, :] <= queries[:, None]) & (reach[None, :] > first[:, None])
    whole = wholes & (queries[None, :] < queries[:, None]) & (least[None, :] > last[:, None])
    partial = some & ~whole
    return Blocks(_listed(partial), _listed(whole), _listed(partial.T), _listed(whole.T))


def _listed(grid: npt.NDArray[np.bool_]) -> tuple[BlockPlaces, BlockPlaces]:
    """Per row how many are set, and their places first."""
    places = np.argsort(~grid, axis=1, kind="stable")
    return grid.sum(axis=1).astype(np.int32), places.astype(np.int32)
