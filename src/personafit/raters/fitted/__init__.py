"""Models fitted on people's judgments, in one file format that holds numbers and no code."""

from personafit.raters.fitted.model import FittedModel, open_fitted, save_fitted

__all__ = ["FittedModel", "open_fitted", "save_fitted"]
