"""The starter set: our own people, questions and answers, in English and Chinese, labelled by the authors."""

from pathlib import Path

from personafit.benchmarks.folder import FolderBenchmark

FOLDER = Path(__file__).parent / "data"


def starter() -> FolderBenchmark:
    """Return the starter set as a benchmark."""
    return FolderBenchmark(FOLDER)
