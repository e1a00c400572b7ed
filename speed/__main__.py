"""`python -m speed [NAME...]`: measure all, or the named ones, and print one table of ratios and bars.

Exits with 1 when a bar is missed.
"""

import sys
from collections.abc import Callable

from speed.table import Measurement, print_table

# Each imports what it needs when it runs, so that one measurement does not ask for another's libraries.


def _endpoint() -> list[Measurement]:
    from speed import endpoint

    return endpoint.measure()


def _store() -> list[Measurement]:
    from speed import store

    return store.measure()


def _embedded() -> list[Measurement]:
    from speed import embedded

    return embedded.measure()


def _agreement() -> list[Measurement]:
    from speed import agreement

    worst = min(agreement.race(2_000), agreement.race(agreement.UNITS))
    return [
        Measurement(
            "agreement bootstrap", "looping the libraries", "× (worst)", worst, 1.0, worst, agreement.BAR
        )
    ]


NAMES: dict[str, Callable[[], list[Measurement]]] = {
    "endpoint": _endpoint,
    "store": _store,
    "embedded": _embedded,
    "agreement": _agreement,
}


def main(names: list[str]) -> int:
    """Run the measurements one after the other: each wants the machine for itself."""
    if unknown := [name for name in names if name not in NAMES]:
        print(f"There is no measurement '{unknown[0]}'; there are {', '.join(NAMES)}.", file=sys.stderr)
        return 2
    measured: list[Measurement] = []
    for name in names or NAMES:
        measured += NAMES[name]()
    print_table(measured)
    return 0 if all(measurement.holds for measurement in measured) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
