"""Benchmarks: readers, gold, controls and published scores. A new one is one file and one line (or an entry point)."""

import os.path
from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from personafit._errors import UserError
from personafit._lazy import lazy_names
from personafit._plugins import find_plugin
from personafit.benchmarks.benchmark import Benchmark, BenchmarkInfo, Controls, Prompts, Published, ingest
from personafit.benchmarks.config import Finished, RunConfig
from personafit.benchmarks.folder import FolderBenchmark, check_folder, write_folder
from personafit.benchmarks.lines import read_lines
from personafit.benchmarks.starter import starter
from personafit.people import Person

if TYPE_CHECKING:
    from personafit.benchmarks.personafeedback import PersonaFeedback
    from personafit.benchmarks.rows import ImportedPairs

__getattr__ = lazy_names(__name__, {"rows": ("ImportedPairs",), "personafeedback": ("PersonaFeedback",)})


def _opened_by(opener: str) -> Callable[[Path | None], Benchmark]:
    """Return a function that opens a benchmark from its data, importing the opener on first use."""
    module, _, name = opener.partition(":")

    def opened(data: Path | None) -> Benchmark:
        benchmark: Benchmark = getattr(import_module(f"personafit.benchmarks.{module}"), name)(data)
        return benchmark

    return opened


def _read_from(name: str, reader: str) -> Callable[[Path | None], Benchmark]:
    """Return a function that opens a published benchmark from --data, or from a copy fetched before."""

    def opened(data: Path | None) -> Benchmark:
        from personafit.benchmarks.hub import data_folder

        return _opened_by(reader)(data_folder(name, data))

    return opened


_PUBLISHED = {
    "personafeedback": "personafeedback:PersonaFeedback",
    "prefeval": "prefeval:PrefEval",
    "personamem": "personamem:PersonaMem",
    "lamp": "lamp:LaMP",
    "lamp-writing": "lamp:LaMPWriting",
    "rewardbench": "rewardbench:RewardBench",
    "helpsteer2": "rewardbench:HelpSteer2",
}
"""Readers of published benchmarks that need a folder."""


def _starter(data: Path | None) -> Benchmark:
    if data is not None:
        raise UserError("run starter brings its own data: leave --data out, or run that folder.")
    return starter()


BENCHMARKS: dict[str, Callable[[Path | None], Benchmark]] = {
    "starter": _starter,
    **{name: _read_from(name, reader) for name, reader in _PUBLISHED.items()},
    "recentering": _opened_by("recentering:open_relevance"),
    "responses": _opened_by("responses:open_responses"),
    "personalens": _opened_by("personalens:open_tasks"),
    "injection": _opened_by("injection:open_injection"),
    "world": _opened_by("world:open_world"),
}
"""Registry: benchmark name → function that opens it, given its data folder."""


def open_benchmark(name: str, data: Path | None = None, kind: str | None = None) -> Benchmark:
    """Return the benchmark of that name, or the one in that folder; `kind` selects the items of a folder."""
    if name in BENCHMARKS:
        return BENCHMARKS[name](data)
    if (found := find_plugin("benchmarks", name)) is not None:
        opened: Benchmark = found(data)
        return opened
    if os.path.isdir(name):
        return open_folder(Path(name), kind)
    if name == "answers":
        raise UserError(
            "run answers needs --system SPEC, which makes the answers; `run FILE.jsonl` evaluates answers that are already there."
        )
    raise UserError(no_benchmark(name))


def no_benchmark(name: str) -> str:
    """Return the error message for an unknown benchmark name, with the nearest known one."""
    near = get_close_matches(name, [*BENCHMARKS, "answers"], 1)
    meant = f"did you mean {near[0]}? There are" if near else "there are"
    return f"There is no benchmark '{name}'; {meant} {', '.join(BENCHMARKS)}, answers, and folders and files of yours."


def open_whole(name: str, data: Path | None = None) -> Benchmark:
    """Open a benchmark with the items of every kind, e.g. to check or copy it or to read its people."""
    if name not in BENCHMARKS and (Path(name) / "items.jsonl").is_file():
        return FolderBenchmark(Path(name), None)
    return open_benchmark(name, data)


_FOLDERS = {
    "dialogue": "personalens:open_tasks",
    "preference": "responses:PreferenceFolder",
}
"""Readers of folders with more than items, by kind of item."""


def open_folder(folder: Path, kind: str | None = None) -> Benchmark:
    """Open a benchmark folder; one with several kinds of item is read for `kind` only."""
    held = folder_kinds(folder)
    if kind is None:
        if len(held) > 1:
            raise UserError(
                f"{folder} holds items of several kinds ({', '.join(held)}): say which is meant with --kind (kind=), such as {held[0]}."
            )
        kind = next(iter(held), "choice")
    elif kind == "dialogue" and (folder / "tasks.jsonl").is_file():
        pass  # dialogues are made from the tasks, whatever items the folder has
    elif kind not in held:
        raise UserError(
            f"{folder} holds no items of kind '{kind:.40}'; there are {', '.join(held) or 'none'}."
        )
    if kind in _FOLDERS:
        return _opened_by(_FOLDERS[kind])(folder)
    return FolderBenchmark(folder, kind)


def folder_kinds(folder: Path) -> list[str]:
    """Return the kinds of item in a benchmark folder; a folder with only tasks has the kind `dialogue`."""
    items = folder / "items.jsonl"
    rows = read_lines(items) if os.path.isfile(items) else ()
    held = dict.fromkeys(str(row.get("kind", "choice")) for _, row in rows)
    return list(held) or (["dialogue"] if os.path.isfile(folder / "tasks.jsonl") else [])


FILES = (".jsonl", ".csv", ".parquet")


def is_file(source: object) -> bool:
    """Return whether a source is a file of rows."""
    return isinstance(source, str | Path) and Path(source).suffix in FILES and not Path(source).is_dir()


def open_log(log: Path, data: Path | None, seed: int) -> Benchmark:
    """Open the rows of a file as a benchmark; `data` has the people whom rows name by id."""
    from personafit.benchmarks.rows import file_benchmark

    return file_benchmark(log, known_people(data), seed)


def known_people(data: str | Path | None) -> dict[str, Person]:
    """Return the people of a benchmark or folder by id, whom rows may name."""
    return {} if data is None else {person.id: person for person in open_whole(str(data)).people()}


def open_questions(name: str, data: Path | None) -> Benchmark | None:
    """Return the questions that systems answer under a benchmark's name; None if the benchmark has answers already."""
    if name == "answers":
        return Prompts(open_benchmark(str(data) if data else "starter", kind="choice"))
    if name == "responses":
        return _opened_by("responses:open_prompts")(data)
    return None


__all__ = [
    "BENCHMARKS",
    "Benchmark",
    "BenchmarkInfo",
    "Controls",
    "Finished",
    "FolderBenchmark",
    "ImportedPairs",
    "PersonaFeedback",
    "Published",
    "RunConfig",
    "check_folder",
    "folder_kinds",
    "ingest",
    "is_file",
    "known_people",
    "no_benchmark",
    "open_benchmark",
    "open_folder",
    "open_log",
    "open_questions",
    "open_whole",
    "starter",
    "write_folder",
]
