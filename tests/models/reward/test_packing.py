"""Packing keeps every sequence: its tokens, positions and what it may look at; blocks cover exactly what is visible."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from personafit.models.reward.packing import (
    Ints,
    TokenRow,
    blocks_of,
    pack_sequences,
    pack_trees,
    segments,
    split,
)

# The same examples each time, however busy the machine is.
SETTLED = settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
SEQUENCE = st.lists(
    st.integers(0, 3), min_size=1, max_size=12
)  # few tokens, so that beginnings are often shared
SEQUENCES = st.lists(SEQUENCE, min_size=1, max_size=14)


def visible(ends: Ints) -> npt.NDArray[np.bool_]:
    """Which key each query may look at, as a square."""
    places = np.arange(len(ends))
    return (places[None, :] <= places[:, None]) & (places[:, None] < ends[None, :])


def check_row(row: TokenRow, sequences: list[list[int]]) -> None:
    seen = visible(row.ends)
    for owner, last in zip(row.owners, row.last, strict=True):
        path = np.flatnonzero(seen[last])
        assert row.tokens[path].tolist() == sequences[owner]
        assert row.positions[path].tolist() == list(range(len(path)))
    for place in range(len(row)):  # each token sees one path down to itself
        assert row.positions[np.flatnonzero(seen[place])].tolist() == list(range(row.positions[place] + 1))


@SETTLED
@given(SEQUENCES, st.integers(12, 60))
def test_every_path_is_restored_from_trees(sequences: list[list[int]], capacity: int) -> None:
    rows = list(pack_trees(sequences, capacity))
    assert sorted(int(owner) for row in rows for owner in row.owners) == list(range(len(sequences)))
    for row in rows:
        assert len(row) <= capacity
        check_row(row, sequences)


@SETTLED
@given(SEQUENCES)
def test_one_row_holds_each_beginning_once(sequences: list[list[int]]) -> None:
    (row,) = pack_trees(sequences, 1000)
    beginnings = {tuple(one[:length]) for one in sequences for length in range(1, len(one) + 1)}
    assert len(row) == len(beginnings)


@SETTLED
@given(st.lists(st.tuples(SEQUENCE, SEQUENCE), min_size=1, max_size=8), st.integers(24, 80))
def test_pairs_stay_in_one_row(pairs: list[tuple[list[int], list[int]]], capacity: int) -> None:
    sequences = [one for pair in pairs for one in pair]
    for pack in (pack_trees, pack_sequences):
        rows = list(pack(sequences, capacity, 2))
        assert sorted(int(owner) for row in rows for owner in row.owners) == list(range(len(sequences)))
        for row in rows:
            assert {int(owner) ^ 1 for owner in row.owners} == {int(owner) for owner in row.owners}
            check_row(row, sequences)


@SETTLED
@given(SEQUENCES, st.integers(12, 60), st.integers(1, 5))
def test_whole_sequences_stand_one_after_the_other(
    sequences: list[list[int]], capacity: int, most: int
) -> None:
    for row in pack_sequences(sequences, capacity, 1, most):
        assert len(row.owners) <= most
        check_row(row, sequences)
        assert [part.tolist() for part in split(row)] == [sequences[owner] for owner in row.owners]


@SETTLED
@given(SEQUENCES)
def test_segments_see_what_the_square_shows(sequences: list[list[int]]) -> None:
    for row in (*pack_trees(sequences, 500), *pack_sequences(sequences, 500)):
        seen = visible(row.ends)
        found = np.zeros_like(seen)
        for start, stop, ancestors in segments(row):
            for place in range(start, stop):
                found[place, ancestors] = True
                found[place, start : place + 1] = True
        assert (found == seen).all()


@SETTLED
@given(SEQUENCES, st.sampled_from([2, 4, 8]))
def test_blocks_cover_exactly_what_is_visible(sequences: list[list[int]], block: int) -> None:
    (row,) = pack_trees(sequences, 500)
    length = -(-len(row) // block) * block
    ends = np.arange(1, length + 1)
    ends[: len(row)] = row.ends
    seen = visible(ends).reshape(length // block, block, length // block, block).transpose(0, 2, 1, 3)
    some, whole = np.any(seen, axis=(2, 3)), np.all(seen, axis=(2, 3))
    blocks = blocks_of(ends, block)
    for by_key, partial, full in (
        (False, blocks.partial, blocks.full),
        (True, blocks.partial_by_key, blocks.full_by_key),
    ):
        for place in range(length // block):
            partly = set(partial[1][place, : partial[0][place]].tolist())
            fully = set(full[1][place, : full[0][place]].tolist())
            needed = some[:, place] if by_key else some[place]
            complete = whole[:, place] if by_key else whole[place]
            assert not partly & fully
            assert partly | fully == set(
                np.flatnonzero(needed).tolist()
            )  # nothing visible is missed, nothing else computed
            assert fully <= set(np.flatnonzero(complete).tolist())


def test_what_cannot_be_packed_is_refused() -> None:
    with pytest.raises(ValueError, match="needs 5 tokens"):
        list(pack_trees([[1, 2, 3, 4, 5]], 4))
    with pytest.raises(ValueError, match="empty"):
        list(pack_trees([[1], []], 4))
