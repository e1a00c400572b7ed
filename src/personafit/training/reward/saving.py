"""The trained weights as plain transformers reads them, whatever they were wrapped in while they were trained."""

import json
from pathlib import Path
from typing import Any

from personafit.training.reward.base import load_base, with_adapter
from personafit.training.reward.settings import RewardSettings

STATE = "trainer_state.json"  # written last: a checkpoint without it was cut short


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
