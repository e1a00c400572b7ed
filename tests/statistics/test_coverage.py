"""A short form of `python -m speed.coverage`: a few cells of the simulation, with fewer repetitions and so a wider margin."""

import pytest
from speed.coverage.__main__ import all_cells
from speed.coverage.cells import COVERS, Cell, Outcome, run_cell

REPETITIONS = 100
SHORT = [cell for cell in all_cells() if cell.short]


@pytest.mark.parametrize("cell", SHORT, ids=[f"{cell.what}, {cell.design}" for cell in SHORT])
def test_a_cell_is_within_its_band(cell: Cell) -> None:
    outcome = run_cell(cell, REPETITIONS, seed=7)
    assert outcome.trials >= REPETITIONS / 2
    assert outcome.passes, f"{outcome.rate:.3f} {outcome.interval}, band {cell.band}"


def test_an_interval_that_covers_too_little_would_be_seen() -> None:
    cell = Cell("mean", "none", COVERS, lambda rng: bool(rng.random() < 0.8))
    assert not run_cell(cell, REPETITIONS, seed=7).passes
    assert not Outcome(cell, 0, 0).passes
