"""Raters fitted on human choices: a small linear model in a readable file, scored with numpy alone."""

from personafit.raters.fitted.features import answer_features
from personafit.raters.fitted.model import PairwiseModel
from personafit.raters.fitted.profiles import PersonProfile, field_group, person_profile
from personafit.raters.fitted.rater import FittedRater

__all__ = [
    "FittedRater",
    "PairwiseModel",
    "PersonProfile",
    "answer_features",
    "field_group",
    "person_profile",
]
