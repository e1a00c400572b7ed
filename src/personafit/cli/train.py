"""`personafit train`: raters and reward models trained on human judgments."""

import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from personafit._errors import UserError
from personafit.cli.common import hint, print_json
from personafit.cli.options import JsonOption
from personafit.models.reward import Layout
from personafit.reporting import Result
from personafit.training.fits import (
    fit_matcher_rater,
    fit_pairwise_rater,
    fit_preference_rater,
    fit_verifier_rater,
)
from personafit.training.grpo_settings import GrpoSettings, Method, processes
from personafit.training.reward.settings import RECIPES, Preset, RewardSettings, parse_mix

if TYPE_CHECKING:
    from personafit.training.cards import QualityMetric

app = typer.Typer(no_args_is_help=True, help="Train raters and reward models on human judgments.")

FOR_REWARD = ("torch", "transformers", "accelerate", "peft")
FOR_GRPO = (*FOR_REWARD, "datasets", "trl")

GRPO = "With --method grpo"


@app.command("pairwise")
def pairwise(
    data: Annotated[
        Path,
        typer.Option(metavar="DIR", help="A benchmark folder, PersonaFeedback as published, or starter."),
    ],
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for fitted.json, quality.json and card.md.")
    ],
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the cross-validation folds.")] = 0,
) -> None:
    """Fit a small CPU rater on human choices, and measure it on held-out people.

    **Example**

        personafit train pairwise --data starter --out my-rater && personafit run starter --rater fitted:my-rater
    """
    print(fit_pairwise_rater(data, out, seed, hint).card)
    print(f"Rater: fitted:{out}")


@app.command("matcher")
def matcher(
    data: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="A folder with relevance.jsonl as published, a benchmark folder with relevance items, or starter.",
        ),
    ],
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for the trained rater, quality.json and card.md.")
    ],
    method: Annotated[
        Method,
        typer.Option(help="kernel: a small model on the CPU. grpo: a language model, on a GPU."),
    ] = "kernel",
    model: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL", rich_help_panel=GRPO, help="Chat model to start from: a folder or OWNER/NAME."
        ),
    ] = None,
    max_steps: Annotated[
        int, typer.Option(metavar="N", rich_help_panel=GRPO, help="Number of optimizer steps.")
    ] = 200,
    per_device_batch_size: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            rich_help_panel=GRPO,
            help="Prompts per step on each process; default 16 in all, divided by the number of processes.",
        ),
    ] = None,
    num_generations: Annotated[
        int, typer.Option(metavar="N", rich_help_panel=GRPO, help="Completions sampled per prompt.")
    ] = 8,
    learning_rate: Annotated[
        float | None,
        typer.Option(metavar="X", rich_help_panel=GRPO, help="Default 1e-6; with --lora 1e-5."),
    ] = None,
    lora: Annotated[
        bool, typer.Option("--lora", rich_help_panel=GRPO, help="Train an adapter, merged at the end.")
    ] = False,
    seed: Annotated[
        int, typer.Option(metavar="N", help="Seed of the folds, or of the held-out prompts.")
    ] = 0,
    as_json: JsonOption = False,
) -> None:
    """Train a rater of which attributes matter for a prompt, and measure it on held-out prompts.

    **Examples**

        personafit train matcher --data starter --out my-matcher && personafit run recentering --data starter --rater fitted:my-matcher

        personafit train matcher --method grpo --model OWNER/NAME --data DIR --out my-model
    """
    if method == "grpo":
        if model is None:
            raise UserError("--method grpo starts from a chat model; name it with --model.")
        batch = GrpoSettings.batch if per_device_batch_size is None else per_device_batch_size * processes()
        _train_grpo(
            data,
            out,
            GrpoSettings(model, max_steps, batch, num_generations, learning_rate, lora, seed),
            as_json,
        )
        return
    if model is not None:
        raise UserError("--model is for --method grpo; the kernel method starts from nothing.")
    fitted = fit_matcher_rater(data, out, seed, hint)
    if as_json:
        print_json(fitted.source, _figure_results(fitted.figures, f"fitted:{out}", fitted.fingerprint))
        return
    print(fitted.card)
    print(f"Rater: fitted:{out}")


