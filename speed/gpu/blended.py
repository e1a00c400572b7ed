"""What the margins of reward models are worth, alone and added to the fitted surface rater: `python -m speed.gpu.blended DATA MARGINS`.

MARGINS is what `quality.py` left behind, gathered: for each recipe the margin of every pair by a model that saw none of that person's pairs. The
surface rater is cross-fitted here. Both are added up with weights fitted on other people, in ten folds dealt five times; a pair's
score is the mean over the deals, so that the deal does not decide.
"""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from personafit.benchmarks import PersonaFeedback
from personafit.statistics import Estimate, cluster_mean
from personafit.statistics.bias import fit_choices
from personafit.training.pairwise import Choice, cross_fit, deal_folds

Floats = NDArray[np.float64]

FOLDS, DEALS = 10, 5
MATCHED = 0.1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="PersonaFeedback's folder.")
    parser.add_argument("margins", type=Path)
    arguments = parser.parse_args()
    found = json.loads(arguments.margins.read_text(encoding="utf-8"))
    choices = choices_of(arguments.data)
    pairs = [choices[name] for name in found["pairs"]]
    fitted = cross_fit(pairs)
    table: dict[str, Floats] = {"fitted surface rater": won(fitted)}
    print(f"{len(pairs):,} pairs of {len({pair.person for pair in pairs})} people; percent right")
    _say("fitted surface rater", table["fitted surface rater"], pairs)
    for run in found["runs"]:
        margins = np.array(run["margins"])
        both = added(np.column_stack([fitted, margins]), pairs)
        _say(run["recipe"], won(margins), pairs)
        _say("  with the surface rater", both, pairs)
        _show("  over the surface rater", both - table["fitted surface rater"], pairs)
        table[run["recipe"]] = won(margins)
    scaled = {run["recipe"]: np.array(run["margins"]) / np.std(run["margins"]) for run in found["runs"]}
    for recipes in (list(scaled), *found["means"]):
        mean = added(np.column_stack([fitted, np.mean([scaled[one] for one in recipes], axis=0)]), pairs)
        _show(f"the mean of {'; '.join(recipes)}; with the surface rater", mean, pairs)
        _show("  over the surface rater", mean - table["fitted surface rater"], pairs)
    for first, second in found["compared"]:
        _show(f"{first}, over {second}", table[first] - table[second], pairs)


def added(margins: Floats, pairs: list[Choice]) -> Floats:
    """Whether the sum of the columns is right, its weights fitted on other people."""
    people = [pair.person for pair in pairs]
    right = np.zeros(len(pairs))
    for deal in range(DEALS):
        fold_of = deal_folds(people, FOLDS, deal)
        for fold in range(FOLDS):
            rest = fold_of != fold
            scale = margins[rest].std(0)
            weights = fit_choices(margins[rest] / scale, np.ones(rest.sum()), np.array(people)[rest]).weights
            right[~rest] += won(margins[~rest] / scale @ weights) / DEALS
    return right


def won(margins: Floats) -> Floats:
    """1 where the chosen answer is ahead, ½ where neither is."""
    return np.where(margins > 0, 1.0, np.where(margins < 0, 0.0, 0.5))


def choices_of(data: Path) -> Mapping[str, Choice]:
    benchmark = PersonaFeedback(data)
    people = {person.id: person for person in benchmark.people()}
    texts = {product.id: product.text for product in benchmark.products()}
    gold = {row.item: row for row in benchmark.gold() if row.rater == benchmark.info.gold}
    found = {}
    for item in benchmark.items():
        row = gold.get(item.id)
        if row is None or row.label not in ("0", "1"):
            continue
        chosen, rejected = (texts[item.products[place]] for place in (int(row.label), 1 - int(row.label)))
        tier = str((row.extra or {}).get("tier") or "")
        found[item.id] = Choice(item.person, people[item.person].facets, item.prompt, chosen, rejected, tier)
    return found


def _say(name: str, right: Floats, pairs: list[Choice]) -> None:
    lengths = np.array([(len(pair.chosen), len(pair.rejected)) for pair in pairs])
    tiers = np.array([pair.tier for pair in pairs])
    subsets = {tier: tiers == tier for tier in ("easy", "medium", "hard")}
    subsets["lengths within 10 %"] = np.abs(lengths[:, 0] - lengths[:, 1]) <= MATCHED * lengths.max(1)
    subsets["shorter was chosen"] = lengths[:, 0] < lengths[:, 1]
    parts = ", ".join(f"{part} {100 * right[rows].mean():.1f}" for part, rows in subsets.items())
    print(f"{name}: {_figure(right, pairs)}; {parts}", flush=True)


def _show(name: str, differences: Floats, pairs: list[Choice]) -> None:
    print(f"{name}: {_figure(differences, pairs)}", flush=True)


def _figure(values: Floats, pairs: list[Choice]) -> str:
    estimate: Estimate = cluster_mean(values, [pair.person for pair in pairs])
    if estimate.value is None or estimate.low is None or estimate.high is None:
        raise RuntimeError("there are too few people")
    return f"{100 * estimate.value:.1f} ({100 * estimate.low:.1f} to {100 * estimate.high:.1f})"


if __name__ == "__main__":
    main()
