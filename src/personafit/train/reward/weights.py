"""Weights of a training run: load the base model with a score head and a pad token, and save the trained one.

The base is a folder, a name on the hub or a GGUF file; the result can be loaded by plain transformers.
"""

import logging as standard_logging
import textwrap
from pathlib import Path
from typing import Any

from personafit._errors import UserError
from personafit.models import Spec
from personafit.models.weights import source_of
from personafit.train.reward.settings import RewardSettings

ADAPTER = "adapter_config.json"  # peft's file name; a folder with it is an adapter
RANK = 16  # rank of an adapter; its alpha is twice that


def load_base(base: str, seed: int) -> tuple[Any, Any]:
    """Return model and tokenizer, in full precision; a missing score head is initialised from the seed."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer, set_seed
    from transformers.utils import logging

    path, options = Path(base).expanduser(), {}
    if path.suffix == ".gguf" and path.is_file():
        source, options = str(path.parent), {"gguf_file": path.name}
    else:
        source = source_of(Spec(f"--model {base}", "hf", base))
    if Path(source).is_dir():
        source = str(Path(source).resolve())  # an adapter stores this path of its base
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    standard_logging.getLogger("huggingface_hub").setLevel(standard_logging.ERROR)  # retries are warnings
    set_seed(seed)
    try:
        tokenizer = AutoTokenizer.from_pretrained(source, **options)
        settings = {"num_labels": 1, "dtype": torch.float32, **options}
        if (Path(source) / ADAPTER).is_file():
            from peft import AutoPeftModelForSequenceClassification

            # Merged into its base with all weights trainable: as loaded, only the score head would be.
            adapted = AutoPeftModelForSequenceClassification.from_pretrained(source, **settings)
            model = adapted.merge_and_unload().requires_grad_(True)
        else:
            model = AutoModelForSequenceClassification.from_pretrained(source, **settings)
    except Exception as error:  # files from elsewhere can make the libraries raise anything
        said = textwrap.shorten(str(error), 200, placeholder=" ...")
        raise UserError(f"--model {base}: it cannot be loaded with a score head ({said}).") from error
    if "gguf_file" in options:
        model = _unmarked(model)
    if not hasattr(model, "score"):
        name = type(model).__name__
        raise UserError(
            f"--model {base}: {name} has no score head on a decoder; give a causal language model."
        )
    model.config.pad_token_id = model.config.get_text_config().pad_token_id = pad_token(tokenizer, base)
    return model, tokenizer


def refuse_unreadable(model: Any, longest: int, highest: int, settings: RewardSettings) -> None:
    """Raise `UserError` for texts longer than the model's positions, or tokens without embeddings."""
    known = model.get_input_embeddings().weight.shape[0]
    if highest >= known:
        raise UserError(
            f"--model {settings.base}: its tokenizer makes token {highest:,} and its weights know {known:,} tokens; they do "
            "not belong together."
        )
    positions = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    if positions and longest > positions:
        raise UserError(
            f"--model {settings.base} was made for {positions:,} tokens and the longest text has {longest:,}; give --max-length "
            f"{positions}."
        )


def _unmarked(model: Any) -> Any:
    """Return the same weights in a model not marked as quantised, since marked models cannot be trained."""
    from transformers import AutoModelForSequenceClassification

    config = model.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    fresh = AutoModelForSequenceClassification.from_config(config, dtype=model.dtype)
    fresh.load_state_dict(model.state_dict())
    return fresh


def pad_token(tokenizer: Any, base: str) -> int:
    """Set and return a pad token that never ends an answer, as plain transformers locates the end of an answer by it."""
    ends = tokenizer.eos_token_id
    if getattr(tokenizer, "chat_template", None):
        turns = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
        text = tokenizer.apply_chat_template(turns, tokenize=False)
        ends = tokenizer(text, add_special_tokens=False)["input_ids"][-1]
    known = [tokenizer.pad_token_id, tokenizer.eos_token_id, tokenizer.unk_token_id, tokenizer.bos_token_id]
    added = [number for number, token in sorted(tokenizer.added_tokens_decoder.items()) if token.special]
    for candidate in [*known, *added]:
        if candidate is not None and candidate != ends:
            tokenizer.pad_token_id = candidate
            return int(candidate)
    raise UserError(
        f"--model {base}: its tokenizer has no token to pad with that does not also end an answer; give it a pad token."
    )


def lora_config(task: str) -> Any:
    """Return the config of a low-rank adapter on every linear layer."""
    from peft import LoraConfig

    return LoraConfig(
        task_type=task, r=RANK, lora_alpha=2 * RANK, target_modules="all-linear", lora_dropout=0.0
    )


def with_adapter(model: Any) -> Any:
    """Return the model with an adapter; its score head is trained in full."""
    from peft import get_peft_model

    return get_peft_model(model, lora_config("SEQ_CLS"))


def save_weights(trainer: Any, tokenizer: Any, settings: RewardSettings) -> None:
    """Write model and tokenizer; an adapter is merged into its base."""
    accelerator = trainer.accelerator
    state = accelerator.get_state_dict(trainer.model) if trainer.is_fsdp_enabled else None
    if trainer.args.process_index != 0:
        return
    if state is None:
        model = accelerator.unwrap_model(trainer.model)
    else:  # sharded weights cannot be merged or saved in place
        model, _ = load_base(settings.base, settings.seed)
        model = with_adapter(model) if settings.lora else model
        model.load_state_dict(state)
    if settings.lora:
        model = model.merge_and_unload()
    model.save_pretrained(settings.out)
    tokenizer.save_pretrained(settings.out)
