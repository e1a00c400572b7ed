"""`personafit data`: list, get, check, import, convert and publish benchmarks; choose answers; forget a person."""

import time
from collections import Counter, deque
from pathlib import Path
from typing import Annotated, Any, Literal

import orjson
import polars as pl
import typer

from personafit._errors import UserError, writing
from personafit.api.frames import benchmark_of
from personafit.api.places import find_run, make_folder, store_url
from personafit.api.run import Run
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
from personafit.benchmarks.folder import copy_folder
from personafit.benchmarks.hostile import hostile_note
from personafit.benchmarks.hub import REPOS
from personafit.benchmarks.inspect_logs import SUFFIXES, InspectLog
from personafit.benchmarks.lines import read_lines
from personafit.benchmarks.tasks import TaskBenchmark
from personafit.cli.best_of import best_of
from personafit.cli.common import print_object
from personafit.cli.options import DataOption, JsonOption, StoreOption
from personafit.store import Store, export_frame
from personafit.train.pairs import load_choices, write_trl

app = typer.Typer(no_args_is_help=True, help="Get, check, import, convert and publish benchmarks.")


@app.command("list")
def list_benchmarks() -> None:
    """List the benchmarks that `run` knows by name.

    **Example**

        personafit data list
    """
    for name, factory in BENCHMARKS.items():
        try:
            info = factory(None).info
            print(f"{name:<18} {info.title} ({info.licence})")
        except UserError as error:
            print(f"{name:<18} {error}")
    print(f"{'answers':<18} questions of the starter set (or of --data) for your own system to answer")


@app.command("get")
def get(
    name: Annotated[str, typer.Argument(help=f"{', '.join(REPOS)}, or a data set on the hub as org/name.")],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Output folder; default .personafit/data/NAME.")
    ] = None,
    revision: Annotated[
        str | None, typer.Option(metavar="REV", help="Branch, tag or commit; default the newest.")
    ] = None,
) -> None:
    """Download a published benchmark from the Hugging Face hub; the same command resumes.

    **Examples**

        personafit data get personafeedback

        personafit data get org/name --out my-benchmark --revision 5f8baaf
    """
    from personafit.benchmarks.fetching import fetch_dataset
    from personafit.benchmarks.hub import how_to_run

    fetched = fetch_dataset(name, out, revision, say=lambda line: typer.echo(line, err=True))
    held = "holds" if fetched.fresh else "held already"
    print(f"{fetched.folder} {held} {fetched.repo} at {fetched.revision}.")
    print(f"Licence: {fetched.licence or 'none stated on its card; ask its authors before you pass it on'}.")
    print(f"Use it: {how_to_run(fetched, name, out)}")


@app.command("push")
def push(
    folder: Annotated[Path, typer.Argument(help="A benchmark folder.")],
    repo: Annotated[str, typer.Argument(help="The data set to create or update, as org/name.")],
    private: Annotated[bool, typer.Option("--private", help="Make the data set private.")] = False,
    licence: Annotated[
        str | None, typer.Option(metavar="NAME", help="Licence, where the folder states none.")
    ] = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Publish although something looks like private data.")
    ] = False,
) -> None:
    """Publish a benchmark folder as a data set on the Hugging Face hub; the token is read from HF_TOKEN.

    **Examples**

        personafit data push my-benchmark org/name --private

        personafit data push my-benchmark org/name --licence CC-BY-4.0
    """
    from personafit.benchmarks.publishing import push_folder

    pushed = push_folder(folder, repo, private, licence, anyway)
    if pushed.left:
        print(f"Not published, as no part of a benchmark folder: {', '.join(pushed.left)}.")
    print(f"{pushed.url} holds {folder} at {pushed.revision} (licence {pushed.licence}).")


