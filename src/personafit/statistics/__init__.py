"""Pure functions on arrays and frames: intervals, accuracy, win rates, paired differences."""

from personafit.statistics.accuracy import choice_scores, coverage, mean_by_item, paired_difference
from personafit.statistics.clusters import Estimate, cluster_mean, clustered_p_value, prompts_recur
from personafit.statistics.winrate import length_controlled_rate

__all__ = [
    "Estimate",
    "choice_scores",
    "cluster_mean",
    "clustered_p_value",
    "coverage",
    "length_controlled_rate",
    "mean_by_item",
    "paired_difference",
    "prompts_recur",
]
