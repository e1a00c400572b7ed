"""Human choices to fit a pairwise rater on, and what its margins are worth: accuracy with clustered intervals, the guards
against length, the gain over a rule.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from personafit._errors import UserError
from personafit.benchmarks import Benchmark, FolderBenchmark, PersonaFeedback, starter
from personafit.contexts import Context
from personafit.people import facet_values
from personafit.raters.fitted.model import Floats
from personafit.raters.fitted.pairwise import PairwiseModel
from personafit.raters.rules import rule_lead
from personafit.statistics import Estimate, cluster_mean
from personafit.statistics.calibration import calibration_error, choice_confidence
from personafit.training.cards import card_table, show_estimate
from personafit.training.cross_fitting import Bools
from personafit.training.pairwise import PreferencePair

MATCHED = 0.1  # lengths within this share of the longer answer count as matched


@dataclass(frozen=True)
class QualityReport:
    """What the rater is worth, as fractions. Subsets without pairs are left out."""

    accuracy: dict[str, Estimate]
    gain_over_overlap: dict[str, Estimate]
    overlap: Estimate
    length: Estimate
    log_loss: float
    calibration_error: float | None


def open_choices(data: Path) -> Benchmark:
    """What --data names: a benchmark folder, PersonaFeedback as published, or `starter`."""
    if str(data) == "starter":
        return starter()
    return FolderBenchmark(data) if (data / "benchmark.toml").is_file() else PersonaFeedback(data)


def load_choices(benchmark: Benchmark) -> list[PreferencePair]:
    """Every decided pair of a benchmark with the person's facets."""
    people = {person.id: person for person in benchmark.people()}
    texts = {product.id: product.text for product in benchmark.products()}
    gold = {row.item: row for row in benchmark.gold() if row.rater == benchmark.info.gold}
    choices = []
    for item in benchmark.items():
        row = gold.get(item.id)
        if row is None or len(item.products) != 2 or row.label not in ("0", "1"):
            continue
        chosen, rejected = item.products[int(row.label)], item.products[1 - int(row.label)]
        tier = str((row.extra or {}).get("tier") or "")
        facets = people[item.person].facets
        choices.append(PreferencePair(item.person, facets, item.prompt, texts[chosen], texts[rejected], tier))
    if len({choice.person for choice in choices}) < 2:
        raise UserError(
            f"{benchmark.info.name} has no decided pairs of two people or more: there is nothing to fit."
        )
    return choices


def quality(choices: Sequence[PreferencePair], margins: Floats) -> QualityReport:
    """Judge margins of chosen over rejected that were made without the choice's person, as by `cross_fit`."""
    if len(choices) != len(margins) or not len(choices):
        raise ValueError(f"Quality needs one margin for each choice, not {len(margins)} for {len(choices)}.")
    if not np.isfinite(margins).all():
        raise ValueError("A margin is not a finite number.")
    people, questions = (np.array([getattr(c, name) for c in choices]) for name in ("person", "question"))
    won = _won(margins)
    overlap, length = (_won(np.array([_lead(rule, c) for c in choices])) for rule in ("overlap", "length"))
    subsets = _subsets(choices)

    def mean(values: Floats, rows: Bools, least: float = 0.0) -> Estimate:
        return cluster_mean(values[rows], people[rows], questions[rows], bounds=(least, 1.0))

    return QualityReport(
        accuracy={name: mean(won, rows) for name, rows in subsets.items()},
        gain_over_overlap={name: mean(won - overlap, rows, -1.0) for name, rows in subsets.items()},
        overlap=mean(overlap, subsets["all"]),
        length=mean(length, subsets["all"]),
        log_loss=float(np.logaddexp(0, -margins).mean()),
        calibration_error=calibration_error(choice_confidence(margins), won).value,
    )


def _lead(rule: str, choice: PreferencePair) -> float:
    told = Context("profile", "", tuple(facet_values(choice.facets)), choice.person, choice.facets)
    return rule_lead(rule, choice.chosen, choice.rejected, choice.question, told)


def _won(margins: Floats) -> Floats:
    return np.where(margins > 0, 1.0, np.where(margins < 0, 0.0, 0.5))


def _subsets(choices: Sequence[PreferencePair]) -> dict[str, Bools]:
    def where(test: Callable[[PreferencePair], bool]) -> Bools:
        return np.array([test(choice) for choice in choices], dtype=bool)

    def matched(choice: PreferencePair) -> bool:
        lengths = len(choice.chosen), len(choice.rejected)
        return abs(lengths[0] - lengths[1]) <= MATCHED * max(lengths)

    tiers = np.array([choice.tier for choice in choices])
    subsets = {"all": where(lambda choice: True)}
    subsets |= {tier: tiers == tier for tier in dict.fromkeys(choice.tier for choice in choices) if tier}
    subsets["length-matched"] = where(matched)
    subsets["shorter chosen"] = where(lambda choice: len(choice.chosen) < len(choice.rejected))
    return {name: rows for name, rows in subsets.items() if rows.any()}


def card(model: PairwiseModel, report: QualityReport, source: str) -> str:
    """What the rater is, how it was fitted and what it is worth, for people."""
    lines = [
        "# A fitted pairwise rater",
        "",
        f"Fitted on {model.card['pairs']:,} human choices of {model.card['people']:,} people from {source}. It sees one pair at a "
        "time: the person's facets, the question and the two answers, and nothing about how often a text occurs elsewhere.",
        "",
        "Two linear parts are added up: bounded differences of surface and overlap features, and characters and pairs of "
        "characters of the answers. Penalties, vocabulary, scaling and the calibrated blend are chosen on people left out.",
        "",
        "Cross-fitted by person (nobody's own choices were used on them), 95 % interval clustered by person and, where "
        "questions recur, by question:",
        "",
        *accuracy_table(report),
        "",
        f"Baselines on all pairs: overlap {show_share(report.overlap)}, length {show_share(report.length)}. "
        f"Log loss {report.log_loss:.3f}, calibration error {report.calibration_error or 0:.3f}.",
        "",
        "It knows what these annotators chose, shortcuts included: it is a strong control and a cheap pre-screen, not a "
        "judge of people it was not fitted on.",
    ]
    return "\n".join(lines) + "\n"


def accuracy_table(report: QualityReport) -> list[str]:
    """Accuracy by subset, in percent, for a card."""
    rows = [
        (name, f"{one.n:,}", show_share(one), show_share(report.gain_over_overlap[name], "+.1f"))
        for name, one in report.accuracy.items()
    ]
    return card_table(("pairs", "n", "accuracy", "gain over the overlap rule"), rows)


def show_share(share: Estimate, form: str = ".1f") -> str:
    """A share in percent with its interval."""
    return show_estimate(share, form, times=100)
