"""What margins are worth: accuracy with clustered intervals, the guards against length, the gain over a rule."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from personafit.contexts import Context
from personafit.people import facet_values
from personafit.raters.fitted.pairwise import Floats
from personafit.raters.rules import rule_lead
from personafit.statistics import Estimate, cluster_mean
from personafit.statistics.calibration import calibration_error, choice_confidence
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

    def as_dict(self) -> dict[str, object]:
        """The report as plain values for a file."""
        return asdict(self)


def quality(choices: Sequence[PreferencePair], margins: Floats) -> QualityReport:
    """Judge margins of chosen over rejected that were made without the choice's person, as by `cross_fit`."""
    if len(choices) != len(margins) or not len(choices):
        raise ValueError(f"Quality needs one margin for each choice, not {len(margins)} for {len(choices)}.")
    if not np.isfinite(margins).all():
        raise ValueError("A margin is not a finite number.")
    people, questions = _codes([choice.person for choice in choices]), _codes([c.question for c in choices])
    won = _won(margins)
    overlap = _won(np.array([_lead("overlap", choice) for choice in choices]))
    length = _won(np.array([_lead("length", choice) for choice in choices]))
    subsets = _subsets(choices)

    def mean(values: Floats, rows: NDArray[np.bool_], least: float) -> Estimate:
        return cluster_mean(values[rows], people[rows], questions[rows], bounds=(least, 1.0))

    return QualityReport(
        accuracy={name: mean(won, rows, 0.0) for name, rows in subsets.items()},
        gain_over_overlap={name: mean(won - overlap, rows, -1.0) for name, rows in subsets.items()},
        overlap=mean(overlap, subsets["all"], 0.0),
        length=mean(length, subsets["all"], 0.0),
        log_loss=float(np.logaddexp(0, -margins).mean()),
        calibration_error=calibration_error(choice_confidence(margins), won).value,
    )


def _codes(names: Sequence[str]) -> NDArray[np.intp]:
    return np.unique(np.array(names), return_inverse=True)[1]


def _lead(rule: str, choice: PreferencePair) -> float:
    told = Context("profile", "", tuple(facet_values(choice.facets)), choice.person, choice.facets)
    return rule_lead(rule, choice.chosen, choice.rejected, choice.question, told)


def _won(margins: Floats) -> Floats:
    return np.where(margins > 0, 1.0, np.where(margins < 0, 0.0, 0.5))


def _subsets(choices: Sequence[PreferencePair]) -> dict[str, NDArray[np.bool_]]:
    def where(test: Callable[[PreferencePair], bool]) -> NDArray[np.bool_]:
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
