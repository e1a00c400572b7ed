"""What can end a run from outside its steps, a full disk and too little memory, as a sentence that says what is kept."""

import contextlib
import errno
import shutil
from collections.abc import Iterator
from pathlib import Path

from personafit._errors import UserError
from personafit.training.reward.saving import STATE

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
TORCH_WRITES = ("inline_container", "PytorchStreamWriter")  # what torch names when a file comes out short


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