def _train_grpo(data: Path, out: Path, settings: GrpoSettings, as_json: bool) -> None:
    """Train a matcher by GRPO, and print its card or its figures."""
    if missing := [name for name in FOR_GRPO if find_spec(name) is None]:
        raise UserError(
            f"--method grpo needs {', '.join(missing)}, which pip install 'personafit[train]' trl datasets brings."
        )
    from personafit.benchmarks.recentering import open_relevance
    from personafit.training.matcher import load_judged_pairs
    from personafit.training.matcher_grpo import train_grpo

    benchmark = open_relevance(data)
    first = os.environ.get("RANK", "0") == "0"
    say = hint if first else lambda _: None
    judged = load_judged_pairs(benchmark, say, most=None)
    trained = train_grpo(judged, benchmark.info.name, settings, out, say)
    if not first:
        return
    if as_json:
        print_json(benchmark.info.name, _figure_results(trained.figures, trained.rater, trained.fingerprint))
    else:
        print(trained.card)
        print(f"Rater: {trained.rater}")


def _figure_results(figures: "Sequence[QualityMetric]", rater: str, fingerprint: str) -> list[Result]:
    """The figures of a fitted rater as results."""
    return [
        Result.of(
            figure.estimate,
            metric=figure.metric,
            rater=rater,
            slice={"split": figure.split}
            | ({} if figure.repeat is None else {"repeat": str(figure.repeat + 1)}),
            control=figure.control,
            fingerprint=fingerprint if figure.control is None else None,
        )
        for figure in figures
    ]


