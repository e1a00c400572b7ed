"""The trained weights as plain transformers reads them, and what can end a run from outside its steps, a full disk and too little memory,
as a sentence that says what is kept.
"""

import contextlib
import errno
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from personafit._errors import UserError
from personafit.training.reward.base import load_base, with_adapter
from personafit.training.reward.settings import RewardSettings

STATE = "trainer_state.json"  # written last: a checkpoint without it was cut short
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
TORCH_WRITES = ("inline_container", "PytorchStreamWriter")  # what torch names when a file comes out short


def save_weights(trainer: Any, tokenizer: Any, settings: RewardSettings) -> None:
    """Write model and tokenizer; an adapter is merged into its base unless it is to stay apart."""
    accelerator = trainer.accelerator
    state = accelerator.get_state_dict(trainer.model) if trainer.is_fsdp_enabled else None
    if trainer.args.process_index != 0:
        return
    if state is None:
        model = accelerator.unwrap_model(trainer.model)
    else:  # what is sharded cannot be merged or saved in place
        model, _ = load_base(settings.base, settings.seed)
        model = with_adapter(model) if settings.lora else model
        model.load_state_dict(state)
    if settings.lora and not settings.adapter:
        model = model.merge_and_unload()
    model.save_pretrained(settings.out)
    tokenizer.save_pretrained(settings.out)


def last_checkpoint(folder: Path) -> Path | None:
    """The latest checkpoint that was written to its end."""
    found = {}
    for path in folder.glob("checkpoint-*"):
        try:
            found[int(json.loads((path / STATE).read_text(encoding="utf-8"))["global_step"])] = path
        except (OSError, ValueError, KeyError):
            continue
    return found[max(found)] if found else None


@contextlib.contextmanager
def explained(out: Path, checkpoints: Path) -> Iterator[None]:
    """Run, and turn a full disk or memory that ran out into a sentence; a checkpoint cut short makes room."""
    from safetensors import SafetensorError

    from personafit.models.reward.scoring import out_of_memory

    try:
        yield
    except (OSError, RuntimeError, MemoryError, SafetensorError) as error:
        if out_of_memory(error):
            raise UserError(
                "Memory ran out for the weights and what the optimiser keeps beside them, which shorter rows do not help; the "
                "checkpoints are kept. Train an adapter (--lora, in another --out) or use a larger device.",
                code=1,
            ) from error
        if not _cut_short(error):
            raise
        free = shutil.disk_usage(out).free / 1e6
        for folder in checkpoints.glob("checkpoint-*"):
            if not (folder / STATE).is_file():
                shutil.rmtree(folder, ignore_errors=True)
        raise UserError(
            f"{out} could not be written, where {free:,.1f} MB were left; make room, and the same command goes on from the "
            f"last whole checkpoint. ({' '.join(str(error).split())[:200]})",
            code=1,
        ) from error


def _cut_short(error: Exception) -> bool:
    if isinstance(error, OSError):
        return error.errno in FULL
    said = str(error)
    return any(name in said for name in TORCH_WRITES) or any(f"os error {number})" in said for number in FULL)
