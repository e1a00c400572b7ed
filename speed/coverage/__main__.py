"""Simulate every cell and print the table: `python -m speed.coverage [--only TEXT] [--repetitions N] [--seed N]`."""

import argparse
import importlib
import multiprocessing
import sys
from functools import partial

from speed.coverage.cells import Cell, Outcome, run_cell

MODULES = ("means", "agreement", "ranking", "power", "bias", "winrate", "correct", "claims")


def all_cells() -> list[Cell]:
    """The cells of every module, in the order of the table."""
    found: list[Cell] = []
    for name in MODULES:
        found += importlib.import_module(f"speed.coverage.{name}").CELLS
    return found


def line(outcome: Outcome) -> str:
    """One row of the table."""
    low, high = outcome.interval
    cell = outcome.cell
    return (
        f"| {cell.what} | {cell.design} | {100 * outcome.rate:.1f} ({100 * low:.1f}–{100 * high:.1f}) "
        f"| {100 * cell.band[0]:.0f}–{100 * cell.band[1]:.0f} | {outcome.trials} | {'yes' if outcome.passes else 'NO'} |"
    )


def _run(index: int, repetitions: int, seed: int) -> Outcome:
    outcome = run_cell(all_cells()[index], repetitions, seed)
    return outcome


def main() -> int:
    """Print the table; exit 1 if a cell misses its band."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="Cells whose name or design contains this text.")
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=20261116)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    cells = all_cells()
    chosen = [i for i, cell in enumerate(cells) if options.only in f"{cell.what} {cell.design}"]
    print(
        "| what | design | % (99 % Monte-Carlo interval) | band | trials | within |\n|---|---|---|---|---|---|"
    )
    missed = 0
    with multiprocessing.Pool(options.workers) as pool:
        run = partial(_run_line, repetitions=options.repetitions, seed=options.seed)
        for text, passed in pool.imap(run, chosen):
            print(text, flush=True)
            missed += not passed
    print(f"\n{len(chosen) - missed} of {len(chosen)} cells within their band.")
    return 1 if missed else 0


def _run_line(index: int, repetitions: int, seed: int) -> tuple[str, bool]:
    """Run one cell in a worker; trials are closures, so only the index and the text cross processes."""
    outcome = _run(index, repetitions, seed)
    return line(outcome), outcome.passes


if __name__ == "__main__":
    sys.exit(main())