@app.command("preference")
def preference(
    data: Annotated[
        Path, typer.Option(metavar="DIR", help="A benchmark folder with rated preference items, or starter.")
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the head, quality.json and card.md.")],
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the cross-validation folds.")] = 0,
) -> None:
    """Fit a small CPU rater on people's ratings from 1 to 5, and measure it on held-out prompts and people.

    **Example**

        personafit train preference --data starter --out my-head && personafit run responses --data starter --rater fitted:my-head
    """
    print(fit_preference_rater(data, out, seed, hint).card)
    print(f"Rater: fitted:{out}")


@app.command("reward")
def reward(
    model: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help="Causal language model or reward model to start from: a folder, OWNER/NAME, or a .gguf.",
        ),
    ],
    data: Annotated[
        Path,
        typer.Option(
            metavar="DIR|FILE",
            help="A benchmark folder, PersonaFeedback as published, starter, or pairs.jsonl in TRL's layout with a person.",
        ),
    ],
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for the weights, personafit.json, card.md and curves.")
    ],
    preset: Annotated[
        Preset,
        typer.Option(
            help="Recipe of the PersonaFeedback paper: no training, general pairs only, or personal pairs as well."
        ),
    ] = "personal",
    mix: Annotated[
        str | None,
        typer.Option(
            metavar="FILE[=RATIO]",
            help="General pairs in HelpSteer2's layout, RATIO of them per personal pair; without RATIO all.",
        ),
    ] = None,
    swap: Annotated[
        float,
        typer.Option(
            metavar="RATIO",
            help="Add RATIO swapped pairs per personal pair: one answer before its own person and another, so that length is uninformative.",
        ),
    ] = 0.0,
    lora: Annotated[
        bool, typer.Option("--lora", help="Train an adapter and the head, merged at the end.")
    ] = False,
    adapter: Annotated[bool, typer.Option("--adapter", help="With --lora: keep the adapter apart.")] = False,
    pack: Annotated[
        Layout,
        typer.Option(help="tree computes shared prefixes once; sequence packs whole texts; none pads."),
    ] = "tree",
    num_train_epochs: Annotated[
        float | None, typer.Option(metavar="X", help="Passes over the pairs; default 1.")
    ] = None,
    per_device_batch_size: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Pairs per step on each process; a step takes N times the number of processes. Default 64 in all (32 with "
            "--preset helpsteer), divided by the number of processes.",
        ),
    ] = None,
    together: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Pairs of one person kept together in a batch: 1 shuffles all, which is slower; default all of them.",
        ),
    ] = None,
    learning_rate: Annotated[
        float | None, typer.Option(metavar="X", help="Peak learning rate; default 1e-5.")
    ] = None,
    max_length: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Maximum tokens per text, person and question included; default 4096."
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(metavar="N", help="Seed of the head, the order and the held-out people.")
    ] = 0,
    limit: Annotated[
        int | None, typer.Option(metavar="N", help="Use at most N pairs, of sampled people.")
    ] = None,
    held_out: Annotated[
        float, typer.Option(metavar="X", help="Share of the people held out for evaluation.")
    ] = 0.1,
    report_to: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="A transformers logger besides curves.csv, such as tensorboard or wandb."
        ),
    ] = "none",
) -> None:
    """Train a persona-conditioned reward model on pairs; the same command resumes. Works under torchrun and accelerate.

    **Examples**

        personafit train reward --model Qwen/Qwen2.5-0.5B-Instruct --data DIR --out my-reward

        torchrun --nproc-per-node 8 -m personafit train reward --model MODEL --data DIR --mix helpsteer2.jsonl=0.36 --out my-reward
    """
    recipe = RECIPES[preset]
    settings = RewardSettings(
        base=model,
        data=data,
        out=out,
        preset=preset,
        mix=None if mix is None else parse_mix(mix),
        swap=swap,
        lora=lora,
        adapter=adapter,
        pack=pack,
        epochs=recipe.epochs if num_train_epochs is None else num_train_epochs,
        batch=recipe.batch if per_device_batch_size is None else per_device_batch_size * processes(),
        together=together,
        rate=recipe.rate if learning_rate is None else learning_rate,
        max_tokens=recipe.max_tokens if max_length is None else max_length,
        seed=seed,
        limit=limit,
        held_out=held_out,
        report_to=report_to,
    )
    if missing := [name for name in FOR_REWARD if find_spec(name) is None]:
        raise UserError(
            "Training a reward model needs PyTorch and transformers: pip install 'personafit[train]'. "
            f"(There is no {', '.join(missing)}.)"
        )
    from personafit.training.reward.fitting import train_reward

    trained = train_reward(settings, hint)
    if os.environ.get("RANK", "0") == "0":
        print(trained.card)
        print(f"Rater: reward:{trained.folder}")


@app.command("verifier")
def verifier(
    data: Annotated[
        str,
        typer.Option(metavar="DIR", help="starter, or a folder with conversations.jsonl and labels.jsonl."),
    ],
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for fitted.json, quality.json and card.md.")
    ],
    rater: Annotated[
        list[str] | None,
        typer.Option(metavar="SPEC", help="A model to compare with, as a prompted verifier. Repeatable."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Ask models about a sample of N statements.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the sample.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Fit a verifier on labelled statements about people, and measure it on held-out people.

    **Examples**

        personafit train verifier --data starter --out my-verifier

        personafit train verifier --data DIR --out my-verifier --rater openai:gpt-4.1-mini --limit 200

        personafit extract run chats.jsonl --model SPEC --verifier fitted:my-verifier --out people
    """
    if limit is not None and not rater:
        raise UserError("--limit is about models: name one with --rater.")
    fitted = fit_verifier_rater(data, out, rater or (), limit, seed, hint)
    if as_json:
        print_json(fitted.source, _figure_results(fitted.figures, f"fitted:{out}", fitted.fingerprint))
        return
    print(fitted.card)
    print(f"Verifier: fitted:{out}")