@app.command("check")
def check(
    benchmark: Annotated[
        str,
        typer.Argument(
            help="A file of answers or pairs, a benchmark folder, or a benchmark's name with --data."
        ),
    ],
    data: DataOption = None,
    json: JsonOption = False,
) -> None:
    """Report every problem of a file of answers or of a benchmark's data, with file, line and field.

    **Examples**

        personafit data check answers.jsonl

        personafit data check my-benchmark/

        personafit data check personafeedback --data DIR

        personafit data check personalens --data DIR --json
    """
    problems: list[str] = []
    counts: dict[str, int] = {}
    notes: list[str] = []
    more: dict[str, Any] = {}
    opened: Benchmark | None = None
    if benchmark not in BENCHMARKS and Path(benchmark).is_dir():
        problems = check_folder(Path(benchmark))
    elif is_file(benchmark):
        try:
            opened = benchmark_of(benchmark, data, 0)
        except UserError as error:
            if not Path(benchmark).is_file():
                raise
            problems = error.faults
        if not problems and Path(benchmark).suffix == ".jsonl":
            deque(read_lines(Path(benchmark), problems.append, strict=True), maxlen=0)
    if not problems:
        opened = opened or open_whole(benchmark, data)
        if isinstance(opened, TaskBenchmark):
            try:
                counts, more = _count_tasks(opened)
                notes = opened.notes()
            except UserError as error:
                problems = error.faults
        else:
            counts, more = _count_items(opened)
            again = f"{more['repeated']:,} items repeat an earlier one (same person, question and answers)."
            notes = [*opened.notes(), *([again] if more["repeated"] else [])]
            notes += filter(None, [hostile_note(opened)])
    if json:
        said = {"benchmark": benchmark, "problems": problems, "counts": counts, "notes": notes}
        print_object(said | more)
    else:
        for line in [*problems, *notes]:
            print(line)
        if problems:
            print(f"{len(problems):,} {'problem' if len(problems) == 1 else 'problems'}.")
        else:
            print(_counted(counts, more.get("kinds", {})))
    if problems:
        raise typer.Exit(1)


def _count_items(opened: Benchmark) -> tuple[dict[str, int], dict[str, Any]]:
    """Count people, items and gold; of a folder, items of every kind, and of a log of answers its answers."""
    if isinstance(opened, FolderBenchmark):
        opened.kind = None
    found = [(item.kind, item.hash) for item in opened.items()]
    kinds, contents = Counter(kind for kind, _ in found), {content for _, content in found}
    counts = {"people": sum(1 for _ in opened.people()), "items": len(found)}
    if isinstance(opened, Answers):
        counts["answers"] = len(opened.rows)
    else:
        counts["gold"] = sum(1 for _ in opened.gold())
    return counts, {"kinds": dict(kinds), "repeated": len(found) - len(contents)}


def _counted(counts: dict[str, int], kinds: dict[str, int]) -> str:
    """Format the counts, with the kinds of item where they are not all choices."""
    listed = ", ".join(f"{count:,} {kind}" for kind, count in kinds.items())
    more = {"items": f" ({listed})"} if set(kinds) - {"choice"} else {}
    parts = [f"{count:,} {name}{more.get(name, '')}" for name, count in counts.items()]
    return f"{', '.join(parts)}: nothing wrong."


def _count_tasks(opened: TaskBenchmark) -> tuple[dict[str, int], dict[str, Any]]:
    """Count people and their tasks, and list what was repaired, in one pass."""
    users: dict[str, dict[str, int]] = {}
    for person, tasks in opened.users:
        several = sum(task.kind == "MD" for task in tasks)
        users[person.id] = {"SD": len(tasks) - several, "MD": several}
    sums = {kind: sum(one[kind] for one in users.values()) for kind in ("SD", "MD")}
    return {"people": len(users), **sums}, {"users": users, "repairs": opened.repairs()}


@app.command("import")
def import_pairs(
    pairs: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="CSV with the columns question, chosen, rejected, person and person.FIELD, or a log of Inspect (.eval, .json).",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH", help="Folder to write (of a log: .jsonl file); default named like FILE."
        ),
    ] = None,
    person: Annotated[
        str, typer.Option(metavar="FIELD", help="Metadata field of a log that names the person of a sample.")
    ] = "person",
    generic: Annotated[
        Path | None,
        typer.Option(metavar="LOG", help="Log of the same samples, answered without knowing the person."),
    ] = None,
) -> None:
    """Import pairs from CSV as a benchmark folder, or a log of Inspect as a log of answers.

    **Examples**

        personafit data import pairs.csv --out my-benchmark

        personafit data import logs/assistant.eval --generic logs/plain.eval --out answers.jsonl
    """
    if pairs.suffix in SUFFIXES:
        _import_log(pairs, out or pairs.with_suffix(".jsonl"), person, generic)
        return
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
        Path, typer.Option(metavar="PATH", help="Folder (benchmark), or .jsonl, .csv or .parquet file (run).")
    ],
    data: DataOption = None,
    store: StoreOption = None,
    to: Annotated[
        Literal["trl"] | None, typer.Option(help="Write the benchmark's pairs in TRL's layout.")
    ] = None,
) -> None:
    """Convert a benchmark to a benchmark folder or a trainer's file, or a run's judgments to a table with person, prompt and gold.

    **Examples**

        personafit data convert personafeedback --data DIR --out pf-folder

        personafit data convert personafeedback --data DIR --to trl --out pairs.jsonl

        personafit data convert last --out judgments.parquet
    """
    if to is not None:
        pairs = load_choices(open_benchmark(source, data, "choice"))
        write_trl(pairs, out)
        print(f"Wrote {len(pairs):,} pairs to {out}.")
        return
    if out.suffix:
        with Store(store_url(store)) as opened:
            run = Run(opened, find_run(opened, source))
            about = run.items.select("item", "person", pl.col("question").alias("prompt"), "gold")
            frame = run.judgments.join(about, on="item", how="left", maintain_order="left")
        with writing(out):
            export_frame(frame, out)
        print(f"Wrote {len(frame):,} judgments to {out}.")
        return
    benchmark = open_whole(source, data)
    if isinstance(benchmark, TaskBenchmark):
        raise UserError(f"{source} has tasks and no items: it makes no folder; `run {source}` reads it.")
    _write(out, benchmark)
    print(f"Wrote {out}.")


