"""Benchmarks: readers, gold, controls, published figures. A new one is one file and one line (or an entry point)."""

from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

from personafit._errors import UserError
from personafit.benchmarks.benchmark import Benchmark, BenchmarkInfo, Controls, Published, ingest
from personafit.benchmarks.folder import FolderBenchmark, check_folder, write_folder
from personafit.benchmarks.hub.copies import data_folder
from personafit.benchmarks.pairs import ImportedPairs
from personafit.benchmarks.personafeedback import PersonaFeedback
from personafit.benchmarks.starter import starter


def _personafeedback(data: Path | None) -> Benchmark:
    data = data_folder("personafeedback", data)
    if data is None:
        raise UserError(
            "personafeedback needs --data FOLDER, a copy of the published data in its GitHub or hub layout "
            "(rm_benchmark_all/ and persona_all/, or data/ and persona/); "
            "`personafit data get personafeedback` fetches one from the hub."
        )
    return PersonaFeedback(data)


def _personalens(data: Path | None) -> Benchmark:
    from personafit.benchmarks.personalens import open_tasks

    return open_tasks(data)


def _recentering(data: Path | None) -> Benchmark:
    from personafit.benchmarks.recentering import open_relevance

    return open_relevance(data)


def _responses(data: Path | None) -> Benchmark:
    from personafit.benchmarks.recentering.responses import open_responses

    return open_responses(data)


def _starter(data: Path | None) -> Benchmark:
    return starter()


def _injection(data: Path | None) -> Benchmark:
    from personafit.benchmarks.injection import Injection

    return Injection()


BENCHMARKS: dict[str, Callable[[Path | None], Benchmark]] = {
    "starter": _starter,
    "personafeedback": _personafeedback,
    "recentering": _recentering,
    "responses": _responses,
    "personalens": _personalens,
    "injection": _injection,
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
