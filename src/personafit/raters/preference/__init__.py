"""Who marks two answers against each other, attribute by attribute. A new kind is one file and one line in `PREFERENCE_RATERS`.

A plain model spec is a judge; `mention:SPEC` asks a model which attributes an answer names, beside the rule that always does.
"""

from collections.abc import Callable

from personafit._errors import UserError
from personafit._plugins import find_plugin
from personafit.items.preference import NAMED, PREFER, Compared
from personafit.models import Model, Spec, make_model, parse_spec
from personafit.raters.preference.judging import (
    VIEW,
    PreferenceJudging,
    compared,
    preference_job,
    preference_lanes,
)
from personafit.raters.preference.mention import names_attribute
from personafit.raters.preference.rater import PreferenceRater
from personafit.raters.preference.scored import RulePreference, Scorer, ScorerPreference, python_preference
from personafit.raters.prompted import PromptedRater

READING = "preference-1"


def _judge(spec: Spec) -> PreferenceRater:
    return preferring_rater(make_model(spec))


def _mention(spec: Spec) -> PreferenceRater:
    text = spec.text.strip().partition(":")[2]
    if not text:
        raise UserError(f"{spec.text}: say which model is asked, as in mention:openai:MODEL@URL.")
    return naming_rater(make_model(parse_spec(text)))


def preferring_rater(model: Model) -> PromptedRater[Compared]:
    """Asks a model which answer somebody with each attribute would rather have."""
    settings = {"question": PREFER.fingerprint, "reading": READING}
    return PromptedRater(model, PREFER, settings, order_matters=True)


def naming_rater(model: Model) -> PromptedRater[Compared]:
    """`mention:SPEC`: asks a model which attributes the personalized answer names; it has no say about preferences."""
    settings = {"question": NAMED.fingerprint, "reading": READING}
    return PromptedRater(model, NAMED, settings, name=f"mention:{model.name}")


def _fitted(spec: Spec) -> PreferenceRater:
    from personafit.raters.preference.head import HeadPreference

    return HeadPreference(spec)


def _reward(spec: Spec) -> PreferenceRater:
    from personafit.raters.preference.rewarded import RewardPreference

    return RewardPreference(spec)


PREFERENCE_RATERS: dict[str, Callable[[Spec], PreferenceRater]] = {
    "embedded": _judge,
    "hf": _judge,
    "inspect": _judge,
    "openai": _judge,
    "replay": _judge,
    "mention": _mention,
    "rule": RulePreference,
    "fitted": _fitted,
    "reward": _reward,
    "python": python_preference,
}


def make_preference_rater(text: str) -> PreferenceRater:
    """The preference rater a spec names; further kinds come as entry points `personafit.preference_raters`."""
    spec = parse_spec(text)
    if spec.kind in PREFERENCE_RATERS:
        return PREFERENCE_RATERS[spec.kind](spec)
    if (found := find_plugin("preference_raters", spec.kind)) is not None:
        made: PreferenceRater = found(spec)
        return made
    raise UserError(
        f"'{text}' names no rater of preferences; kinds are {', '.join(PREFERENCE_RATERS)}, as in rule:mention or "
        "openai:MODEL@URL."
    )


__all__ = [
    "PREFERENCE_RATERS",
    "VIEW",
    "PreferenceJudging",
    "PreferenceRater",
    "Scorer",
    "ScorerPreference",
    "compared",
    "make_preference_rater",
    "names_attribute",
    "naming_rater",
    "preference_job",
    "preference_lanes",
    "preferring_rater",
]
