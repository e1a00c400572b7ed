"""Benchmarks as files: listed, checked, imported, converted."""

from collections import Counter, deque
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from personafit._errors import UserError, counted, writing
from personafit.api.frames import benchmark_of
from personafit.api.places import write_lines
from personafit.api.run import load
from personafit.benchmarks import (
    BENCHMARKS,
    Benchmark,
    FolderBenchmark,
    ImportedPairs,
    check_folder,
    is_file,
    open_benchmark,
    open_whole,
    write_folder,
)
from personafit.benchmarks.answers import Answers
from personafit.benchmarks.fetching import fetch_dataset
from personafit.benchmarks.folder import copy_folder
from personafit.benchmarks.hostile import hostile_note
from personafit.benchmarks.hub import REPOS, how_to_run
from personafit.benchmarks.inspect_logs import SUFFIXES, InspectLog
from personafit.benchmarks.lines import read_lines
from personafit.benchmarks.published import published_info
from personafit.benchmarks.publishing import push_folder
from personafit.benchmarks.tasks import TaskBenchmark
from personafit.contexts.context import HISTORY
from personafit.store import Store, export_frame
from personafit.train import load_choices, write_trl

__all__ = [
    "REPOS",
    "DataCheck",
    "check_data",
    "convert_benchmark",
    "convert_run",
    "fetch_dataset",
    "how_to_run",
    "import_file",
    "known_benchmarks",
    "push_folder",
]


def known_benchmarks() -> Iterator[tuple[str, str]]:
    """Yield the benchmarks known by name, each with its title and licence, and what it needs if its data are not here."""
    for name, factory in BENCHMARKS.items():
        needs = ""
        try:
            info = factory(None).info
        except UserError as error:
            info, needs = published_info(name), f". {error}"
        yield name, f"{info.title} ({info.licence}){needs}"


@dataclass
class DataCheck:
    """The problems of a benchmark's data and, if there are none, its counts."""

    problems: list[str] = field(default_factory=list)
    """A sentence each, with file, line and field."""
    counts: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)
    """Items by kind and repeated ones; for tasks, users and repaired data."""


def check_data(benchmark: str, data: Path | None = None) -> DataCheck:
    """Check a file of answers or pairs, a benchmark folder, or a benchmark by name."""
    found = DataCheck()
    opened: Benchmark | None = None
    if benchmark not in BENCHMARKS and Path(benchmark).is_dir():
        found.problems = check_folder(Path(benchmark))
    elif is_file(benchmark):
        try:
            opened = benchmark_of(benchmark, data, 0)
        except UserError as error:
            if not Path(benchmark).is_file():
                raise
            found.problems = error.faults
        if not found.problems and Path(benchmark).suffix == ".jsonl":
            deque(read_lines(Path(benchmark), found.problems.append, strict=True), maxlen=0)
    if found.problems:
        return found
    opened = opened or open_whole(benchmark, data)
    try:
        if isinstance(opened, TaskBenchmark):
            found.counts, found.more = _count_tasks(opened)
            found.notes = opened.notes()
        else:
            found.counts, found.more = _count_items(opened)
            again = [_repeated(count)] if (count := found.more["repeated"]) else []
            found.notes = [*opened.notes(), *again, *filter(None, [hostile_note(opened)])]
    except UserError as error:
        return DataCheck(problems=error.faults)
    return found


def _repeated(count: int) -> str:
    items = counted(count, "item repeats", "items repeat")
    return f"{items} an earlier one (same person, history, question and answers); each counts."


def _count_items(opened: Benchmark) -> tuple[dict[str, int], dict[str, Any]]:
    """Count people, items and gold; for a folder also items of every kind, for a log its answers."""
    if isinstance(opened, FolderBenchmark):
        opened.kind = None
    found = [(item.kind, item.hash, item.slices.get(HISTORY)) for item in opened.items()]
    kinds, contents = Counter(kind for kind, *_ in found), set(found)
    counts = {"people": sum(1 for _ in opened.people()), "items": len(found)}
    if isinstance(opened, Answers):
        counts["answers"] = len(opened.rows)
    else:
        counts["gold"] = sum(1 for _ in opened.gold())
    return counts, {"kinds": dict(kinds), "repeated": len(found) - len(contents)}


