"""Work of the shape of PersonaFeedback: long profiles, a few dozen questions each, two answers a question.

Lengths are drawn as they are there; the tokens are random, since speed does not depend on what they say. Models have the shape of
published ones and random weights, made on the GPU.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

PEAK = 790e12  # what a large bf16 product reaches on an H200: measured, not the data sheet's

SHAPES = {
    "0.5b": {
        "hidden_size": 896,
        "intermediate_size": 4864,
        "num_hidden_layers": 24,
        "num_attention_heads": 14,
        "num_key_value_heads": 2,
        "vocab_size": 151_936,
        "tie_word_embeddings": True,
    },
    "7b": {
        "hidden_size": 3584,
        "intermediate_size": 18_944,
        "num_hidden_layers": 28,
        "num_attention_heads": 28,
        "num_key_value_heads": 4,
        "vocab_size": 152_064,
        "tie_word_embeddings": False,
    },
}


@dataclass(frozen=True)
class Work:
    """Token sequences, two and two of a pair, person after person."""

    sequences: list[list[int]]
    people: int
    pairs: int


def work(people: int, pairs: int = 26, seed: int = 0) -> Work:
    """The pairs of so many people: profile 600–1,000 tokens, question 10–30, answers 120–370."""
    random = np.random.default_rng(seed)

    def tokens(low: int, high: int) -> list[int]:
        drawn: list[int] = random.integers(5, 150_000, random.integers(low, high + 1)).tolist()
        return drawn

    sequences = []
    for _ in range(people):
        profile = tokens(600, 1000)
        for _ in range(pairs):
            question = tokens(10, 30)
            sequences += [profile + question + tokens(120, 370) for _ in range(2)]
    return Work(sequences, people, people * pairs)


def reward_model(shape: str, dtype: torch.dtype = torch.bfloat16, attention: str = "sdpa") -> Any:
    """A model of a published shape with a score head and random weights, made where it will run."""
    from transformers import AutoModelForSequenceClassification, Qwen2Config

    config = Qwen2Config(**SHAPES[shape], num_labels=1, pad_token_id=0, max_position_embeddings=32_768)
    torch.manual_seed(0)
    with torch.device("cuda"):
        return AutoModelForSequenceClassification.from_config(
            config, dtype=dtype, attn_implementation=attention
        )
