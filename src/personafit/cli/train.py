"""`personafit train`: raters fitted on human judgments."""

from pathlib import Path
from typing import Annotated

import typer

from personafit._errors import UserError
from personafit.cli.common import hint, make_folder, print_json
from personafit.cli.options import JsonOption
from personafit.cli.train_matcher_grpo import figure_results, train_matcher_grpo
from personafit.cli.train_preference import preference
from personafit.cli.train_reward import reward
from personafit.cli.train_verifier import verifier
from personafit.training import cross_fit, fit_pairwise, quality
from personafit.training.choices import card, load_choices, open_choices, write_rater
from personafit.training.grpo_settings import GrpoSettings, Method

app = typer.Typer(no_args_is_help=True, help="Fit raters on human judgments.")
app.command("preference")(preference)
app.command("reward")(reward)
app.command("verifier")(verifier)


@app.command("pairwise")
def pairwise(
    data: Annotated[
        Path, typer.Option(help="A benchmark folder, PersonaFeedback in a published layout, or starter.")
    ],
    out: Annotated[Path, typer.Option(help="Folder for fitted.json, quality.json and card.md.")],
    seed: Annotated[int, typer.Option(help="Seed of the folds.")] = 0,
) -> None:
    """Fit a small CPU rater on human choices, split by person, and say what it is worth.

    **Example**

        personafit train pairwise --data starter --out my-rater && personafit run starter --rater fitted:my-rater
    """
    benchmark = open_choices(data)
    choices = load_choices(benchmark)
    people = len({choice.person for choice in choices})
    hint(f"Cross-fitting {len(choices):,} choices of {people:,} people, then fitting on all of them ...")
    try:
        report = quality(choices, cross_fit(choices, seed=seed))
        model = fit_pairwise(choices, seed=seed)
        write_rater(out, model, report, benchmark.info.name)
    except ValueError as error:
        raise UserError(f"{data}: {error}") from error
    except OSError as error:
        raise UserError(f"{out} cannot be written ({error.strerror}).") from error
    print(card(model, report, benchmark.info.name))
    print(f"Rater: fitted:{out}")


@app.command("matcher")
def matcher(
    data: Annotated[
        Path,
        typer.Option(
            help="A folder with relevance.jsonl as published, a benchmark folder with relevance items, or starter."
        ),
    ],
    out: Annotated[
        Path, typer.Option(help="Folder for the matcher (or the model, by GRPO), quality.json and card.md.")
    ],
    method: Annotated[
        Method,
        typer.Option(help="A small kernel method on a CPU, or a language model trained by GRPO, for a GPU."),
    ] = "kernel",
    base: Annotated[
        str | None, typer.Option(help="GRPO: the chat model to start from, a folder or OWNER/NAME.")
    ] = None,
    steps: Annotated[int, typer.Option(help="GRPO: how many steps.")] = 200,
    batch: Annotated[int, typer.Option(help="GRPO: questions a step, over all processes.")] = 16,
    generations: Annotated[int, typer.Option(help="GRPO: replies to each question.")] = 8,
    rate: Annotated[
        float | None, typer.Option(help="GRPO: learning rate; default 1e-6, with --lora 1e-5.")
    ] = None,
    lora: Annotated[bool, typer.Option("--lora", help="GRPO: train an adapter; merged at the end.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the folds, or of the prompts held out.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Fit a rater on judgments of which attributes matter for a prompt, and say what it is worth on prompts left out.

    **Examples**

        personafit train matcher --data starter --out my-matcher && personafit run recentering --data starter --rater fitted:my-matcher

        personafit train matcher --method grpo --base OWNER/NAME --data DIR --out my-model
    """
    if method == "grpo":
        if base is None:
            raise UserError("--method grpo starts from a chat model; name it with --base.")
        settings = GrpoSettings(base, steps, batch, generations, rate, lora, seed)
        train_matcher_grpo(data, out, settings, as_json)
        return
    if base is not None:
        raise UserError("--base is for --method grpo; the kernel method starts from nothing.")
    from personafit.benchmarks.recentering import open_relevance
    from personafit.models.embeddings import make_embedder
    from personafit.raters.fitted.kernel import KernelSettings, embed_pairs
    from personafit.training.matcher import fit_matcher, solve_pairs
    from personafit.training.matcher_card import card, write_matcher
    from personafit.training.matcher_quality import matcher_quality
    from personafit.training.relevance_data import load_judged_pairs

    benchmark = open_relevance(data)
    judged = load_judged_pairs(benchmark, hint)
    embedder = make_embedder()
    make_folder(out)
    hint(f"Fitting on {len(judged):,} pairs of {len(set(judged.prompts)):,} prompts ...")
    solved = solve_pairs(judged, embed_pairs(embedder, judged.texts), KernelSettings())
    fitted = fit_matcher(judged, solved)
    figures = matcher_quality(judged, solved, seed=seed, note=hint)
    try:
        write_matcher(out, fitted, figures, benchmark.info.name)
    except OSError as error:
        raise UserError(f"{out} cannot be written ({error.strerror}).") from error
    if as_json:
        print_json(benchmark.info.name, figure_results(figures, f"fitted:{out}", fitted.fingerprint))
        return
    print(card(fitted, figures, benchmark.info.name))
    print(f"Rater: fitted:{out}")
