"""The rule for mention held against a reader's labels: of the published pairs (when they are here) and of the starter set."""

import json
from pathlib import Path
from typing import NamedTuple

import orjson
import pytest

from personafit.benchmarks.responses import PAIRS
from personafit.benchmarks.starter import FOLDER
from personafit.raters.naming import names_attribute

LABELS = json.loads((Path(__file__).parent / "mention_labels.json").read_text(encoding="utf-8"))
SHARED = Path(__file__).parents[4] / "shared" / "data" / "recentering"


class Counts(NamedTuple):
    """Hits, false alarms, misses, and rightly silent."""

    hits: int
    alarms: int
    misses: int
    silent: int


def _counts(found: list[tuple[bool, bool]]) -> Counts:
    pairs = [(True, True), (False, True), (True, False), (False, False)]
    return Counts(*(found.count(pair) for pair in pairs))


@pytest.mark.skipif(not SHARED.is_dir(), reason="../shared/data/recentering is not here")
def test_on_published_pairs() -> None:
    lines = map(orjson.loads, (SHARED / PAIRS).read_bytes().splitlines())
    rows = {(row["user"], str(row["prompt_index"]), row["generator"]): row for row in lines}
    found = []
    for entry in LABELS["shared"]:
        row = rows[entry["user"], str(entry["prompt_index"]), entry["generator"]]
        for place, label in entry["labels"].items():
            text = row["attributes"][int(place)]["attribute"]
            texts = (row[name] for name in ("prompt", "generic", "personalized"))
            found.append((label, names_attribute(text, *texts)))
    counts = _counts(found)
    assert len(found) == 116
    assert counts.hits >= 9
    assert counts.alarms <= 6


def test_on_the_starter_set() -> None:
    items, texts = {}, {}
    for line in (FOLDER / "items.jsonl").read_text(encoding="utf-8").splitlines():
        item = json.loads(line)
        items[item["id"]] = item
    for line in (FOLDER / "products.jsonl").read_text(encoding="utf-8").splitlines():
        product = json.loads(line)
        texts[product["id"]] = product["text"]
    if not all(entry["item"] in items for entry in LABELS["starter"]):
        pytest.skip("the starter set has no preference items here")
    found = []
    for entry in LABELS["starter"]:
        item = items[entry["item"]]
        generic, personal, *attributes = (texts[product] for product in item["products"])
        found += [
            (label, names_attribute(text, item["prompt"], generic, personal))
            for label, text in zip(entry["labels"], attributes, strict=True)
        ]
    counts = _counts(found)
    assert len(found) == 35
    assert counts.hits >= 7
    assert counts.alarms <= 1
