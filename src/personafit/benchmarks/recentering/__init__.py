"""Re-Centering Humans (arXiv 2606.06614): which attributes of a person matter for a prompt, by people's majority.

The data may be the published layout, a benchmark folder with relevance items, or the starter set.
"""

from pathlib import Path

from personafit._errors import UserError
from personafit.benchmarks.benchmark import Benchmark
from personafit.benchmarks.folder import FolderBenchmark
from personafit.benchmarks.hub.copies import data_folder
from personafit.benchmarks.recentering.labels import LABELS, RelevanceLabels
from personafit.benchmarks.starter import FOLDER
from personafit.items.relevance import RELEVANCE


def open_relevance(data: Path | None) -> Benchmark:
    """The relevance items that --data names."""
    data = data_folder("recentering", data)
    if data is None:
        raise UserError(
            f"recentering needs --data FOLDER with {LABELS} as published, a benchmark folder that has relevance items, "
            "or --data starter for the small set that comes with personafit."
        )
    if str(data) == "starter" and not data.exists():
        data = FOLDER
    if (data / LABELS).is_file():
        return RelevanceLabels(data)
    if not (data / "benchmark.toml").is_file():
        raise UserError(
            f"{data} holds neither {LABELS} (the published layout) nor benchmark.toml (a benchmark folder)."
        )
    folder = FolderBenchmark(data, kind=RELEVANCE)
    if next(folder.items(), None) is None:
        raise UserError(
            f"{data / 'items.jsonl'} has no items of kind 'relevance'; see docs/reference/folder.md."
        )
    return folder


__all__ = ["LABELS", "RelevanceLabels", "open_relevance"]
