"""What commands on a stored run take when it grows from 100,000 judgments to a million: processor time and peak memory.

The run is that of `big_run`, with more items or fewer. Each command runs in a process of its own. Its time is held against ten times
that of the smaller run: what grows as the run does stays below, since the start of the program is in both. The bar on memory is 4 GiB.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from speed.big_run import ASKS, RUN, fill_store
from speed.commands import personafit
from speed.table import Measurement

SIZES = (2_273, 22_728)  # items: 100,012 and 1,000,032 judgments
MEMORY_BAR_MIB = 4_096
TIME_BAR = 0.5  # at most twice as much for each judgment: beyond some 400,000 a run is read in pages, twice, and sorted

COMMANDS = {
    "report --format json": ("report", RUN, "--format", "json"),
    "report": ("report", RUN, "--out", "{place}/report.html"),
    "compare": ("compare", RUN, RUN),
    "agree": ("agree", RUN),
    "bias": ("analyze", "bias", RUN),
    "calibration": ("analyze", "calibration", RUN),
    "failures": ("analyze", "failures", RUN),
    "rescore": ("rescore", RUN),
    "data convert, CSV": ("data", "convert", RUN, "--out", "{place}/judgments.csv"),
}


def measure() -> list[Measurement]:
    """Every command on both runs."""
    with TemporaryDirectory(prefix="personafit-growth-") as place:
        stores = [Path(place) / f"{items}.db" for items in SIZES]
        for store, items in zip(stores, SIZES, strict=True):
            fill_store(store, items)
        return [one for name in COMMANDS for one in _grown(name, place, stores)]


def _grown(name: str, place: str, stores: list[Path]) -> list[Measurement]:
    arguments = [part.format(place=place) for part in COMMANDS[name]]
    small, large = (personafit(*arguments, "--store", str(store)) for store in stores)
    few, many = (ASKS * items for items in SIZES)
    print(
        f"growth: {name}: {small.processor_seconds:.1f} and {large.processor_seconds:.1f} s of the processor, "
        f"peaks {small.peak_mib:,.0f} and {large.peak_mib:,.0f} MiB",
        flush=True,
    )
    ours, peer = many / large.processor_seconds, few / small.processor_seconds
    memory = MEMORY_BAR_MIB / large.peak_mib
    return [
        Measurement(f"{name}: {many:,} judgments", f"{few:,}", "a second", ours, peer, ours / peer, TIME_BAR),
        Measurement(f"{name}: peak memory", "4 GiB", "MiB", large.peak_mib, MEMORY_BAR_MIB, memory, 1.0),
    ]
