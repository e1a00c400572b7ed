"""What runs are called beside each other: by their benchmark, by its version where that differs, else by themselves."""

from collections.abc import Sequence
from typing import NamedTuple


class NamedRun(NamedTuple):
    """What there is to call a run by."""

    benchmark: str
    version: str
    run: str


def apart(runs: Sequence[NamedRun]) -> list[str]:
    """A name for each run, the shortest that no other of these runs has."""
    names = [one.benchmark for one in runs]
    versions = [(one.benchmark, one.version) for one in runs]
    return [
        one.benchmark
        if names.count(one.benchmark) == 1
        else f"{one.benchmark} {one.version}"
        if versions.count((one.benchmark, one.version)) == 1
        else one.run
        for one in runs
    ]
