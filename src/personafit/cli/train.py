"""`personafit train`: raters and reward models trained on human judgments."""

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from personafit._errors import UserError
from personafit.api.places import hint, trained_object
from personafit.cli.common import print_object
from personafit.cli.options import JsonOption
from personafit.train import RECIPES, Layout, Preset, RewardSettings, is_first, parse_mix, processes

if TYPE_CHECKING:
    from personafit.train import TrainedRater

app = typer.Typer(no_args_is_help=True, help="Train raters and reward models on human judgments.")

FOR_REWARD = ("torch", "transformers", "accelerate", "peft")
FOR_GRPO = (*FOR_REWARD, "datasets", "trl")

GRPO = "With --method grpo"
OutOption = Annotated[
    Path, typer.Option(metavar="DIR", help="Folder for the trained rater, quality.json and card.md.")
]
SeedOption = Annotated[int, typer.Option(metavar="N", help="Seed of the folds, or of what is held out.")]
LEAST_RATE = 1e-9


def _show(trained: "TrainedRater", as_json: bool = False, used_as: str = "Rater") -> None:
    """Print the card of a trained rater, or its figures as JSON."""
    if not as_json:
        print(trained.card)
        print(f"{used_as}: {trained.rater}")
        return
    print_object(trained_object(trained))


@app.command("pairwise")
def pairwise(
    data: Annotated[
        Path,
        typer.Option(metavar="DIR", help="A benchmark folder, PersonaFeedback as published, or starter."),
    ],
    out: OutOption,
    seed: SeedOption = 0,
) -> None:
    """Fit a small CPU rater on human choices, and measure it on held-out people.

    **Example**

        personafit train pairwise --data starter --out my-rater && personafit run starter --rater fitted:my-rater
    """
    from personafit.train import train_pairwise

    _show(train_pairwise(data, out, seed, hint))


