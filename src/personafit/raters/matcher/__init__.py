"""A relevance rater fitted on human judgments: which attributes of a person matter for a prompt."""

from personafit.raters.matcher.kernel import ATTRIBUTE_ALONE, KernelSettings
from personafit.raters.matcher.model import Matcher
from personafit.raters.matcher.pairs import PairVectors, embed_pairs

__all__ = ["ATTRIBUTE_ALONE", "KernelSettings", "Matcher", "PairVectors", "embed_pairs"]
