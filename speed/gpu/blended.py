"""What the margins of reward models are worth, alone and added to the fitted surface rater: `python -m speed.gpu.blended DATA MARGINS`.

MARGINS is what `quality.py` left behind, gathered: for each recipe the margin of every pair by a model that saw none of that person's pairs. The
surface rater is cross-fitted here. Both are added up with weights fitted on other people, in ten folds dealt five times; a pair's
score is the mean over the deals, so that the deal does not decide. Beside the share that is right stands the log loss, which sees how
sure a sum was and tells finer differences; the surface rater is weighed anew for it in the same way, and length and a bent copy of
the surface rater's own margin are added as controls: they hold nothing new.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from personafit.benchmarks import PersonaFeedback
from personafit.statistics import Estimate, cluster_mean
from personafit.statistics.bias import fit_choices
from personafit.train import PreferencePair, cross_fit, deal_folds

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
    alone = added([fitted], pairs)
    table: dict[str, Floats] = {"fitted surface rater": won(fitted)}
    print(f"{len(pairs):,} pairs of {len({pair.person for pair in pairs})} people; percent right")
    _say("fitted surface rater", table["fitted surface rater"], pairs)
    _show("  log loss, in hundredths", alone.loss, pairs)
    lengths = np.array([np.log(len(pair.chosen) / len(pair.rejected)) for pair in pairs])
    for control, column in (("length", lengths), ("its own margin, bent", np.tanh(fitted / 2))):
        _gain(f"  control: {control}", added([fitted, column], pairs), alone, pairs)
    for run in found["runs"]:
        margins = np.array(run["margins"])
        both = added([fitted, margins], pairs)
        _say(run["recipe"], won(margins), pairs)
        _say("  with the surface rater", both.right, pairs)
        _gain("  over the surface rater", both, alone, pairs)
        mean = (fitted + margins) / 2
        _show("  the plain mean, as blend: has it", won(mean), pairs)
        _show("  its log loss, in hundredths", loss(mean), pairs)
        _show("    over the surface rater's", loss(mean) - loss(fitted), pairs)
        _show("    over the reward model's", loss(mean) - loss(margins), pairs)
        table[run["recipe"]] = won(margins)
    scaled = {run["recipe"]: np.array(run["margins"]) / np.std(run["margins"]) for run in found["runs"]}
    for recipes in (list(scaled), *found["means"]):
        both = added([fitted, np.mean([scaled[one] for one in recipes], axis=0)], pairs)
        _show(f"the mean of {'; '.join(recipes)}; with the surface rater", both.right, pairs)
        _gain("  over the surface rater", both, alone, pairs)
    for first, second in found["compared"]:
        _show(f"{first}, over {second}", table[first] - table[second], pairs)


class Sum(NamedTuple):
    """Of every pair whether a sum of margins is right, and how surprised it is by what was chosen."""

    right: Floats
    loss: Floats


def added(columns: Sequence[Floats], pairs: list[PreferencePair]) -> Sum:
    """The columns added up with weights fitted on other people."""
    margins, people = np.column_stack(columns), [pair.person for pair in pairs]
    found = Sum(np.zeros(len(pairs)), np.zeros(len(pairs)))
    for deal in range(DEALS):
        fold_of = deal_folds(people, FOLDS, deal)
        for fold in range(FOLDS):
            rest = fold_of != fold
            scale = margins[rest].std(0)
            weights = fit_choices(margins[rest] / scale, np.ones(rest.sum()), np.array(people)[rest]).weights
            summed = margins[~rest] / scale @ weights
            found.right[~rest] += won(summed) / DEALS
            found.loss[~rest] += loss(summed) / DEALS
    return found


def won(margins: Floats) -> Floats:
    """1 where the chosen answer is ahead, ½ where neither is."""
    return np.where(margins > 0, 1.0, np.where(margins < 0, 0.0, 0.5))


def loss(margins: Floats) -> Floats:
    """How surprised the log-odds are by what was chosen."""
    surprised: Floats = np.logaddexp(0.0, -margins)
    return surprised


def choices_of(data: Path) -> Mapping[str, PreferencePair]:
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
        found[item.id] = PreferencePair(
            item.person, people[item.person].facets, item.prompt, chosen, rejected, tier
        )
    return found


def _say(name: str, right: Floats, pairs: list[PreferencePair]) -> None:
    lengths = np.array([(len(pair.chosen), len(pair.rejected)) for pair in pairs])
    tiers = np.array([pair.tier for pair in pairs])
    subsets = {tier: tiers == tier for tier in ("easy", "medium", "hard")}
    subsets["lengths within 10 %"] = np.abs(lengths[:, 0] - lengths[:, 1]) <= MATCHED * lengths.max(1)
    subsets["shorter was chosen"] = lengths[:, 0] < lengths[:, 1]
    parts = ", ".join(f"{part} {100 * right[rows].mean():.1f}" for part, rows in subsets.items())
    print(f"{name}: {_figure(right, pairs)}; {parts}", flush=True)


def _show(name: str, differences: Floats, pairs: list[PreferencePair]) -> None:
    print(f"{name}: {_figure(differences, pairs)}", flush=True)


def _gain(name: str, both: Sum, alone: Sum, pairs: list[PreferencePair]) -> None:
    right, surprise = (_figure(ours - theirs, pairs, 2) for ours, theirs in zip(both, alone, strict=True))
    print(f"{name}: right {right}; log loss, in hundredths, {surprise}", flush=True)


def _figure(values: Floats, pairs: list[PreferencePair], digits: int = 1) -> str:
    estimate: Estimate = cluster_mean(values, [pair.person for pair in pairs])
    if estimate.value is None or estimate.low is None or estimate.high is None:
        raise RuntimeError("there are too few people")
    value, low, high = (f"{100 * each:.{digits}f}" for each in (estimate.value, estimate.low, estimate.high))
    return f"{value} ({low} to {high})"


if __name__ == "__main__":
    main()
