"""Packing of token sequences with common prefixes as a tree, so that shared tokens are computed once.

Sequences start with the person, then the question, then the answer, so those of one person have common prefixes. Sorted, each
sequence differs from the one before only in its end; only the ends are laid out, one after the
other. One integer per token says how far its subtree reaches: a token may attend to a key if and only if
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
    ends: Ints  # per token, the index just after its subtree
    owners: Ints  # indices of the input sequences in this row
    last: Ints  # per sequence in the row, the index of its last token, where it is scored

    def __len__(self) -> int:
        return len(self.tokens)


class _PackedRow:
    """A row of packed sequences while it is being filled."""

    def __init__(self, capacity: int) -> None:
        self._tokens, self._positions, self._ends = (np.empty(capacity, dtype=np.int64) for _ in range(3))
        self.length = 0
        self._owners: list[int] = []
        self._last: list[int] = []
        self._sequence = np.empty(0, dtype=np.int64)
        self._path = np.empty(0, dtype=np.int64)  # indices in the row of the last sequence's tokens

    @property
    def count(self) -> int:
        """Number of sequences in the row."""
        return len(self._owners)

    def shared(self, sequence: Ints) -> int:
        """Return the length of the common prefix with the previous sequence."""
        return _common(sequence, self._sequence)

    def add(self, owner: int, sequence: Ints, shared: int) -> None:
        """Append the tokens after the shared prefix, and close the previous sequence's subtrees beyond it."""
        start, stop = self.length, self.length + len(sequence) - shared
        self._ends[self._path[shared:]] = start
        self._tokens[start:stop] = sequence[shared:]
        self._positions[start:stop] = np.arange(shared, len(sequence))
        self._path = np.concatenate([self._path[:shared], np.arange(start, stop)])
        self._sequence, self.length = sequence, stop
        self._owners.append(owner)
        self._last.append(int(self._path[-1]))

    def packed(self) -> TokenRow:
        """Return the row so far, with all subtrees closed."""
        self._ends[self._path] = self.length
        tokens, positions, ends = (
            column[: self.length] for column in (self._tokens, self._positions, self._ends)
        )
        return TokenRow(tokens, positions, ends, np.asarray(self._owners), np.asarray(self._last))


def pack_trees(sequences: Sequence[Sequence[int]], capacity: int, together: int = 1) -> Iterator[TokenRow]:
    """Yield rows of at most `capacity` tokens with common prefixes laid out once; a prefix is repeated in a new row.

    Each `together` sequences, such as the two of a pair, stay in one row.
    """
    units = [range(start, start + together) for start in range(0, len(sequences), together)]
    within = [sorted(unit, key=lambda index: list(sequences[index])) for unit in units]
    return _pack(sequences, sorted(within, key=lambda unit: list(sequences[unit[0]])), capacity, share=True)


def pack_sequences(
    sequences: Sequence[Sequence[int]], capacity: int, together: int = 1, most: int | None = None
) -> Iterator[TokenRow]:
    """Yield rows of at most `capacity` tokens and `most` complete sequences, one after the other."""
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
    """Return how many tokens each member adds to the row after the previous ones."""
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
    """Return the sequences of a row that holds complete sequences."""
    starts = np.flatnonzero(row.positions == 0)
    return np.split(row.tokens, starts[1:])


def segments(row: TokenRow) -> list[tuple[int, int, Ints]]:
    """Return the segments of a row on one path, each as start, stop, and the indices of earlier tokens it may attend to."""
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
    """Count and indices of the partly and the fully visible blocks, per block of queries and per block of keys."""

    partial: tuple[BlockPlaces, BlockPlaces]
    full: tuple[BlockPlaces, BlockPlaces]
    partial_by_key: tuple[BlockPlaces, BlockPlaces]
    full_by_key: tuple[BlockPlaces, BlockPlaces]


def blocks_of(ends: Ints, block: int = BLOCK, wholes: bool = True) -> Blocks:
    """Return the visible blocks of a row's attention matrix, read off its tree; the length must be a multiple of `block`.

    The matrix of a row of 32,768 tokens has a billion cells; the tree has one integer per token. A block is fully visible if
    its last key lies before its first query and every subtree in it reaches past its last query; without `wholes` all visible
    blocks count as partly visible.
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
    """Return the number of set cells per row, and the column indices with the set ones first."""
    places = np.argsort(~grid, axis=1, kind="stable")
    return grid.sum(axis=1).astype(np.int32), places.astype(np.int32)