def _count_tasks(opened: TaskBenchmark) -> tuple[dict[str, int], dict[str, Any]]:
    """Count people and their tasks, and list what was repaired, in one pass."""
    users: dict[str, dict[str, int]] = {}
    for person, tasks in opened.users:
        several = sum(task.kind == "MD" for task in tasks)
        users[person.id] = {"SD": len(tasks) - several, "MD": several}
    sums = {kind: sum(one[kind] for one in users.values()) for kind in ("SD", "MD")}
    return {"people": len(users), **sums}, {"users": users, "repairs": opened.repairs()}


def import_file(
    path: Path, out: Path | None = None, person: str = "person", generic: Path | None = None
) -> list[str]:
    """Write pairs from a file as a benchmark folder, or an Inspect log as a log of answers; returns sentences on what was done."""
    if path.suffix in SUFFIXES:
        return _import_log(path, out or path.with_suffix(".jsonl"), person, generic)
    folder = out or path.with_suffix("")
    benchmark = ImportedPairs(path)
    _write(folder, benchmark)
    return [*benchmark.notes()[1:], f"Wrote {folder}; try: personafit run {folder} --rater rule:overlap"]


def _import_log(path: Path, out: Path, person: str, generic: Path | None) -> list[str]:
    log = InspectLog(path)
    rows = list(log.answers(person, InspectLog(generic) if generic else None))
    missing = sum(row["answer"] is None for row in rows)
    if missing == len(rows):
        raise UserError(
            f"{path}: no sample was completed ({log.ending}), so there is nothing to import; run the evaluation again."
        )
    write_lines(out, rows)
    done = [f"Wrote {len(rows):,} answers of {log.model} to {out}."]
    if missing:
        done.append(f"{missing} samples failed or were empty: they are written without an answer, and lose.")
    if unpaired := sum("generic" not in row for row in rows):
        done.append(
            f"{unpaired:,} have no generic answer to be compared with; --generic LOG gives a run without the person."
        )
    return [*done, f"Evaluate them: personafit run {out} --rater openai:MODEL"]


def convert_benchmark(source: str, out: Path, data: Path | None = None, to: str | None = None) -> str:
    """Write a benchmark as a benchmark folder, or its pairs in TRL's layout; returns a sentence on what was done."""
    if to is not None:
        pairs = load_choices(open_benchmark(source, data, "choice"))
        write_trl(pairs, out)
        return f"Wrote {len(pairs):,} pairs to {out}."
    benchmark = open_whole(source, data)
    if isinstance(benchmark, TaskBenchmark):
        raise UserError(
            f"{source} has tasks and no items, so it cannot be written as a folder; `run {source}` reads it."
        )
    _write(out, benchmark)
    return f"Wrote {out}."


def convert_run(run: str, out: Path, store: str | Path | Store | None = None) -> str:
    """Write a run's judgments as a table with person, prompt and gold; returns a sentence on what was done."""
    if run in BENCHMARKS:
        raise UserError(
            f"--out {out}: a benchmark becomes a folder, or a file with --to trl; tables are of the judgments of a run."
        )
    with closing(load(run, store=store)) as opened:
        about = opened.items.select("item", "person", pl.col("question").alias("prompt"), "gold")
        frame = opened.judgments.join(about, on="item", how="left", maintain_order="left")
    with writing(out):
        export_frame(frame, out)
    return f"Wrote {len(frame):,} judgments to {out}."


def _write(folder: Path, benchmark: Benchmark) -> None:
    """Write a benchmark as a folder; a folder is copied whole, with items of every kind."""
    if folder.is_dir() and any(folder.iterdir()):
        raise UserError(f"{folder} is there already and not empty; choose another with --out.")
    with writing(folder):
        if isinstance(benchmark, FolderBenchmark):
            copy_folder(benchmark.folder, folder)
        else:
            write_folder(folder, benchmark)
