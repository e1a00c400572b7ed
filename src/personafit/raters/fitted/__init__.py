"""Models fitted on people's judgments, in one file format that holds numbers and no code."""

from personafit.raters.fitted.file import open_fitted, save_fitted
from personafit.raters.fitted.model import FittedModel

__all__ = ["FittedModel", "open_fitted", "save_fitted"]
