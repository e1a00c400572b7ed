"""Reward models as raters: each answer gets a score of its own, by weights on this machine or by a server.

`reward:PATH` loads a folder (or a name on the hub), `reward:NAME@URL` asks a server. Torch is imported when weights are.
"""

from personafit.models import Spec
from personafit.raters.rater import Rater


def reward_rater(spec: Spec) -> Rater:
    """The rater of weights on this machine, or behind an address."""
    if spec.url is not None:
        from personafit.raters.reward.served import ServedRewardRater

        return ServedRewardRater(spec)
    from personafit.raters.reward.rater import RewardRater

    return RewardRater(spec)


__all__ = ["reward_rater"]
