"""Who is held out and in which order is trained: whole people, full batches, the same for the same seed."""

from collections import Counter
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from personafit.train import PreferencePair
from personafit.train.pairs import grouped_order, held_out, limited, sampled

SIZES = st.lists(st.integers(1, 9), min_size=1, max_size=12)


def owners_of(sizes: list[int]) -> list[str]:
    return [f"p{person}" for person, size in enumerate(sizes) for _ in range(size)]


def pairs_of(sizes: list[int]) -> list[PreferencePair]:
    return [
        PreferencePair(owner, {"A": owner}, "q", f"c{n}", f"r{n}") for n, owner in enumerate(owners_of(sizes))
    ]


@given(SIZES, st.integers(1, 12), st.integers(1, 3), st.integers(0, 5), st.none() | st.integers(1, 4))
def test_each_epoch_has_every_pair_once(
    sizes: list[int], batch: int, epochs: int, seed: int, together: int | None
) -> None:
    owners = owners_of(sizes)
    order = grouped_order(owners, batch, epochs, seed, together)
    for epoch in range(epochs):
        part = order[epoch * len(owners) : (epoch + 1) * len(owners)]
        assert sorted(part) == list(range(len(owners)))
    assert order == grouped_order(owners, batch, epochs, seed, together)
    half = grouped_order(owners, batch, 0.5, seed, together)
    assert half == order[: len(half)]


@given(SIZES, st.integers(9, 20), st.integers(0, 5))
def test_a_person_is_split_at_most_once(sizes: list[int], batch: int, seed: int) -> None:
    owners = owners_of(sizes)
    order = grouped_order(owners, batch, 1, seed)
    batches = [order[start : start + batch] for start in range(0, len(order), batch)]
    met = Counter(owner for one in batches for owner in {owners[index] for index in one})
    assert max(met.values()) <= 2
    assert sum(count - 1 for count in met.values()) <= len(batches) - 1
    runs = [owners[index] for index in order]
    assert sum(a != b for a, b in pairwise(runs)) == len(sizes) - 1


def test_shuffled_batches_mix_people() -> None:
    owners = owners_of([8] * 8)

    def met(together: int | None) -> int:
        order = grouped_order(owners, 8, 1, 0, together)
        return sum(len({owners[index] for index in order[start : start + 8]}) for start in range(0, 64, 8))

    assert met(None) == 8
    assert met(4) == 16
    assert met(1) > 32


def test_seeds_and_epochs_give_other_orders() -> None:
    owners = owners_of([4] * 8)
    assert grouped_order(owners, 8, 1, 0) != grouped_order(owners, 8, 1, 1)
    two = grouped_order(owners, 8, 2, 0)
    assert two[: len(owners)] != two[len(owners) :]


@given(SIZES, st.floats(0, 0.99), st.integers(0, 5))
def test_nobody_is_trained_and_measured_on(sizes: list[int], share: float, seed: int) -> None:
    pairs = pairs_of(sizes)
    train, test = held_out(pairs, share, seed)
    assert not {pair.owner for pair in train} & {pair.owner for pair in test}
    assert len(train) + len(test) == len(pairs)
    assert train
    assert bool(test) == (share > 0 and len(sizes) > 1)


def test_general_pairs_are_held_out_by_prompt() -> None:
    pairs = [PreferencePair("", {}, f"q{n % 5}", f"c{n}", f"r{n}") for n in range(20)]
    train, test = held_out(pairs, 0.4, 0)
    assert {pair.question for pair in test}.isdisjoint(pair.question for pair in train)
    assert len({pair.question for pair in test}) == 2


def test_a_limit_takes_people_and_a_sample_draws_once() -> None:
    pairs = pairs_of([4, 4, 4, 4])
    few = limited(pairs, 8, 1)
    assert Counter(pair.owner for pair in few).most_common(1)[0][1] == 4
    assert len({pair.owner for pair in few}) == 2
    drawn = sampled(pairs, 6, 0)
    assert len({pair.chosen for pair in drawn}) == 6
    assert len(sampled(pairs, 100, 0)) == 16
