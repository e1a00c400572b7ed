"""Raters and reward models trained on human judgments, evaluated on people held out of training."""

from typing import TYPE_CHECKING

from personafit._lazy import lazy_names

if TYPE_CHECKING:
    from personafit.train.cards import TrainedRater
    from personafit.train.cross_fitting import deal_folds
    from personafit.train.grpo import GrpoSettings, train_grpo
    from personafit.train.matcher import train_matcher
    from personafit.train.pairs import PreferencePair, load_choices, write_trl
    from personafit.train.pairwise import QualityReport, cross_fit, fit_pairwise, quality, train_pairwise
    from personafit.train.preference import train_preference
    from personafit.train.reward.settings import (
        RECIPES,
        Layout,
        Preset,
        RewardSettings,
        is_first,
        parse_mix,
        processes,
    )
    from personafit.train.reward.training import train_reward
    from personafit.train.verifier import train_verifier

__getattr__ = lazy_names(
    __name__,
    {
        "cards": ("TrainedRater",),
        "cross_fitting": ("deal_folds",),
        "grpo": ("GrpoSettings", "train_grpo"),
        "matcher": ("train_matcher",),
        "pairs": ("PreferencePair", "load_choices", "write_trl"),
        "pairwise": ("QualityReport", "cross_fit", "fit_pairwise", "quality", "train_pairwise"),
        "preference": ("train_preference",),
        "reward.settings": (
            "RECIPES",
            "Layout",
            "Preset",
            "RewardSettings",
            "is_first",
            "parse_mix",
            "processes",
        ),
        "reward.training": ("train_reward",),
        "verifier": ("train_verifier",),
    },
)

__all__ = [
    "RECIPES",
    "GrpoSettings",
    "Layout",
    "PreferencePair",
    "Preset",
    "QualityReport",
    "RewardSettings",
    "TrainedRater",
    "cross_fit",
    "deal_folds",
    "fit_pairwise",
    "is_first",
    "load_choices",
    "parse_mix",
    "processes",
    "quality",
    "train_grpo",
    "train_matcher",
    "train_pairwise",
    "train_preference",
    "train_reward",
    "train_verifier",
    "write_trl",
]
