"""Benchmarks: readers, gold, controls, published figures. A new one is one file and one line (or an entry point)."""

from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

from personafit._errors import UserError
from personafit.benchmarks.benchmark import Benchmark, BenchmarkInfo, Controls, Published, ingest
from personafit.benchmarks.folder import FolderBenchmark, check_folder, write_folder
from personafit.benchmarks.pairs import ImportedPairs
from personafit.benchmarks.personafeedback import PersonaFeedback
from personafit.benchmarks.starter import starter


def _personafeedback(data: Path | None) -> Benchmark:
    if data is None:
        raise UserError(
            "personafeedback needs --data FOLDER, a copy of the published data in its GitHub or hub layout "
            "(rm_benchmark_all/ and persona_all/, or data/ and persona/)."
        )
    return PersonaFeedback(data)


def _starter(data: Path | None) -> Benchmark:
    return starter()


BENCHMARKS: dict[str, Callable[[Path | None], Benchmark]] = {
    "starter": _starter,
    "personafeedback": _personafeedback,
}


def open_benchmark(name: str, data: Path | None = None) -> Benchmark:
    """The benchmark of that name, or the one in that folder."""
    if name in BENCHMARKS:
        return BENCHMARKS[name](data)
    for entry in entry_points(group="personafit.benchmarks", name=name):
        factory: Callable[[Path | None], Benchmark] = entry.load()
        return factory(data)
    if Path(name).is_dir():
        return FolderBenchmark(Path(name))
    raise UserError(
        f"There is no benchmark '{name}'; there are {', '.join(BENCHMARKS)}, answers, or a folder of yours."
    )


__all__ = [
    "BENCHMARKS",
    "Benchmark",
    "BenchmarkInfo",
    "Controls",
    "FolderBenchmark",
    "ImportedPairs",
    "PersonaFeedback",
    "Published",
    "check_folder",
    "ingest",
    "open_benchmark",
    "starter",
    "write_folder",
]
