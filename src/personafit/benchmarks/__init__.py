"""Benchmarks: readers, gold, controls, published figures. A new one is one file and one line (or an entry point)."""

from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path

from personafit._errors import UserError
from personafit._plugins import find_plugin
from personafit.benchmarks.benchmark import Benchmark, BenchmarkInfo, Controls, Published, ingest
from personafit.benchmarks.folder import FolderBenchmark, check_folder, write_folder
from personafit.benchmarks.lines import read_lines
from personafit.benchmarks.pairs import ImportedPairs
from personafit.benchmarks.personafeedback import PersonaFeedback
from personafit.benchmarks.starter import starter


def _personafeedback(data: Path | None) -> Benchmark:
    from personafit.benchmarks.hub.copies import data_folder

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
    if data is not None:
        raise UserError("run injection makes its own data from the starter set: leave --data out.")
    from personafit.benchmarks.injection import Injection

    return Injection()


def _read_from(name: str, reader: str, expected: str) -> Callable[[Path | None], Benchmark]:
    """Opens a benchmark of others from --data, or from a copy that was fetched."""

    def opened(data: Path | None) -> Benchmark:
        from personafit.benchmarks.hub.copies import REPOS, data_folder

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
        "lamp:LaMP",
        "LaMP_1/, LaMP_2/ or LaMP_3/, each with dev_questions.json and dev_outputs.json",
    ),
    "lamp-writing": _read_from(
        "lamp-writing",
        "lamp:LaMPWriting",
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


NEITHER_OR_BOTH = "run answers needs --system SPEC, which makes the answers; `run FILE.jsonl` evaluates answers that are already there."
"""What is said where `answers` is given no system, or a log of answers is given one."""


def open_benchmark(name: str, data: Path | None = None, kind: str | None = None) -> Benchmark:
    """The benchmark of that name, or the one in that folder; `kind` says which of a folder's items are meant."""
    if name in BENCHMARKS:
        return BENCHMARKS[name](data)
    if (found := find_plugin("benchmarks", name)) is not None:
        opened: Benchmark = found(data)
        return opened
    if Path(name).is_dir():
        return open_folder(Path(name), kind)
    if name == "answers":
        raise UserError(NEITHER_OR_BOTH)
    near = get_close_matches(name, [*BENCHMARKS, "answers"], 1)
    meant = f"did you mean {near[0]}? There are" if near else "there are"
    raise UserError(
        f"There is no benchmark '{name}'; {meant} {', '.join(BENCHMARKS)}, answers, and folders and files of yours."
    )


def open_whole(name: str, data: Path | None = None) -> Benchmark:
    """The same with the items of every kind, to be checked, copied or asked for its people; of a folder nothing is left out."""
    if name not in BENCHMARKS and (Path(name) / "items.jsonl").is_file():
        return FolderBenchmark(Path(name), None)
    return open_benchmark(name, data)


def open_folder(folder: Path, kind: str | None = None) -> Benchmark:
    """A benchmark folder, whatever its items are; of one with several kinds only those of `kind`."""
    held = folder_kinds(folder)
    if kind is None:
        if len(held) > 1:
            raise UserError(
                f"{folder} holds items of several kinds ({', '.join(held)}): say which is meant with --kind, such as --kind {held[0]}."
            )
        kind = next(iter(held), "choice")
    elif kind not in held:
        raise UserError(
            f"{folder} holds no items of kind '{kind:.40}'; there are {', '.join(held) or 'none'}."
        )
    if kind == "dialogue":
        from personafit.benchmarks.personalens import open_tasks

        return open_tasks(folder)
    if kind == "preference":
        from personafit.benchmarks.recentering.responses import PreferenceFolder

        return PreferenceFolder(folder)
    return FolderBenchmark(folder, kind)


def folder_kinds(folder: Path) -> list[str]:
    """The kinds of item that a benchmark folder holds; its tasks are to become dialogues where it holds nothing else."""
    if not (folder / "items.jsonl").is_file():
        return ["dialogue"] if (folder / "tasks.jsonl").is_file() else []
    held = dict.fromkeys(str(row.get("kind", "choice")) for _, row in read_lines(folder / "items.jsonl"))
    if not held and (folder / "tasks.jsonl").is_file():
        return ["dialogue"]
    return list(held)


def open_log(log: Path, data: Path | None, seed: int) -> Benchmark:
    """The rows of a file; `data` has the people whom it names by id."""
    from personafit.benchmarks.rows import file_benchmark

    people = {} if data is None else {person.id: person for person in open_whole(str(data)).people()}
    return file_benchmark(log, people, seed)


def open_questions(name: str, data: Path | None) -> Benchmark | None:
    """The questions that systems answer under a benchmark's name; None where its answers are there already."""
    if name == "answers":
        from personafit.benchmarks.benchmark import Prompts

        return Prompts(open_benchmark(str(data) if data else "starter", kind="choice"))
    if name == "responses":
        from personafit.benchmarks.recentering.responses import open_prompts

        return open_prompts(data)
    return None


__all__ = [
    "BENCHMARKS",
    "NEITHER_OR_BOTH",
    "Benchmark",
    "BenchmarkInfo",
    "Controls",
    "FolderBenchmark",
    "ImportedPairs",
    "PersonaFeedback",
    "Published",
    "check_folder",
    "folder_kinds",
    "ingest",
    "open_benchmark",
    "open_folder",
    "open_log",
    "open_questions",
    "open_whole",
    "starter",
    "write_folder",
]
