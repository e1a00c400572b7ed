"""The standard trainer's settings for a run: full precision held, half precision computed where the device has it."""

import os
from pathlib import Path
from typing import Any

from personafit._errors import UserError
from personafit.training.reward.settings import RewardSettings

EVALUATIONS = 5
CHECKPOINTS = 10
LOGS = 100
WARM_UP = 0.03  # of the steps


def refuse_unusable_logger(name: str) -> None:
    """Refuse a logger that transformers does not know or whose library is not installed, before anything is loaded."""
    from transformers.integrations import get_reporting_integration_callbacks

    try:
        for callback in get_reporting_integration_callbacks(name):
            callback()
    except (ValueError, RuntimeError, ImportError) as error:
        raise UserError(f"--report-to {name} cannot be used: {error}") from error


def training_arguments(settings: RewardSettings, folder: Path, pairs: int, evaluate: bool) -> Any:
    """The settings for so many pairs in all; checkpoints go to the folder."""
    import torch
    from transformers import TrainingArguments

    steps = max(1, -(-pairs // settings.batch))
    on_cpu = not (torch.cuda.is_available() or torch.backends.mps.is_available())
    launched = int(os.environ.get("WORLD_SIZE", "1"))
    arguments = TrainingArguments(
        output_dir=str(folder),
        learning_rate=settings.rate,
        lr_scheduler_type="cosine",
        warmup_steps=round(WARM_UP * steps),
        num_train_epochs=1,  # the data holds all epochs one after the other
        bf16=torch.cuda.is_available() and torch.cuda.is_bf16_supported(),
        gradient_checkpointing=True,
        gradient_checkpointing_kwargs={"use_reentrant": False},
        seed=settings.seed,
        logging_nan_inf_filter=False,
        logging_steps=max(1, steps // LOGS),
        save_strategy="steps",
        save_steps=max(1, steps // CHECKPOINTS),
        save_total_limit=1,
        eval_strategy="steps" if evaluate else "no",
        eval_steps=max(1, steps // EVALUATIONS),
        remove_unused_columns=False,
        report_to=settings.report_to,
        disable_tqdm=True,
        dataloader_pin_memory=False,
        ddp_find_unused_parameters=False,
        use_cpu=on_cpu,  # without it, processes on a machine without a GPU do not find each other
        ddp_backend="gloo" if on_cpu and launched > 1 else None,
    )
    processes = arguments.world_size
    if processes != launched:  # each would train alone, into one folder
        raise UserError(
            f"The launcher started {launched} processes, but this one trains with {processes}; check the launcher's settings."
        )
    if settings.batch % processes:
        raise UserError(
            f"The default of {settings.batch} a step cannot be divided evenly among {processes} processes; give --per-device-batch-size."
        )
    arguments.per_device_train_batch_size = settings.batch // processes
    if arguments.n_gpu > 1:
        arguments._n_gpu = 1  # one process uses one device; several are for launchers
    return arguments
