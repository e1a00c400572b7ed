"""`personafit data`: list, check, import and convert benchmarks; export what a run judged."""

from pathlib import Path
from typing import Annotated

import orjson
import typer

from personafit._errors import UserError
from personafit.benchmarks import (
    BENCHMARKS,
    Benchmark,
    ImportedPairs,
    check_folder,
    open_benchmark,
    write_folder,
)
from personafit.cli.common import find_run, store_url
from personafit.store import Store, export_frame, run_answers

app = typer.Typer(no_args_is_help=True, help="Benchmarks as data: list, check, import, convert.")

DataOption = Annotated[Path | None, typer.Option(help="Folder with the data in its published layout.")]


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
        except UserError:
            print(f"{name:<18} reads the published data; give its folder with --data")
    print(f"{'answers':<18} your own system's answers; see `personafit run --help`")


@app.command("check")
def check(
    benchmark: Annotated[str, typer.Argument(help="A benchmark folder, or a benchmark's name with --data.")],
    data: DataOption = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Say everything that is wrong with a benchmark's data, naming file, line and field.

    **Examples**

        personafit data check my-benchmark/

        personafit data check personafeedback --data DIR
    """
    problems: list[str] = []
    counts: dict[str, int] = {}
    notes: list[str] = []
    if benchmark not in BENCHMARKS and Path(benchmark).is_dir():
        problems = check_folder(Path(benchmark))
    if not problems:
        opened = open_benchmark(benchmark, data)
        counts = {
            "people": sum(1 for _ in opened.people()),
            "items": sum(1 for _ in opened.items()),
            "gold": sum(1 for _ in opened.gold()),
        }
        notes = opened.notes()
    if json:
        body = {"benchmark": benchmark, "problems": problems, "counts": counts, "notes": notes}
        print(orjson.dumps(body, option=orjson.OPT_INDENT_2).decode())
    else:
        for line in [*problems, *notes]:
            print(line)
        if problems:
            print(f"{len(problems)} problems.")
        else:
            print(", ".join(f"{count:,} {name}" for name, count in counts.items()) + ": nothing wrong.")
    if problems:
        raise typer.Exit(1)


@app.command("import")
def import_pairs(
    pairs: Annotated[
        Path, typer.Argument(help="CSV with question, chosen, rejected, person and person.FIELD columns.")
    ],
    out: Annotated[Path | None, typer.Option(help="Folder to make; default is the file's name.")] = None,
) -> None:
    """Make a benchmark folder from a team's own pairs.

    **Example**

        personafit data import pairs.csv --out my-benchmark
    """
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
) -> None:
    """Turn a published layout into a benchmark folder, or a run's judgments into a table.

    **Examples**

        personafit data convert personafeedback --data DIR --out pf-folder

        personafit data convert last --out judgments.parquet
    """
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
    _write(out, open_benchmark(source, data))
    print(f"Wrote {out}.")


def _write(folder: Path, benchmark: Benchmark) -> None:
    if folder.is_dir() and any(folder.iterdir()):
        raise UserError(f"{folder} is there already and not empty; choose another with --out.")
    try:
        write_folder(folder, benchmark)
    except OSError as error:
        raise UserError(f"{folder} cannot be written ({error.strerror}).") from error
