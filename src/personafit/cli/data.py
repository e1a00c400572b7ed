"""`personafit data`: list, get, check, import, convert and publish benchmarks; choose answers; forget a person."""

import time
from pathlib import Path
from typing import Annotated, Literal

import typer

from personafit import best_of as choose
from personafit._errors import UserError, printable
from personafit.api import data as data_files
from personafit.api.gate import say_end
from personafit.api.places import hint
from personafit.cli.common import print_object
from personafit.cli.options import BudgetOption, DataOption, JsonOption, RetryOption, SeedOption, StoreOption

app = typer.Typer(no_args_is_help=True, help="Get, check, import, convert and publish benchmarks.")


@app.command("list")
def list_benchmarks() -> None:
    """List the benchmarks that `run` knows by name.

    **Example**

        personafit data list
    """
    for name, title in data_files.known_benchmarks():
        print(f"{name:<18} {title}")
    print(f"{'answers':<18} questions of the starter set (or of --data) for your own system to answer")


@app.command("get")
def get(
    name: Annotated[
        str, typer.Argument(help=f"{', '.join(data_files.REPOS)}, or a data set on the hub as org/name.")
    ],
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
    fetched = data_files.fetch_dataset(name, out, revision, say=lambda line: typer.echo(line, err=True))
    held = "holds" if fetched.fresh else "held already"
    print(f"{fetched.folder} {held} {fetched.repo} at {fetched.revision}.")
    licence = printable(fetched.licence or "none stated on its card; ask its authors before you pass it on")
    print(f"Licence: {licence}.")
    print(f"Use it: {data_files.how_to_run(fetched, name, out)}")


@app.command("push")
def push(
    folder: Annotated[Path, typer.Argument(help="A benchmark folder.")],
    repo: Annotated[str, typer.Argument(help="The data set to create or update, as org/name.")],
    private: Annotated[bool, typer.Option("--private", help="Make the data set private.")] = False,
    licence: Annotated[
        str | None, typer.Option(metavar="NAME", help="Licence, where the folder states none.")
    ] = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Publish even if something looks like private data.")
    ] = False,
) -> None:
    """Publish a benchmark folder as a data set on the Hugging Face hub; the token is read from HF_TOKEN.

    **Examples**

        personafit data push my-benchmark org/name --private

        personafit data push my-benchmark org/name --licence CC-BY-4.0
    """
    pushed = data_files.push_folder(folder, repo, private, licence, anyway)
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
    found = data_files.check_data(benchmark, data)
    if json:
        said = {
            "benchmark": benchmark,
            "problems": found.problems,
            "counts": found.counts,
            "notes": found.notes,
        }
        print_object(said | found.more)
    else:
        for line in [*found.problems, *found.notes]:
            print(printable(line))
        if count := len(found.problems):
            print(f"{count:,} {'problem' if count == 1 else 'problems'}.")
        else:
            print(_counted(found.counts, found.more.get("kinds", {})))
    if found.problems:
        raise typer.Exit(1)


def _counted(counts: dict[str, int], kinds: dict[str, int]) -> str:
    """Format the counts, with the kinds of item if they are not all choices."""
    listed = ", ".join(f"{count:,} {kind}" for kind, count in kinds.items())
    more = {"items": f" ({listed})"} if set(kinds) - {"choice"} else {}
    parts = [f"{count:,} {name}{more.get(name, '')}" for name, count in counts.items()]
    return f"{', '.join(parts)}: nothing wrong."


@app.command("import")
def import_pairs(
    pairs: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Pairs as .csv, .jsonl or .parquet (question, chosen, rejected, person, person.FIELD), or an Inspect log (.eval, .json).",
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
    """Import pairs as a benchmark folder, or an Inspect log as a log of answers.

    **Examples**

        personafit data import pairs.csv --out my-benchmark

        personafit data import logs/assistant.eval --generic logs/plain.eval --out answers.jsonl
    """
    for line in data_files.import_file(pairs, out, person, generic):
        print(printable(line))


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
    if to is None and out.suffix:
        print(data_files.convert_run(source, out, store))
    else:
        print(data_files.convert_benchmark(source, out, data, to))


@app.command("best-of")
def best_of(
    prompts: Annotated[
        Path,
        typer.Argument(
            metavar="FILE.jsonl",
            help="person, question and answers on each line; see docs/guides/training.md.",
        ),
    ],
    rater: Annotated[str, typer.Option(metavar="SPEC", help="Rater that chooses, such as reward:PATH.")],
    out: Annotated[
        Path, typer.Option(metavar="FILE.jsonl", help="Output file: the choices, with all scores.")
    ],
    context: Annotated[
        str, typer.Option(metavar="CTX", help="What the rater is told about the person.")
    ] = "profile",
    system: Annotated[
        str | None, typer.Option(metavar="SPEC", help="Model that makes the answers, where lines have none.")
    ] = None,
    samples: Annotated[
        int, typer.Option(min=1, metavar="N", help="Answers the system makes to each question.")
    ] = 4,
    system_context: Annotated[
        str, typer.Option(metavar="CTX", help="What the system is told about the person.")
    ] = "profile",
    temperature: Annotated[
        float, typer.Option(min=0, metavar="X", help="Sampling temperature of the system.")
    ] = 0.8,
    no_length_control: Annotated[
        bool,
        typer.Option("--no-length-control", help="Leave in the scores what length alone explains."),
    ] = False,
    seed: SeedOption = 0,
    budget: BudgetOption = None,
    retry: RetryOption = None,
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """Choose the best of several answers to each question by a rater, controlled for length; the same command resumes.

    **Examples**

        personafit data best-of candidates.jsonl --rater reward:my-reward --out best.jsonl

        personafit data best-of questions.jsonl --system openai:MODEL@URL --samples 8 --rater reward:my-reward --out best.jsonl
    """
    if out.is_dir() or not out.absolute().parent.is_dir():
        raise UserError(f"{out} cannot be written; give --out a file in a folder that is there.")
    done = choose(
        prompts,
        rater=rater,
        context=context,
        system=system,
        system_context=system_context,
        samples=samples,
        temperature=temperature,
        length_control=not no_length_control,
        seed=seed,
        budget=budget,
        retry=retry or (),
        store=store,
    )
    code = 0
    for summary in done.summaries:
        code = max(code, say_end(summary))
        if summary.interrupted:
            break
    choice = done.choice
    if choice is not None and code != 130:
        choice.write(out)
        if json:
            print_object(done.as_dict())
        else:
            same = choice.same_as_longest()
            if choice.note:
                print(choice.note)
            if same.value is not None:
                print(f"{100 * same.value:.1f} % of the choices are the longest answer.")
            print(f"Coverage {100 * choice.coverage:.1f} %. Choices: {out}")
        missed = sum(row.chosen is None for row in choice.rows)
        if missed:
            hint(f"personafit: nothing could be chosen for {missed:,} of {len(choice.rows):,} questions.")
            code = max(code, 1)
    if code:
        raise typer.Exit(code)


@app.command("forget")
def forget(
    person: Annotated[str, typer.Argument(help="Id of the person, as in people.jsonl.")],
    store: StoreOption = None,
    folders: Annotated[
        list[Path] | None,
        typer.Option(
            "--in", metavar="DIR", help="Also remove them from this output folder of `extract`. Repeatable."
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
