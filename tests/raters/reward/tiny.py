"""Tiny random models in folders, made on the spot: real files of the transformers library that a CPU scores in no time."""

import json
from pathlib import Path
from typing import Any

from tests.helpers import Later

torch: Any = Later("torch")
transformers: Any = Later("transformers")

CHAT = (
    "{% for message in messages %}<|{{ message['role'] }}|> {{ message['content'] }} <|end|> {% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
NO_SYSTEM = (
    "{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
    + CHAT
)
WORDS = (
    "a about answer are as asks at coffee for i is job known likes no of or person shall tea the this to what which who "
    "with you A B C D . , ? : ; Likes Job tea. coffee. nothing"
).split()
SPECIAL = ["<unk>", "<pad>", "<s>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>"]
SIZE = len(SPECIAL) + len(WORDS) + 256


def tokenizer(chat: str | None = CHAT, pad: str = "<pad>") -> Any:
    """Words, and bytes for whatever else there is, so that no two texts look alike."""
    from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

    vocabulary = {word: number for number, word in enumerate([*SPECIAL, *WORDS])}
    characters = sorted(pre_tokenizers.ByteLevel.alphabet() - vocabulary.keys())
    vocabulary |= {one: len(vocabulary) + number for number, one in enumerate(characters)}
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=[], unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.add_special_tokens([AddedToken(name, special=True) for name in SPECIAL])
    from tokenizers import decoders

    made.decoder = decoders.ByteLevel()
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, unk_token="<unk>", pad_token=pad, bos_token="<s>", eos_token="<|end|>"
    )
    fast.chat_template = chat
    return fast


def config(**more: Any) -> Any:
    """Two layers of a small Qwen2."""
    return transformers.Qwen2Config(
        vocab_size=SIZE,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=2048,
        initializer_range=0.3,
        **more,
    )


def save_reward(folder: Path, seed: int = 0, chat: str | None = CHAT, pad: str = "<pad>") -> Path:
    """A reward model of random weights."""
    torch.manual_seed(seed)
    words = tokenizer(chat, pad)
    model = transformers.Qwen2ForSequenceClassification(config(num_labels=1, pad_token_id=words.pad_token_id))
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


def save_chat(folder: Path, seed: int = 0) -> Path:
    """A language model of random weights."""
    torch.manual_seed(seed)
    words = tokenizer()
    model = transformers.Qwen2ForCausalLM(
        config(pad_token_id=words.pad_token_id, eos_token_id=words.eos_token_id)
    )
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


def say_trained(folder: Path, rendering: str, max_tokens: int = 512) -> None:
    """What `train reward` writes of how the model was trained, as far as raters read it."""
    facts = {"rendering": rendering, "settings": {"max_tokens": max_tokens}}
    (folder / "personafit.json").write_text(json.dumps(facts), encoding="utf-8")


def direct(folder: Path, text: str) -> float:
    """What the transformers library itself makes of a text."""
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    words = transformers.AutoTokenizer.from_pretrained(folder)
    with torch.inference_mode():
        given = words(text, add_special_tokens=False, return_tensors="pt")
        return float(model(input_ids=given["input_ids"]).logits[0, 0])
