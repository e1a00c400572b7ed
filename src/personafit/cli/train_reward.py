"""`personafit train reward`: a persona-conditioned reward model from pairs, on one device or under a launcher."""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from personafit._errors import UserError
from personafit.cli.common import hint
from personafit.models.reward.layout import Layout
from personafit.training.reward.settings import RECIPES, Preset, RewardSettings, parse_mix

NEEDED = ("torch", "transformers", "accelerate", "peft")
NEEDS = "Training a reward model needs PyTorch and transformers: pip install 'personafit[train]'."


def reward(
    base: Annotated[
        str, typer.Option(help="Causal language model or reward model: a folder, OWNER/NAME, or a .gguf.")
    ],
    data: Annotated[
        Path,
        typer.Option(
            help="A benchmark folder, PersonaFeedback as published, starter, or pairs.jsonl in TRL's layout with a person."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder for the weights, personafit.json, card.md and curves.")],
    preset: Annotated[
        Preset,
        typer.Option(
            help="The paper's recipes: no training, general pairs alone, or personal pairs as well."
        ),
    ] = "personal",
    mix: Annotated[
        str | None,
        typer.Option(
            help="General pairs in HelpSteer2's layout as FILE=RATIO: so many to one personal pair; FILE for all."
        ),
    ] = None,
    swap: Annotated[
        float,
        typer.Option(
            help="So many pairs of one answer before two people, its own and another, for each personal pair; length says nothing in them."
        ),
    ] = 0.0,
    lora: Annotated[
        bool, typer.Option("--lora", help="Train an adapter and the head; merged at the end.")
    ] = False,
    adapter: Annotated[bool, typer.Option("--adapter", help="With --lora: do not merge.")] = False,
    pack: Annotated[
        Layout,
        typer.Option(
            help="What answers share is computed once (tree), or not: rows of whole texts, or padded."
        ),
    ] = "tree",
    epochs: Annotated[float | None, typer.Option(help="Times through the pairs; 1 unless given.")] = None,
    batch: Annotated[
        int | None,
        typer.Option(help="Pairs a step, over all processes; 64 unless given, 32 with --preset helpsteer."),
    ] = None,
    together: Annotated[
        int | None,
        typer.Option(
            help="Pairs of a person side by side in a batch: 1 shuffles all, which is slower; default whole people."
        ),
    ] = None,
    rate: Annotated[float | None, typer.Option(help="Highest learning rate; 1e-5 unless given.")] = None,
    max_tokens: Annotated[
        int | None, typer.Option(help="Longest text, person and question included; 4,096 unless given.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the head, the order and who is held out.")] = 0,
    limit: Annotated[int | None, typer.Option(help="Use at most so many pairs, of people drawn.")] = None,
    held_out: Annotated[float, typer.Option(help="Share of the people that are only measured on.")] = 0.1,
    report_to: Annotated[
        str, typer.Option(help="A logger of transformers besides curves.csv, such as tensorboard or wandb.")
    ] = "none",
) -> None:
    """Train a reward model on who chose what; the same command goes on where it was interrupted.

    **Examples**

        personafit train reward --base Qwen/Qwen2.5-0.5B-Instruct --data DIR --out my-reward

        torchrun --nproc-per-node 8 -m personafit train reward --base BASE --data DIR --mix helpsteer2.jsonl=0.36 --out my-reward
    """
    recipe = RECIPES[preset]
    settings = RewardSettings(
        base=base,
        data=data,
        out=out,
        preset=preset,
        mix=None if mix is None else parse_mix(mix),
        swap=swap,
        lora=lora,
        adapter=adapter,
        pack=pack,
        epochs=recipe.epochs if epochs is None else epochs,
        batch=recipe.batch if batch is None else batch,
        together=together,
        rate=recipe.rate if rate is None else rate,
        max_tokens=recipe.max_tokens if max_tokens is None else max_tokens,
        seed=seed,
        limit=limit,
        held_out=held_out,
        report_to=report_to,
    )
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        raise UserError(f"{NEEDS} (There is no {', '.join(missing)}.)")
    from personafit.training.reward.fitting import train_reward

    trained = train_reward(settings, hint)
    if os.environ.get("RANK", "0") == "0":
        print(trained.card)
        print(f"Rater: reward:{trained.folder}")
