"""Pure functions on arrays and frames: intervals, accuracy, win rates, paired differences."""

from personafit.statistics.accuracy import choice_scores, mean_by_item
from personafit.statistics.clusters import Estimate, cluster_mean, prompts_recur
from personafit.statistics.length import length_controlled_rate

__all__ = [
    "Estimate",
    "choice_scores",
    "cluster_mean",
    "length_controlled_rate",
    "mean_by_item",
    "prompts_recur",
]
