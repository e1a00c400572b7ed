"""A run from 10,000 items to 1,000,000: whether the memory stays flat, and the time per item.

The items are synthetic and judged by a rule, so that nothing is measured but this program. Each size runs as its own
process, as `personafit run FOLDER`, and is asked for its peak memory and its processor time when it has ended. Time is
taken as processor time, since the larger run is long enough to meet whatever else a machine is doing; by the clock is
printed beside it.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from speed.table import Measurement

SIZES = (10_000, 1_000_000)
ITEMS_PER_PERSON = 50
RATER = "rule:length"
SHOWN_UNDER = ("profile",)
MEMORY_BAR, TIME_BAR = 1 / 1.5, 1 / 1.2

WORDS = (
    "a quiet walk by the river early fresh bread slow coffee old films long letters short trains "
    "warm rain open windows plain soup new maps green hills"
).split()


@dataclass(frozen=True)
class Cost:
    """What one run took."""

    items: int
    seconds: float
    processor_seconds: float
    peak_mib: float


def measure(sizes: tuple[int, int] = SIZES) -> list[Measurement]:
    """The larger run against the smaller one."""
    small, large = (run_size(size) for size in sizes)
    what, peer = f"{large.items:,} items", f"{small.items:,} items"
    paces = [
        [cost.items / seconds for cost, seconds in zip((small, large), times, strict=True)]
        for times in (
            (small.processor_seconds, large.processor_seconds),
            (small.seconds, large.seconds),
        )
    ]
    memory = small.peak_mib / large.peak_mib
    return [
        Measurement(f"peak memory, {what}", peer, "MiB", large.peak_mib, small.peak_mib, memory, MEMORY_BAR),
        *(
            Measurement(f"{what}, {clock}", peer, "items/s", ours, theirs, ours / theirs, bar)
            for clock, (theirs, ours), bar in zip(
                ("processor time", "by the clock"), paces, (TIME_BAR, None), strict=True
            )
        ),
    ]


def run_size(size: int, store: str | None = None) -> Cost:
    """Write a folder of so many items, run it into a fresh store or the one given, and say what that took."""
    with tempfile.TemporaryDirectory(prefix="personafit-scale-") as place:
        folder = Path(place) / "folder"
        write_synthetic(folder, size)
        command = [sys.executable, "-m", "personafit", "run", str(folder)]
        command += [part for name in SHOWN_UNDER for part in ("--context", name)]
        command += ["--store", store or f"{place}/store.db", "--out", f"{place}/out", "--json"]
        started = time.monotonic()
        with (Path(place) / "results.json").open("wb") as out:
            process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        cost = Cost(size, time.monotonic() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)
        if process.returncode:
            raise RuntimeError(f"the run over {size:,} items ended with {process.returncode}")
    print(
        f"scale: {size:,} items in {'PostgreSQL' if store else 'SQLite'}, {RATER}, contexts {', '.join(SHOWN_UNDER)}: {cost.seconds:.0f} s by the clock, "
        f"{cost.processor_seconds:.0f} s of processor time, peak {cost.peak_mib:.0f} MiB",
        flush=True,
    )
    return cost


def write_synthetic(folder: Path, size: int) -> None:
    """A benchmark folder of `size` items about `size / 50` simulated people, a line at a time."""
    folder.mkdir(parents=True)
    toml = (
        'name = "scale"\nversion = "1"\nlicence = "none: synthetic"\nlayout = [["tier"]]\n'
        f"[controls]\nviews = []\nraters = {json.dumps([RATER])}\n"
    )
    (folder / "benchmark.toml").write_text(toml, encoding="utf-8")
    people = max(2, size // ITEMS_PER_PERSON)
    _write(folder / "people.jsonl", (_person(number) for number in range(people)))
    _write(folder / "products.jsonl", (_product(number) for number in range(2 * size)))
    _write(folder / "items.jsonl", (_item(number, people) for number in range(size)))
    _write(folder / "gold.jsonl", (_gold(number) for number in range(size)))


def _write(path: Path, rows: Iterator[dict[str, object]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row) + "\n")


def _person(number: int) -> dict[str, object]:
    likes = " ".join(_words(number, 6))
    return {"id": f"p{number:06}", "language": "en", "facets": {"Age": 20 + number % 60, "Likes": likes}}


def _product(number: int) -> dict[str, object]:
    return {
        "id": f"a{number}",
        "kind": "answer",
        "text": f"{number}: " + " ".join(_words(7 * number, 8 + number % 23)),
    }


def _item(number: int, people: int) -> dict[str, object]:
    return {
        "id": f"i{number}",
        "person": f"p{number % people:06}",
        "prompt": f"What would you do on day {number}?",
        "products": [f"a{2 * number}", f"a{2 * number + 1}"],
    }


def _gold(number: int) -> dict[str, object]:
    tier = ("easy", "medium", "hard")[number % 3]
    return {"item": f"i{number}", "rater": "author", "label": str(number * 7 % 2), "extra": {"tier": tier}}


def _words(number: int, count: int) -> list[str]:
    return [WORDS[(number * 31 + 17 * place * place) % len(WORDS)] for place in range(count)]
