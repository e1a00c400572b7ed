"""`personafit train`: raters fitted on human choices."""

from pathlib import Path
from typing import Annotated

import typer

from personafit._errors import UserError
from personafit.benchmarks import Benchmark, FolderBenchmark, PersonaFeedback
from personafit.cli.common import hint
from personafit.training import cross_fit, fit_pairwise, quality
from personafit.training.choices import card, load_choices, write_rater

app = typer.Typer(no_args_is_help=True, help="Fit raters on human choices.")


@app.command("pairwise")
def pairwise(
    data: Annotated[Path, typer.Option(help="A benchmark folder, or PersonaFeedback in a published layout.")],
    out: Annotated[Path, typer.Option(help="Folder for model.json, quality.json and card.md.")],
    seed: Annotated[int, typer.Option(help="Seed of the folds.")] = 0,
) -> None:
    """Fit a small CPU rater on human choices, split by person, and say what it is worth.

    **Example**

        personafit train pairwise --data DIR --out my-rater && personafit run starter --rater fitted:my-rater
    """
    benchmark: Benchmark = (
        FolderBenchmark(data) if (data / "benchmark.toml").is_file() else PersonaFeedback(data)
    )
    choices = load_choices(benchmark)
    people = len({choice.person for choice in choices})
    hint(f"Cross-fitting {len(choices):,} choices of {people:,} people, then fitting on all of them ...")
    try:
        report = quality(choices, cross_fit(choices, seed=seed))
        model = fit_pairwise(choices, seed=seed)
        path = write_rater(out, model, report, benchmark.info.name)
    except ValueError as error:
        raise UserError(f"{data}: {error}") from error
    except OSError as error:
        raise UserError(f"{out} cannot be written ({error.strerror}).") from error
    print(card(model, report, benchmark.info.name))
    print(f"Rater: fitted:{path}")
