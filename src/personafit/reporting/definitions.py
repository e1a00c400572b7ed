"""What each figure of a run of choices means: one line each, shown in the terminal, in tooltips and under tables."""

from collections.abc import Iterable

DEFINITIONS = {
    "accuracy": "share of items on which the gold answer was chosen, averaged over both orders; a tie counts ½",
    "win_rate": "share of comparisons that the tested answer won, averaged over both orders; a tie counts ½",
    "accuracy_debiased": "accuracy of the choice that both orders together speak for, so a preference for a position cancels",
    "win_rate_debiased": "win rate of the choice that both orders together speak for, so a preference for a position cancels",
    "win_rate_length_controlled": "win rate that a logistic regression predicts for two answers of equal length",
    "consistency": "share of items that got the same choice in both orders",
    "lift": "score with the person minus the larger of the scores without and with a wrong person, on the same items, in points",
    "restraint": "score on the items whose right answer is the less personal one",
}


def legend(metrics: Iterable[str]) -> str:
    """One line with what the figures shown mean; figures without a definition are left out."""
    shown = dict.fromkeys(metric for metric in metrics if metric in DEFINITIONS)
    return " ".join(f"{name(metric).capitalize()}: {DEFINITIONS[metric]}." for metric in shown)


def name(metric: str) -> str:
    """A metric as headings write it."""
    return metric.replace("_", " ")
