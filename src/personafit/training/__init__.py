"""Fitting raters on human choices, split by person."""

from personafit.training.pairwise import Choice, cross_fit, deal_folds, fit_pairwise
from personafit.training.quality import QualityReport, quality

__all__ = ["Choice", "QualityReport", "cross_fit", "deal_folds", "fit_pairwise", "quality"]
