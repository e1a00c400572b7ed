"""Statistics as pure functions on arrays and frames: intervals, accuracy, win rates, paired differences."""

from typing import TYPE_CHECKING

from personafit._lazy import lazy_names
from personafit.statistics.accuracy import choice_scores, mean_by_item
from personafit.statistics.clusters import Estimate, cluster_mean, prompts_recur

if TYPE_CHECKING:
    from personafit.statistics.length import length_controlled_rate

__getattr__ = lazy_names(__name__, {"length": ("length_controlled_rate",)})

__all__ = [
    "Estimate",
    "choice_scores",
    "cluster_mean",
    "length_controlled_rate",
    "mean_by_item",
    "prompts_recur",
]
