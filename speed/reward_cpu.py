"""Scoring with SmolLM2-135M on a CPU: trees against padded batches of 16 by plain transformers, and that the scores agree.

Work has PersonaFeedback's lengths with random tokens and a head that nobody trained; each person is one round, in which both
take their turn. Counted is processor time on one thread: minutes of wall time on a shared machine say more about its neighbours.
"""

import copy
import time
from typing import Any

import numpy as np
import numpy.typing as npt

from speed.table import Measurement, paired

PEOPLE = 2
QUESTIONS = 8
BATCH = 16
SPEED_BAR = 3.0
SAME = 1e-3  # of the spread of the scores: sums in full precision, in another order


def measure() -> list[Measurement]:
    """Score person after person, both ways in turn."""
    import torch

    from personafit.models.embedded import find_weights
    from personafit.models.reward.scoring import RewardScorer
    from personafit.train.reward.weights import load_base
    from speed.gpu.workload import work

    plain, _ = load_base(str(find_weights("smollm2")), seed=0)
    plain.eval()
    torch.set_num_threads(1)
    trees = RewardScorer(copy.deepcopy(plain), "tree")
    vocabulary = plain.config.vocab_size - 5
    rates: dict[str, list[float]] = {"tree": [], "padded": []}
    apart = 0.0
    for number in range(PEOPLE):
        sequences = [
            [5 + token % vocabulary for token in one] for one in work(1, QUESTIONS, seed=number).sequences
        ]
        found: dict[str, npt.NDArray[np.float64]] = {}
        for name in ("tree", "padded") if number % 2 else ("padded", "tree"):
            began = time.process_time()
            found[name] = trees.scores(sequences) if name == "tree" else _padded(plain, sequences)
            rates[name].append(len(sequences) / (time.process_time() - began))
        apart = max(apart, float(np.abs(found["tree"] - found["padded"]).max() / found["padded"].std()))
        print(
            f"reward model, round {number + 1} of {PEOPLE}: trees {rates['tree'][-1]:.2f}, padded "
            f"{rates['padded'][-1]:.2f} answers/s, scores apart by {apart:.1e} of their spread",
            flush=True,
        )
    return [
        paired("reward model, trees", "padded by 16", "answers/s", rates["tree"], rates["padded"], SPEED_BAR),
        Measurement(
            "reward model, same scores",
            "padded by 16",
            "1 = all",
            float(apart < SAME),
            1.0,
            float(apart < SAME),
            1.0,
        ),
    ]


def _padded(model: Any, sequences: list[list[int]]) -> npt.NDArray[np.float64]:
    """Batches in the order of the data, as reward benchmarks and trainers make them."""
    import torch

    pad = model.config.pad_token_id
    scores: list[float] = []
    with torch.inference_mode():
        for start in range(0, len(sequences), BATCH):
            rows = sequences[start : start + BATCH]
            width = max(map(len, rows))
            tokens = torch.tensor([row + [pad] * (width - len(row)) for row in rows])
            mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows])
            scores += model(input_ids=tokens, attention_mask=mask).logits[:, 0].tolist()
    return np.array(scores)
