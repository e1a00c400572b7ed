"""The weights a training run starts from (a folder, a name on the hub or a GGUF file, with a score head and a token to pad), and the
trained ones as plain transformers reads them.
"""

import logging as standard_logging
import textwrap
from pathlib import Path
from typing import Any

from personafit._errors import UserError
from personafit.models import Spec
from personafit.models.weights import source_of
from personafit.train.reward.settings import RewardSettings

ADAPTER = "adapter_config.json"  # what peft calls it; a folder with it is an adapter
RANK = 16  # of an adapter; its scale is twice that


def load_base(base: str, seed: int) -> tuple[Any, Any]:
    """Model and tokenizer; weights in full precision, a head drawn from the seed where there is none."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer, set_seed
    from transformers.utils import logging

    path, options = Path(base).expanduser(), {}
    if path.suffix == ".gguf" and path.is_file():
        source, options = str(path.parent), {"gguf_file": path.name}
    else:
        source = source_of(Spec(f"--model {base}", "hf", base))
    if Path(source).is_dir():
        source = str(Path(source).resolve())  # an adapter names its base, wherever it is loaded from
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    standard_logging.getLogger("huggingface_hub").setLevel(standard_logging.ERROR)  # each retry would be told
    set_seed(seed)
    try:
        tokenizer = AutoTokenizer.from_pretrained(source, **options)
        settings = {"num_labels": 1, "dtype": torch.float32, **options}
        if (Path(source) / ADAPTER).is_file():
            from peft import AutoPeftModelForSequenceClassification

            # Merged into its base and all of it to be trained: as it is loaded, only the score head would be.
            adapted = AutoPeftModelForSequenceClassification.from_pretrained(source, **settings)
            model = adapted.merge_and_unload().requires_grad_(True)
        else:
            model = AutoModelForSequenceClassification.from_pretrained(source, **settings)
    except Exception as error:  # what others' files make the libraries raise has no common kind
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
    """Refuse texts that the model has no positions for, and tokens it has no embeddings for."""
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
    """The same weights in a model of which nothing says that it came from a quantised file; such are not trained."""
    from transformers import AutoModelForSequenceClassification

    config = model.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    fresh = AutoModelForSequenceClassification.from_config(config, dtype=model.dtype)
    fresh.load_state_dict(model.state_dict())
    return fresh


def pad_token(tokenizer: Any, base: str) -> int:
    """A token to pad with that never ends an answer; where an answer ends is found by it in plain transformers."""
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


def with_adapter(model: Any) -> Any:
    """The model with an adapter of low rank on every linear layer, and its score head trained in full."""
    from peft import LoraConfig, get_peft_model

    adapter = LoraConfig(
        task_type="SEQ_CLS", r=RANK, lora_alpha=2 * RANK, target_modules="all-linear", lora_dropout=0.0
    )
    return get_peft_model(model, adapter)


def save_weights(trainer: Any, tokenizer: Any, settings: RewardSettings) -> None:
    """Write model and tokenizer; an adapter is merged into its base."""
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
    if settings.lora:
        model = model.merge_and_unload()
    model.save_pretrained(settings.out)
    tokenizer.save_pretrained(settings.out)