@app.command("matcher")
def matcher(
    data: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="A folder with relevance.jsonl as published, a benchmark folder with relevance items, or starter.",
        ),
    ],
    out: OutOption,
    method: Annotated[
        Literal["kernel", "grpo"],
        typer.Option(help="kernel: a small model on the CPU. grpo: a language model, on a GPU."),
    ] = "kernel",
    model: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL", rich_help_panel=GRPO, help="Chat model to start from: a folder or OWNER/NAME."
        ),
    ] = None,
    max_steps: Annotated[
        int, typer.Option(min=1, metavar="N", rich_help_panel=GRPO, help="Number of optimizer steps.")
    ] = 200,
    per_device_batch_size: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            rich_help_panel=GRPO,
            help="Prompts per step on each process; default 16 in all, divided by the number of processes.",
        ),
    ] = None,
    num_generations: Annotated[
        int, typer.Option(min=2, metavar="N", rich_help_panel=GRPO, help="Completions sampled per prompt.")
    ] = 8,
    learning_rate: Annotated[
        float | None,
        typer.Option(
            min=LEAST_RATE, max=1, metavar="X", rich_help_panel=GRPO, help="Default 1e-6; with --lora 1e-5."
        ),
    ] = None,
    lora: Annotated[
        bool, typer.Option("--lora", rich_help_panel=GRPO, help="Train an adapter, merged at the end.")
    ] = False,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Train a rater that says which attributes matter for a prompt, and measure it on held-out prompts.

    **Examples**

        personafit train matcher --data starter --out my-matcher && personafit run recentering --data starter --rater fitted:my-matcher

        personafit train matcher --method grpo --model OWNER/NAME --data DIR --out my-model
    """
    if method == "kernel":
        if model is not None:
            raise UserError("--model is for --method grpo; the kernel method starts from nothing.")
        from personafit.train import train_matcher

        _show(train_matcher(data, out, seed, hint), as_json)
        return
    if model is None:
        raise UserError("--method grpo starts from a chat model; name it with --model.")
    if missing := [name for name in FOR_GRPO if find_spec(name) is None]:
        raise UserError(
            f"--method grpo needs {', '.join(missing)}, which pip install 'personafit[train]' trl datasets brings."
        )
    from personafit.train import GrpoSettings, train_grpo

    batch = GrpoSettings.batch if per_device_batch_size is None else per_device_batch_size * processes()
    settings = GrpoSettings(model, max_steps, batch, num_generations, learning_rate, lora, seed)
    trained = train_grpo(data, out, settings, hint if is_first() else lambda _: None)
    if is_first():
        _show(trained, as_json)


@app.command("preference")
def preference(
    data: Annotated[
        Path, typer.Option(metavar="DIR", help="A benchmark folder with rated preference items, or starter.")
    ],
    out: OutOption,
    seed: SeedOption = 0,
) -> None:
    """Fit a small CPU rater on people's ratings from 1 to 5, and measure it on held-out prompts and people.

    **Example**

        personafit train preference --data starter --out my-head && personafit run responses --data starter --rater fitted:my-head
    """
    from personafit.train import train_preference

    _show(train_preference(data, out, seed, hint))


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
        Path,
        typer.Option(metavar="DIR", help="Folder for the weights, personafit.json, card.md and curves.csv."),
    ],
    preset: Annotated[
        Preset,
        typer.Option(
            metavar="NAME",
            help="Recipe of the PersonaFeedback paper: base (no training), helpsteer (general pairs only) or personal "
            "(personal pairs as well).",
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
            min=0,
            metavar="RATIO",
            help="Add RATIO swapped pairs per personal pair: one answer, read for its own person and for another.",
        ),
    ] = 0.0,
    lora: Annotated[
        bool, typer.Option("--lora", help="Train an adapter and the head, merged at the end.")
    ] = False,
    pack: Annotated[
        Layout,
        typer.Option(
            metavar="NAME",
            help="tree computes shared prefixes once; sequence packs whole texts; none pads.",
        ),
    ] = "tree",
    num_train_epochs: Annotated[
        float, typer.Option(min=0.001, metavar="X", help="Passes over the pairs.")
    ] = 1.0,
    per_device_batch_size: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Pairs per step on each process; a step takes N times the number of processes. Default 64 in all (32 with "
            "--preset helpsteer), divided by the number of processes.",
        ),
    ] = None,
    together: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Keep N pairs of one person together in a batch; default all. 1 shuffles freely, which is slower.",
        ),
    ] = None,
    learning_rate: Annotated[
        float, typer.Option(min=LEAST_RATE, max=1, metavar="X", help="Peak learning rate.")
    ] = 1e-5,
    max_length: Annotated[
        int, typer.Option(min=16, metavar="N", help="Maximum tokens per text, person and question included.")
    ] = 4096,
    seed: Annotated[
        int, typer.Option(metavar="N", help="Seed of the head, the order and the held-out people.")
    ] = 0,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Use at most N pairs, of sampled people.")
    ] = None,
    held_out: Annotated[
        float, typer.Option(min=0, max=0.99, metavar="X", help="Share of the people held out for evaluation.")
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
    settings = RewardSettings(
        base=model,
        data=data,
        out=out,
        preset=preset,
        mix=None if mix is None else parse_mix(mix),
        swap=swap,
        lora=lora,
        pack=pack,
        epochs=num_train_epochs,
        batch=RECIPES[preset].batch if per_device_batch_size is None else per_device_batch_size * processes(),
        together=together,
        rate=learning_rate,
        max_tokens=max_length,
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
    from personafit.train import train_reward

    trained = train_reward(settings, hint)
    if is_first():
        print(trained.card)
        print(f"Rater: reward:{trained.folder}")


@app.command("verifier")
def verifier(
    data: Annotated[
        str,
        typer.Option(metavar="DIR", help="starter, or a folder with conversations.jsonl and labels.jsonl."),
    ],
    out: OutOption,
    as_json: JsonOption = False,
) -> None:
    """Fit a verifier on labelled statements about people, and measure it on held-out people.

    **Examples**

        personafit train verifier --data starter --out my-verifier

        personafit extract run chats.jsonl --model SPEC --verifier fitted:my-verifier --out people
    """
    from personafit.train import train_verifier

    _show(train_verifier(data, out, hint), as_json, "Verifier")