def _write(folder: Path, benchmark: Benchmark) -> None:
    """Write a benchmark as a folder; a folder is copied whole, with items of every kind."""
    if folder.is_dir() and any(folder.iterdir()):
        raise UserError(f"{folder} is there already and not empty; choose another with --out.")
    with writing(folder):
        if isinstance(benchmark, FolderBenchmark):
            copy_folder(benchmark.folder, folder)
        else:
            write_folder(folder, benchmark)


def _import_log(path: Path, out: Path, person: str, generic: Path | None) -> None:
    """Write the answers of a log of Inspect as a log of answers."""
    log = InspectLog(path)
    rows = list(log.answers(person, InspectLog(generic) if generic else None))
    missing = sum(row["answer"] is None for row in rows)
    if missing == len(rows):
        raise UserError(
            f"{path}: no sample was completed ({log.ending}), so there is nothing to import; run the evaluation again."
        )
    make_folder(out.parent)
    with writing(out):
        out.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    print(f"Wrote {len(rows):,} answers of {log.model} to {out}.")
    if missing:
        print(f"{missing} samples failed or were empty: they are written without an answer, and lose.")
    if unpaired := sum("generic" not in row for row in rows):
        print(
            f"{unpaired:,} have no generic answer to be compared with; --generic LOG gives a run without the person."
        )
    print(f"Evaluate them: personafit run {out} --rater openai:MODEL")


app.command("best-of")(best_of)


@app.command("forget")
def forget(
    person: Annotated[str, typer.Argument(help="Id of the person, as in people.jsonl.")],
    store: StoreOption = None,
    folders: Annotated[
        list[Path] | None,
        typer.Option(
            "--in",
            metavar="DIR",
            help="Also remove them from this output folder of `extract`. Repeatable.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be removed, and remove nothing.")
    ] = False,
) -> None:
    """Remove a person from a store: profiles, items, answers, contexts, asks and judgments, in every data set and study.

    A tombstone stays (the id as a hash, the date, the number of rows), and data that still names the person is read without them from
    then on. With --in also from output folders: their lines, their page, and their rows in the folder's own store. End runs on the same
    store first.

    **Examples**

        personafit data forget marlene --dry-run

        personafit data forget marlene --in people --in flow
    """
    from personafit.api.forgetting import forget as remove

    done = remove(person, store=store, folders=folders or (), dry_run=dry_run)
    for place, counts in [(done.store, done.counts), *done.folders.items()]:
        removed = [f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items() if count]
        listed, in_store = ", ".join(removed) or "nothing", place == done.store
        if in_store and done.before is not None and listed == "nothing":
            when = time.strftime("%Y-%m-%d", time.gmtime(done.before))
            print(f"{person} was forgotten on {when}; nothing has come back since.")
        elif dry_run:
            print(f"Forgetting {person} would remove {listed} from {place}; nothing was removed.")
        else:
            print(f"Removed {listed} of {person} from {place}{'; a tombstone stays' if in_store else ''}.")
    if dry_run:
        return
    print(
        "Reports, exports, fitted models and backups already made are outside its reach: delete those yourself, and make "
        "reports anew with personafit report."
    )
    for where, why in done.remains.items():
        raise UserError(
            f"The rows are removed, but their bytes may remain in the files of {where} ({why}); "
            "run the same command again when nobody uses the store.",
            code=1,
        )
