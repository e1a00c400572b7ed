"""`personafit build`: a benchmark from a config file, step by step, resumable."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from personafit._errors import UserError
from personafit.api.places import hint, make_folder, working_on
from personafit.build import EXAMPLE, Built, build, estimate, read_config
from personafit.cli.common import console
from personafit.cli.options import BackendOption, BudgetOption

EXAMPLE_NAME = "build.toml"


def build_command(
    config: Annotated[
        Path | None, typer.Argument(metavar="CONFIG.toml", help="What to build; --example writes a config.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Output folder.")] = None,
    budget: BudgetOption = None,
    backend: BackendOption = "local",
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Print the number of calls and their cost (with --out, of what is left); ask nothing.",
        ),
    ] = False,
    example: Annotated[
        bool, typer.Option("--example", help=f"Write {EXAMPLE_NAME}, a working config.")
    ] = False,
) -> None:
    """Build a benchmark (people, questions, answers, votes) from a config file; the same command resumes.

    **Examples**

        personafit build --example

        personafit build build.toml --dry-run

        personafit build build.toml --out my-benchmark
    """
    if example:
        _write_example(config or Path(EXAMPLE_NAME))
        return
    if config is None:
        raise UserError("build needs a config file; `personafit build --example` writes one.")
    read = read_config(config)
    if dry_run:
        print(estimate(read, out, budget))
        return
    if out is None:
        raise UserError(
            f"build needs --out DIR, a folder for the benchmark: build {config} --out {read.build.name}."
        )
    make_folder(out)
    with working_on(backend):
        built = build(read, out, budget)
    _print(built)


def _write_example(path: Path) -> None:
    if path.exists():
        raise UserError(f"{path} is there already; name another: personafit build other.toml --example.")
    try:
        path.write_bytes(EXAMPLE.read_bytes())
    except OSError as error:
        raise UserError(f"{path} cannot be written ({error.strerror}).") from error
    print(f"Wrote {path}; now:  personafit build {path} --out my-benchmark")


def _print(built: Built) -> None:
    table = Table("Step", "Rows", "Rejected", "")
    for step, counts in built.counts.items():
        rows = ", ".join(f"{count:,} {name}" for name, count in counts.items() if name != "rejected")
        table.add_row(
            step,
            rows or "none",
            f"{counts.get('rejected', 0):,}",
            "" if step in built.done else "done before",
        )
    console().print(table)
    spent = built.summary
    if spent.cost:
        hint(f"Spent {spent.cost:.4f} USD ({spent.tokens_in:,} tokens in, {spent.tokens_out:,} out).")
    print(f"Benchmark: {built.out} (card.md says what is in it; personafit data check {built.out})")
