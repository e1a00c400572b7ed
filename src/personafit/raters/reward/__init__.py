"""Reward models as raters: each answer gets a score of its own, by weights on this machine or by a server.

`reward:PATH` loads a folder (or a name on the hub), `reward:NAME@URL` asks a server. Torch is imported when weights are.
"""

from personafit._errors import UserError
from personafit.items.reading import QuestionSet
from personafit.models import Spec
from personafit.raters.rater import ScoredRater, rater_record


def reward_rater(spec: Spec, asks: QuestionSet) -> ScoredRater:
    """The rater of weights on this machine, or behind an address; for preferences each answer is scored attribute by attribute."""
    from personafit.raters.reward.local import LocalRewardScorer
    from personafit.raters.reward.served import ServedRewardScorer

    question = asks.by_score
    if "answer" not in question.scored_by:
        raise UserError(f"{spec.text} scores answers and cannot say {question.sought}; name another rater.")
    scorer = LocalRewardScorer(spec) if spec.url is None else ServedRewardScorer(spec)
    of = {"of": "attribute by attribute"} if question.scored_by[0] == "pair" else {}
    return ScoredRater(scorer, question, rater_record(spec.text, "reward", {**scorer.settings, **of}))
