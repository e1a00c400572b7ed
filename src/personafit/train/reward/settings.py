"""Settings of a training run, the three recipes of the PersonaFeedback paper's small reward models, and trainer arguments.

Weights are kept in full precision; computation is in half precision if the device supports it.
"""

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from personafit._errors import UserError
from personafit.models.reward import Layout as Layout

Preset = Literal["base", "helpsteer", "personal"]
"""A published recipe: no training, general pairs only, or personal and general pairs."""
EVALUATIONS = 5  # evaluations per run, and checkpoints
LOGS = 100
WARM_UP = 0.03  # share of the steps


@dataclass(frozen=True)
class Recipe:
    """One row of the paper's Table 6: which pairs are trained on, and the batch size."""

    batch: int
    personal: bool
    general: bool


RECIPES: dict[Preset, Recipe] = {
    "base": Recipe(batch=32, personal=False, general=False),
    "helpsteer": Recipe(batch=32, personal=False, general=True),
    "personal": Recipe(batch=64, personal=True, general=True),
}
"""`base` trains nothing: it is the base model with a new head, from which the others start."""


@dataclass(frozen=True)
class Mix:
    """A file of general pairs, and how many of them are used per personal pair."""

    path: Path
    ratio: float | None
    """None uses the whole file."""


@dataclass(frozen=True)
class RewardSettings:
    """All settings of a training run that affect its result."""

    base: str
    data: Path
    out: Path
    preset: Preset = "personal"
    mix: Mix | None = None
    swap: float = 0.0
    """Number of swapped pairs (one answer, two people) per personal pair."""
    lora: bool = False
    pack: Layout = "tree"
    epochs: float = 1.0
    batch: int = 64
    together: int | None = None
    """Most pairs of one person side by side; None keeps people whole as far as they fit into a batch."""
    rate: float = 1e-5
    max_tokens: int = 4096
    seed: int = 0
    limit: int | None = None
    held_out: float = 0.1
    report_to: str = "none"

    def as_dict(self) -> dict[str, object]:
        """Return the settings as plain values, without the output folder and the progress logger."""
        told = {
            name: value for name, value in asdict(self).items() if name not in ("out", "report_to", "mix")
        }
        told["data"] = str(self.data)
        told["mix"] = None if self.mix is None else [str(self.mix.path), self.mix.ratio]
        return told


def parse_mix(text: str) -> Mix:
    """Parse `FILE=RATIO`, or a file alone to use all of it."""
    path, _, ratio = text.rpartition("=")
    if not path:
        return Mix(Path(text), None)
    try:
        share = float(ratio)
    except ValueError:
        share = -1.0
    if not 0 < share < float("inf"):
        raise UserError(
            f"--mix {text}: the ratio must be a number above 0, as in helpsteer2.jsonl=0.36, not '{ratio}'."
        )
    return Mix(Path(path), share)


def processes() -> int:
    """Return the number of processes that the launcher started."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def is_first() -> bool:
    """Return whether this process reports and writes."""
    return os.environ.get("RANK", "0") == "0"


def check(settings: RewardSettings) -> None:
    """Raise `UserError` for incompatible options, before anything is loaded."""
    recipe = RECIPES[settings.preset]
    if recipe.general and not recipe.personal and settings.mix is None:
        raise UserError(
            f"--preset {settings.preset} trains on general pairs alone; name their file with --mix."
        )
    if settings.swap and not recipe.personal:
        raise UserError(
            f"--preset {settings.preset} trains on no personal pairs, so there is nobody to swap; leave --swap out."
        )
    from transformers.integrations import get_reporting_integration_callbacks

    try:
        for callback in get_reporting_integration_callbacks(settings.report_to):
            callback()
    except (ValueError, RuntimeError, ImportError) as error:
        raise UserError(f"--report-to {settings.report_to} cannot be used: {error}") from error


def training_arguments(settings: RewardSettings, folder: Path, pairs: int, evaluate: bool) -> Any:
    """Return the trainer's arguments for `pairs` pairs in all; checkpoints go to the folder."""
    import torch
    from transformers import TrainingArguments

    steps = max(1, -(-pairs // settings.batch))
    on_cpu = not (torch.cuda.is_available() or torch.backends.mps.is_available())
    arguments = TrainingArguments(
        output_dir=str(folder),
        learning_rate=settings.rate,
        lr_scheduler_type="cosine",
        warmup_steps=round(WARM_UP * steps),
        num_train_epochs=1,  # the data contains all epochs in sequence
        bf16=torch.cuda.is_available() and torch.cuda.is_bf16_supported(),
        gradient_checkpointing=True,
        gradient_checkpointing_kwargs={"use_reentrant": False},
        seed=settings.seed,
        logging_nan_inf_filter=False,
        logging_steps=max(1, steps // LOGS),
        save_strategy="steps",
        save_steps=max(1, steps // EVALUATIONS),
        save_total_limit=1,
        eval_strategy="steps" if evaluate else "no",
        eval_steps=max(1, steps // EVALUATIONS),
        remove_unused_columns=False,
        report_to=settings.report_to,
        disable_tqdm=True,
        dataloader_pin_memory=False,
        ddp_find_unused_parameters=False,
        use_cpu=on_cpu,  # without it, processes on a machine without a GPU do not find each other
        ddp_backend="gloo" if on_cpu and processes() > 1 else None,
    )
    if (found := arguments.world_size) != processes():  # each would train alone, into the same folder
        raise UserError(
            f"The launcher started {processes()} processes, but this one trains with {found}; check the launcher's settings."
        )
    if settings.batch % found:
        raise UserError(
            f"The default of {settings.batch} a step cannot be divided evenly among {found} processes; give --per-device-batch-size."
        )
    arguments.per_device_train_batch_size = settings.batch // found
    if arguments.n_gpu > 1:
        arguments._n_gpu = 1  # one device per process; several need a launcher
    return arguments
