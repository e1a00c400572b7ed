"""`python -m speed [NAME...]`: measure all but the long ones, or the named ones; print one table of ratios and bars.

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


def _postgres() -> list[Measurement]:
    from speed import postgres

    return postgres.measure()


def _embedded() -> list[Measurement]:
    from speed import embedded

    return embedded.measure()


def _agreement() -> list[Measurement]:
    from speed import agreement

    worst = min(agreement.race(2_000), agreement.race(agreement.UNITS))
    return [
        Measurement(
            "agreement intervals",
            "bootstrapping the libraries",
            "× (worst)",
            worst,
            1.0,
            worst,
            agreement.BAR,
        )
    ]


def _dialogues() -> list[Measurement]:
    from speed import dialogues

    return dialogues.measure()


def _scale() -> list[Measurement]:
    from speed import scale

    return scale.measure()


def _memory() -> list[Measurement]:
    from speed import memory

    return memory.measure()


def _reward() -> list[Measurement]:
    from speed import reward_cpu

    return reward_cpu.measure()


def _labelling() -> list[Measurement]:
    from speed import labelling

    return labelling.measure()


def _factory() -> list[Measurement]:
    from speed import factory

    return factory.measure()


def _report() -> list[Measurement]:
    from speed import report

    return report.measure()


def _growth() -> list[Measurement]:
    from speed import growth

    return growth.measure()


def _ray() -> list[Measurement]:
    from speed import ray

    return ray.measure()


def _worlds() -> list[Measurement]:
    from speed import worlds

    return worlds.measure()


NAMES: dict[str, Callable[[], list[Measurement]]] = {
    "endpoint": _endpoint,
    "store": _store,
    "postgres": _postgres,
    "embedded": _embedded,
    "agreement": _agreement,
    "dialogues": _dialogues,
    "scale": _scale,
    "reward": _reward,
    "memory": _memory,
    "labelling": _labelling,
    "factory": _factory,
    "report": _report,
    "growth": _growth,
    "ray": _ray,
    "worlds": _worlds,
}


LONG = ("scale", "growth")  # a quarter of an hour: only when named


def main(names: list[str]) -> int:
    """Run the measurements one after the other: each wants the machine for itself."""
    if unknown := [name for name in names if name not in NAMES]:
        print(f"There is no measurement '{unknown[0]}'; there are {', '.join(NAMES)}.", file=sys.stderr)
        return 2
    measured: list[Measurement] = []
    for name in names or [name for name in NAMES if name not in LONG]:
        measured += NAMES[name]()
    print_table(measured)
    return 0 if all(measurement.holds for measurement in measured) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
