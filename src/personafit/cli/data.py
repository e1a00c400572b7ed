"""`personafit data`: list, fetch, check, import, convert and publish benchmarks; export what a run judged."""

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from personafit._errors import UserError
from personafit.benchmarks import (
    BENCHMARKS,
    Benchmark,
    FolderBenchmark,
    ImportedPairs,
    check_folder,
    open_benchmark,
    open_whole,
    write_folder,
)
from personafit.benchmarks.folder import copy_folder
from personafit.benchmarks.hostile import hostile_note
from personafit.benchmarks.inspect_logs import SUFFIXES
from personafit.benchmarks.personalens import TaskBenchmark, open_tasks
from personafit.cli.common import find_run, print_object, store_url
from personafit.cli.hub import get, push
from personafit.cli.options import DataOption, JsonOption
from personafit.cli.study import forms, votes
from personafit.store import Store, export_frame, run_answers
from personafit.training.reward.exports import Target, write_pairs
from personafit.training.reward.pairs import pairs_of

app = typer.Typer(no_args_is_help=True, help="Benchmarks as data: list, get, check, import, convert, push.")
app.command("forms")(forms)
app.command("votes")(votes)
app.command("get")(get)
app.command("push")(push)


@app.command("list")
def list_benchmarks() -> None:
    """Name the benchmarks this installation knows.

    **Example**

        personafit data list
    """
    for name, factory in BENCHMARKS.items():
        try:
            info = factory(None).info
            print(f"{name:<18} {info.title} ({info.licence})")
        except UserError as error:
            print(f"{name:<18} {error}")
    print(f"{'answers':<18} your own system's answers; see `personafit run --help`")


@app.command("check")
def check(
    benchmark: Annotated[str, typer.Argument(help="A benchmark folder, or a benchmark's name with --data.")],
    data: DataOption = None,
    json: JsonOption = False,
) -> None:
    """Say everything that is wrong with a benchmark's data, naming file, line and field.

    **Examples**

        personafit data check my-benchmark/

        personafit data check personafeedback --data DIR

        personafit data check personalens --data DIR --json
    """
    problems: list[str] = []
    counts: dict[str, int] = {}
    notes: list[str] = []
    more: dict[str, Any] = {}
    if benchmark not in BENCHMARKS and Path(benchmark).is_dir():
        problems = check_folder(Path(benchmark))
    if not problems:
        opened: Benchmark | TaskBenchmark
        if benchmark == "personalens":
            opened = open_tasks(data, problems.append)
        else:
            opened = open_whole(benchmark, data)
        if isinstance(opened, TaskBenchmark):
            counts, more = _count_tasks(opened)
            problems = list(dict.fromkeys(problems))  # a file that is read twice has its faults twice
        else:
            counts, more = _count_items(opened)
        notes = opened.notes()
        if not isinstance(opened, TaskBenchmark) and (warning := hostile_note(opened)) is not None:
            notes = [*notes, warning]
    if json:
        body = {"benchmark": benchmark, "problems": problems, "counts": counts, "notes": notes, **more}
        print_object(body)
    else:
        for line in [*problems, *notes]:
            print(line)
        if problems:
            print(f"{len(problems)} problems.")
        else:
            print(_counted(counts, more.get("kinds", {})))
    if problems:
        raise typer.Exit(1)


def _count_items(opened: Benchmark) -> tuple[dict[str, int], dict[str, Any]]:
    """People, items and gold; of a folder every kind of item counts, whichever a run would take."""
    if isinstance(opened, FolderBenchmark):
        opened.kind = None
    kinds = Counter(item.kind for item in opened.items())
    counts = {
        "people": sum(1 for _ in opened.people()),
        "items": kinds.total(),
        "gold": sum(1 for _ in opened.gold()),
    }
    return counts, {"kinds": dict(kinds)}


def _counted(counts: dict[str, int], kinds: dict[str, int]) -> str:
    """The counts as a line; of which kinds the items are is said where they are not all choices."""
    parts = [f"{count:,} {name}" for name, count in counts.items()]
    if set(kinds) - {"choice"}:
        listed = ", ".join(f"{count:,} {kind}" for kind, count in kinds.items())
        parts = [f"{part} ({listed})" if part.endswith(" items") else part for part in parts]
    return f"{', '.join(parts)}: nothing wrong."


