"""Scoring with trees against padded batches of 16, in the order of the data and sorted by length."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

from personafit.models.reward.packing import pack_trees
from personafit.models.reward.scoring import RewardScorer
from speed.gpu.workload import PEAK, reward_model, work

BATCH = 16


def padded_scores(model: Any, sequences: list[list[int]], sort: bool) -> np.ndarray:
    """Padded batches as reward benchmarks and trainers make them."""
    order = np.argsort([len(s) for s in sequences], kind="stable") if sort else np.arange(len(sequences))
    scores = torch.empty(len(sequences), device="cuda")
    for start in range(0, len(sequences), BATCH):
        chosen = order[start : start + BATCH]
        rows = [sequences[index] for index in chosen]
        width = max(map(len, rows))
        tokens = torch.tensor([row + [0] * (width - len(row)) for row in rows])
        mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows])
        out = model(input_ids=tokens.cuda(non_blocking=True), attention_mask=mask.cuda(non_blocking=True))
        scores[torch.from_numpy(chosen).cuda()] = out.logits[:, 0].float()
    return scores.cpu().numpy()


def timed(do: Callable[[], Any], repeats: int = 3) -> tuple[float, int]:
    """Median seconds and the peak of memory, after one call to warm up."""
    do()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    took = []
    for _ in range(repeats):
        began = time.perf_counter()
        do()
        torch.cuda.synchronize()
        took.append(time.perf_counter() - began)
    return sorted(took)[repeats // 2], torch.cuda.max_memory_allocated()


def scoring(shape: str, people: int, repeats: int = 3, capacity: int = 32_768) -> dict[str, Any]:
    """Seconds, memory, utilisation and ratios of one shape of model."""
    todo = work(people)
    model = reward_model(shape).eval()
    linear = sum(p.numel() for name, p in model.named_parameters() if "layers" in name and p.dim() == 2)
    found: dict[str, Any] = {"people": people, "sequences": len(todo.sequences)}
    with torch.inference_mode():
        for name, sort in (("padded", False), ("sorted", True)):
            seconds, memory = timed(partial(padded_scores, model, todo.sequences, sort), repeats)
            found[name] = {"seconds": seconds, "memory": memory}
        reference = padded_scores(model, todo.sequences, sort=False)
        began = time.perf_counter()
        scorer = RewardScorer(model, "tree", capacity)
        scorer.scores(todo.sequences)
        found["compile_seconds"] = time.perf_counter() - began
        seconds, memory = timed(lambda: scorer.scores(todo.sequences), repeats)
        found["tree"] = {"seconds": seconds, "memory": memory}
        trees = scorer.scores(todo.sequences)
    whole = sum(map(len, todo.sequences))
    shared = sum(len(row) for row in pack_trees(todo.sequences, capacity))
    for name, tokens in (("padded", whole), ("sorted", whole), ("tree", shared)):
        found[name]["utilisation"] = 2 * linear * tokens / found[name]["seconds"] / PEAK
    found["tokens"] = {"whole": whole, "tree": shared}
    found["vs_padded"] = found["padded"]["seconds"] / found["tree"]["seconds"]
    found["vs_sorted"] = found["sorted"]["seconds"] / found["tree"]["seconds"]
    found["largest_difference"] = float(np.abs(trees - reference).max())
    found["spread_of_scores"] = float(reference.std())
    found["correlation"] = float(np.corrcoef(trees, reference)[0, 1])
    return found
