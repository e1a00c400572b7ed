"""Reward models as raters: each answer gets a score of its own, by weights on this machine or by a server.

`reward:PATH` loads a folder (or a name on the hub), `reward:NAME@URL` asks a server. Torch is imported when weights are.
"""

from personafit.items.reading import QuestionSet
from personafit.models import Spec
from personafit.raters.rater import ScoredRater, check_unit


def reward_rater(spec: Spec, asks: QuestionSet) -> ScoredRater:
    """The rater of weights on this machine, or behind an address; for preferences each answer is scored attribute by attribute."""
    check_unit("answer", asks.by_score, spec.text)  # before weights are looked for
    if spec.url is not None:
        from personafit.raters.reward.served import ServedRewardRater

        return ServedRewardRater(spec, asks)
    from personafit.raters.reward.local import LocalRewardRater

    return LocalRewardRater(spec, asks)
