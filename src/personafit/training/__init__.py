"""Fitting raters on human choices, split by person."""

from personafit.training.cross_fitting import deal_folds
from personafit.training.pairwise import PreferencePair, cross_fit, fit_pairwise
from personafit.training.pairwise_quality import QualityReport, quality

__all__ = ["PreferencePair", "QualityReport", "cross_fit", "deal_folds", "fit_pairwise", "quality"]