def _count_tasks(opened: TaskBenchmark) -> tuple[dict[str, int], dict[str, Any]]:
    """Who has how many tasks, and what was put right, in one reading."""
    counts = {"people": 0, "SD": 0, "MD": 0}
    users: dict[str, dict[str, int]] = {}
    for person, tasks in opened.users():
        several = sum(task.kind == "MD" for task in tasks)
        users[person.id] = {"SD": len(tasks) - several, "MD": several}
        counts["people"] += 1
        counts["SD"] += len(tasks) - several
        counts["MD"] += several
    return counts, {"users": users, "repairs": opened.repairs.rows()}


@app.command("import")
def import_pairs(
    pairs: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="CSV with question, chosen, rejected, person and person.FIELD columns, or a log of Inspect (.eval, .json).",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="What to make: a folder, for a log a .jsonl file; default is the file's name."),
    ] = None,
    person: Annotated[
        str, typer.Option(help="Field of a log's metadata that says whom a sample is for.")
    ] = "person",
    generic: Annotated[
        Path | None, typer.Option(help="A log of the same samples, answered without knowing the person.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="For a log of our own task: the benchmark folder or data it was made with."),
    ] = None,
    store: Annotated[str | None, typer.Option(help="Where a log of our own task becomes a run.")] = None,
) -> None:
    """Make a benchmark folder from a team's own pairs, an answer log or a run from a log of Inspect.

    **Examples**

        personafit data import pairs.csv --out my-benchmark

        personafit data import logs/assistant.eval --generic logs/plain.eval --out answers.jsonl

        personafit data import logs/choices.eval
    """
    if pairs.suffix in SUFFIXES:
        from personafit.cli.import_log import import_log

        import_log(pairs, out, person, generic, data, store)
        return
    if data is not None:
        raise UserError(f"--data means nothing here: {pairs} is no log of Inspect.")
    folder = out or pairs.with_suffix("")
    benchmark = ImportedPairs(pairs)
    _write(folder, benchmark)
    for note in benchmark.notes()[1:]:
        print(note)
    print(f"Wrote {folder}; try: personafit run {folder} --rater rule:overlap")


@app.command("convert")
def convert(
    source: Annotated[str, typer.Argument(help="A benchmark (with --data), or a run: its name or `last`.")],
    out: Annotated[
        Path, typer.Option(help="Folder for a benchmark; .jsonl, .csv or .parquet file for a run.")
    ],
    data: DataOption = None,
    store: Annotated[str | None, typer.Option(help="Where the run is; default .personafit/store.db.")] = None,
    to: Annotated[
        Target | None, typer.Option(help="A trainer: write the benchmark's pairs as a file for it.")
    ] = None,
) -> None:
    """Turn a published layout into a benchmark folder or a trainer's file, or a run's judgments into a table.

    **Examples**

        personafit data convert personafeedback --data DIR --out pf-folder

        personafit data convert personafeedback --data DIR --to trl --out pairs.jsonl

        personafit data convert last --out judgments.parquet
    """
    if to is not None:
        pairs = pairs_of(open_benchmark(source, data, "choice"))
        written = write_pairs(pairs, out, to)
        print(f"Wrote {len(pairs):,} pairs to {' and '.join(map(str, written))}.")
        return
    if out.suffix:
        with Store(store_url(store)) as opened:
            run = find_run(opened, source)
            frame = run_answers(opened, run.id)
        names = {rater["fingerprint"]: rater["name"] for rater in run.config.get("raters", [])}
        if not frame.is_empty():
            frame = frame.with_columns(frame["rater"].replace(names).alias("rater_name"))
        try:
            export_frame(frame, out)
        except OSError as error:
            raise UserError(f"{out} cannot be written ({error.strerror}).") from error
        print(f"Wrote {len(frame):,} judgments to {out}.")
        return
    benchmark = open_whole(source, data)
    if isinstance(benchmark, TaskBenchmark):
        raise UserError(
            f"{source} has tasks and no items, so it makes no folder; `run {source} --data` reads it."
        )
    _write(out, benchmark)
    print(f"Wrote {out}.")


def _write(folder: Path, benchmark: Benchmark) -> None:
    """A benchmark as a folder; what is one already is copied whole, whichever of its items a run would take."""
    if folder.is_dir() and any(folder.iterdir()):
        raise UserError(f"{folder} is there already and not empty; choose another with --out.")
    try:
        if isinstance(benchmark, FolderBenchmark):
            copy_folder(benchmark.folder, folder)
        else:
            write_folder(folder, benchmark)
    except OSError as error:
        raise UserError(f"{folder} cannot be written ({error.strerror}).") from error
