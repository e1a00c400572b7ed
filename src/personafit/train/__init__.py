"""Fitting raters on human choices, split by person."""

from personafit.train.cross_fitting import deal_folds
from personafit.train.pairs import PreferencePair
from personafit.train.pairwise import QualityReport, cross_fit, fit_pairwise, quality

__all__ = ["PreferencePair", "QualityReport", "cross_fit", "deal_folds", "fit_pairwise", "quality"]
