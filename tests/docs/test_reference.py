"""The reference names every metric that runs have: those in the recorded results of every kind."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "metrics.md"
RESULTS = ROOT / "tests" / "golden" / "results"


def measured() -> set[str]:
    """Names of all metrics in the recorded results, without their slices."""
    runs = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("*.json"))]
    return {re.split(r"\[| #", name)[0] for run in runs for figures in run.values() for name in figures}


def test_every_metric_is_on_the_page() -> None:
    names = measured()
    assert {"accuracy", "lift", "f1", "rating", "personalization", "rouge_1", "unmoved"} <= names
    text = PAGE.read_text(encoding="utf-8")
    described, endings = set(re.findall(r"`([a-z0-9_]+)`", text)), re.findall(r"`\*(_[a-z_]+)`", text)
    varied = {base + ending for base in described for ending in endings}
    assert not sorted(names - described - varied)
