"""A fitted verifier: whether what a user said bears out a statement about them."""

from personafit.raters.verifier.features import FEATURES, STATEMENT_ALONE, Turn, statement_features
from personafit.raters.verifier.model import MODES, Verifier, Weights

__all__ = ["FEATURES", "MODES", "STATEMENT_ALONE", "Turn", "Verifier", "Weights", "statement_features"]
