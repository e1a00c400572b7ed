"""Benchmarks: readers, gold, controls, published figures. A new one is one file and one line (or an entry point)."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from personafit._errors import UserError
from personafit._plugins import find_plugin
from personafit.benchmarks.benchmark import Benchmark, BenchmarkInfo, Controls, Published, ingest
from personafit.benchmarks.folder import FolderBenchmark, check_folder, write_folder
from personafit.benchmarks.hub.copies import REPOS, data_folder
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


def _read_from(name: str, reader: str, expected: str) -> Callable[[Path | None], Benchmark]:
    """Opens a benchmark of others from --data, or from a copy that was fetched."""

    def opened(data: Path | None) -> Benchmark:
        folder = data_folder(name, data)
        if folder is None:
            fetch = f"; `personafit data get {name}` fetches it from the hub" if name in REPOS else ""
            raise UserError(f"{name} needs --data FOLDER with {expected}{fetch}.")
        module, _, kind = reader.partition(":")
        benchmark: Benchmark = getattr(import_module(f"personafit.benchmarks.{module}"), kind)(folder)
        return benchmark

    return opened


BENCHMARKS: dict[str, Callable[[Path | None], Benchmark]] = {
    "starter": _starter,
    "personafeedback": _personafeedback,
    "recentering": _recentering,
    "responses": _responses,
    "personalens": _personalens,
    "injection": _injection,
    "prefeval": _read_from(
        "prefeval", "prefeval:PrefEval", "benchmark_dataset/ as in amazon-science/PrefEval"
    ),
    "personamem": _read_from(
        "personamem",
        "personamem:PersonaMem",
        "questions_32k.csv and shared_contexts_32k.jsonl, or 128k or 1M",
    ),
    "lamp": _read_from(
        "lamp",
        "lamp.choices:LaMP",
        "LaMP_1/, LaMP_2/ or LaMP_3/, each with dev_questions.json and dev_outputs.json",
    ),
    "lamp-writing": _read_from(
        "lamp-writing",
        "lamp.writing:LaMPWriting",
        "LaMP_4/ to LaMP_7/, each with dev_questions.json and dev_outputs.json",
    ),
    "rewardbench": _read_from(
        "rewardbench", "rewardbench:RewardBench", "data/*.parquet as in allenai/reward-bench"
    ),
    "helpsteer2": _read_from(
        "helpsteer2", "rewardbench:HelpSteer2", "validation.jsonl.gz as in nvidia/HelpSteer2"
    ),
}
"""Name to how the benchmark is opened, given its folder of data."""


def open_benchmark(name: str, data: Path | None = None) -> Benchmark:
    """The benchmark of that name, or the one in that folder."""
    if name in BENCHMARKS:
        return BENCHMARKS[name](data)
    if (found := find_plugin("benchmarks", name)) is not None:
        opened: Benchmark = found(data)
        return opened
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
