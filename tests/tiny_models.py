"""Tiny random models of many families with a score head, and a tokenizer that knows every byte."""

from pathlib import Path
from typing import Any

import numpy as np

FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("LlamaConfig", {}),
    "smollm": (
        "LlamaConfig",
        {"num_attention_heads": 6, "num_key_value_heads": 3, "tie_word_embeddings": True},
    ),
    "qwen2": ("Qwen2Config", {}),
    "qwen3": ("Qwen3Config", {}),
    "mistral": ("MistralConfig", {"sliding_window": 16}),
    "gemma": ("GemmaConfig", {}),
    "gemma2": ("Gemma2Config", {"sliding_window": 16}),
    "gemma3": ("Gemma3TextConfig", {"sliding_window": 16}),
}
CHAT = (
    "{% for turn in messages %}<|{{ turn['role'] }}|>{{ turn['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def tiny_model(family: str = "qwen2", vocabulary: int = 300, seed: int = 1) -> Any:
    """A model with three small layers whose scores differ clearly from text to text."""
    import torch
    import transformers

    torch.set_num_threads(1)  # for work this small more threads only wait for each other
    name, own = FAMILIES[family]
    settings = {
        "vocab_size": vocabulary,
        "hidden_size": 48 if family == "smollm" else 32,
        "intermediate_size": 64,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "num_labels": 1,
        "pad_token_id": 0,
        "max_position_embeddings": 8192,
        **own,
    }
    config = getattr(transformers, name)(**settings)
    torch.manual_seed(seed)
    model = transformers.AutoModelForSequenceClassification.from_config(
        config, dtype=torch.float32, attn_implementation="eager"
    )
    for parameter in model.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.2)
    return model.eval()


def tiny_tokenizer(chat: str | None = CHAT, pad: str | None = "<pad>", bos: str | None = None) -> Any:
    """Every byte is a token; pad, end and beginning as asked for."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    special = ["<pad>", "<eos>", "<bos>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>"]
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: number for number, token in enumerate([*special, *letters])}
    plain = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    plain.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    plain.decoder = decoders.ByteLevel()
    plain.add_special_tokens(special[:2] + ([bos] if bos else []) + special[3:])
    names = {"pad_token": pad, "eos_token": "<eos>", "bos_token": bos}
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=plain, **{name: token for name, token in names.items() if token}
    )
    tokenizer.chat_template = chat
    return tokenizer


def save_tiny(folder: Path, family: str = "qwen2", **tokenizer: Any) -> Path:
    """A model folder as training starts from."""
    tiny_model(family).save_pretrained(folder)
    tiny_tokenizer(**tokenizer).save_pretrained(folder)
    return folder


def trees(people: int = 3, questions: int = 4, seed: int = 0) -> list[list[int]]:
    """Token sequences of people, their questions and two answers each, two and two of a pair."""
    random = np.random.default_rng(seed)

    def tokens(count: int) -> list[int]:
        drawn: list[int] = random.integers(5, 260, count).tolist()
        return drawn

    sequences = []
    for person in range(people):
        profile = tokens(30 + person)
        for question in range(questions):
            asked = profile + tokens(5 + question)
            sequences += [asked + tokens(8 + question), asked + tokens(11)]
    return sequences


def save_tiny_gguf(path: Path) -> Path:
    """The same kind of model as a GGUF file, as llama.cpp would write it."""
    from gguf import GGUFWriter, TokenType

    random = np.random.default_rng(0)
    tokenizer = tiny_tokenizer()
    tokens = [
        *tokenizer.convert_ids_to_tokens(range(len(tokenizer))),
        "ab",
    ]  # a file without merges is refused
    kinds = [TokenType.CONTROL if place < 7 else TokenType.NORMAL for place in range(len(tokens))]
    writer = GGUFWriter(path, "llama")
    writer.add_context_length(8192)
    writer.add_embedding_length(32)
    writer.add_block_count(2)
    writer.add_feed_forward_length(64)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_rope_dimension_count(8)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges(["a b"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(3)
    writer.add_pad_token_id(3)
    writer.add_chat_template(CHAT)
    shapes: dict[str, tuple[int, ...]] = {"token_embd": (len(tokens), 32), "output_norm": (32,)}
    for layer in range(2):
        block = f"blk.{layer}"
        for name, rows in (("attn_q", 32), ("attn_k", 16), ("attn_v", 16), ("attn_output", 32)):
            shapes[f"{block}.{name}"] = (rows, 32)
        shapes |= {f"{block}.ffn_gate": (64, 32), f"{block}.ffn_up": (64, 32), f"{block}.ffn_down": (32, 64)}
        shapes |= {f"{block}.attn_norm": (32,), f"{block}.ffn_norm": (32,)}
    for name, shape in shapes.items():
        values = random.normal(0, 0.2, shape) if len(shape) > 1 else np.ones(shape)
        writer.add_tensor(f"{name}.weight", values.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
