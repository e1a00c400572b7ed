"""The model a training run starts from: a folder, a name on the hub or a GGUF file, with a score head and a token to pad."""

import logging as standard_logging
import textwrap
from pathlib import Path
from typing import Any

from personafit._errors import UserError
from personafit.training.reward.settings import ADAPTER, RewardSettings

RANK = 16  # of an adapter; its scale is twice that


def load_base(base: str, seed: int) -> tuple[Any, Any]:
    """Model and tokenizer; weights in full precision, a head drawn from the seed where there is none."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer, set_seed
    from transformers.utils import logging

    source, options = _source(base)
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    standard_logging.getLogger("huggingface_hub").setLevel(standard_logging.ERROR)  # each retry would be told
    set_seed(seed)
    try:
        tokenizer = AutoTokenizer.from_pretrained(source, **options)
        settings = {"num_labels": 1, "dtype": torch.float32, **options}
        if (Path(source) / ADAPTER).is_file():
            model = _merged(source, settings)
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


def _merged(folder: str, settings: dict[str, Any]) -> Any:
    """An adapter in its base, all of it to be trained: as it is loaded, only the score head would be."""
    from peft import AutoPeftModelForSequenceClassification

    model = AutoPeftModelForSequenceClassification.from_pretrained(folder, **settings)
    return model.merge_and_unload().requires_grad_(True)


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
    from peft import LoraConfig, TaskType, get_peft_model

    settings = LoraConfig(
        task_type=TaskType.SEQ_CLS, r=RANK, lora_alpha=2 * RANK, target_modules="all-linear", lora_dropout=0.0
    )
    return get_peft_model(model, settings)


def _source(base: str) -> tuple[str, dict[str, str]]:
    path = Path(base).expanduser()
    if path.suffix == ".gguf":
        if not path.is_file():
            raise UserError(f"--model {base}: there is no such file.")
        return str(path.parent), {"gguf_file": path.name}
    if path.is_dir():
        return str(path.resolve()), {}  # an adapter names its base, wherever it is loaded from
    if path.is_absolute() or base.startswith(".") or base.count("/") != 1:
        raise UserError(
            f"--model {base}: there is no such folder, and it is no OWNER/NAME on the hub either."
        )
    return base, {}
