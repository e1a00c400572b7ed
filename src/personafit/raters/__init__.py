"""Raters: prompted models, rules, reward models, fitted models, functions. A new type is one file and one line in `RATERS` (or an
entry point). A spec means the same for every kind of item, and a rater says which questions it can answer.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType

from personafit._errors import UserError
from personafit._plugins import NAME, find_plugin
from personafit.items.choice import CHOICES
from personafit.items.reading import PartAnswer, QuestionSet, Verdict
from personafit.models import MODELS, Spec, parse_spec
from personafit.people import Person
from personafit.raters.rater import Rater, rater_lane, rater_record, rating_job

NOBODY: Mapping[str, Person] = MappingProxyType({})
Factory = Callable[[Spec, QuestionSet], Rater]


def _made_by(module: str, name: str) -> Factory:
    """Return a factory that imports its module when the first rater is made."""

    def make(spec: Spec, asks: QuestionSet) -> Rater:
        rater: Rater = getattr(import_module(f"{__name__}.{module}"), name)(spec, asks)
        return rater

    return make


_PROMPTED = _made_by("prompted", "prompted_rater")
RATERS: dict[str, Factory] = {
    **{kind: _PROMPTED for kind in MODELS if kind != "python"},
    "rule": _made_by("rules", "RuleRater"),
    "embedding": _made_by("embedding", "EmbeddingRater"),
    "fitted": _made_by("fitted.model", "FittedRater"),
    "reward": _made_by("reward", "reward_rater"),
    "blend": _made_by("blend", "BlendRater"),
    "aspects": _made_by("aspects", "aspect_rater"),
}
"""Registry: spec prefix to rater factory; `python:` and the prefixes of a question set come on top."""


def make_rater(text: str, asks: QuestionSet = CHOICES, people: Mapping[str, Person] = NOBODY) -> Rater:
    """Create the rater that `text` specifies, for items that are asked these questions."""
    spec = parse_spec(text)
    if spec.kind in asks.prefixed:
        return _PROMPTED(spec, asks)
    if spec.kind in RATERS:
        return RATERS[spec.kind](spec, asks)
    found = None if spec.kind == "python" else find_plugin("raters", spec.kind)
    # A function is given as MODULE:OBJECT, or by the name that `personafit.rater` gave it.
    if spec.kind == "python" or hasattr(found, NAME):
        from personafit.raters.function import python_rater, takes_messages

        # Functions that judge dialogues used to be models, and are still accepted as such for one more release.
        if found is None and asks.kind == "dialogue" and takes_messages(spec):
            return _PROMPTED(spec, asks)
        return python_rater(spec, asks, people, found)
    if found is None:
        _refuse_prefix(text, spec.kind, asks)
        named = [*asks.prefixed, *RATERS, "python"]
        raise UserError(
            f"'{text}' names no rater of {asks.kind} items; kinds are {', '.join(named)}, as in rule:length or openai:MODEL@URL."
        )
    made: Rater = found(spec)
    if made.kinds is not None and asks.kind not in made.kinds:
        raise UserError(
            f"{text} judges {' and '.join(made.kinds)} items and cannot say {asks.by_score.sought}."
        )
    if not hasattr(made, "questions"):
        made.questions = (asks.by_score,)
    return made


def _refuse_prefix(text: str, prefix: str, asks: QuestionSet) -> None:
    """Raise a UserError if the prefix belongs to another kind of item."""
    from personafit.items.preference import PREFERENCES
    from personafit.items.relevance import ATTRIBUTES

    for other in (ATTRIBUTES, PREFERENCES):
        if prefix in other.prefixed:
            raise UserError(
                f"{text}: {prefix}: is a way of asking about {other.kind} items and cannot say {asks.by_score.sought}; leave it out."
            )


__all__ = [
    "RATERS",
    "PartAnswer",
    "Rater",
    "Verdict",
    "make_rater",
    "rater_lane",
    "rater_record",
    "rating_job",
]
