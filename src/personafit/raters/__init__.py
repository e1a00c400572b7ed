"""Who answers: prompted models, rules, reward models, fitted models, functions. A new sort is one file and one line in `RATERS` (or an
entry point). Each says which questions it can answer, and means the same whatever is judged.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from personafit._errors import UserError
from personafit._plugins import NAME, find_plugin
from personafit.items import guarded_question
from personafit.items.choice import CHOICES
from personafit.items.reading import Part, PartAnswer, QuestionSet, Verdict, choice_of, replay_key
from personafit.models import MODELS, Spec, make_model, parse_spec
from personafit.people import Person
from personafit.raters.blend import BlendRater
from personafit.raters.fitted.rater import fitted_rater
from personafit.raters.function import python_rater, takes_messages
from personafit.raters.prompted import PromptedRater, likelihood_rater
from personafit.raters.rater import Rater, rated, rater_lane, rater_record, rating_job
from personafit.raters.reward import reward_rater
from personafit.raters.rules import RULES, rule_rater
from personafit.raters.scored import ScoredRater, Scorer, embedding_rater

NOBODY: Mapping[str, Person] = MappingProxyType({})
People = Mapping[str, Person]


def _prompted(spec: Spec, asks: QuestionSet) -> Rater:
    """A model that is asked the plain question; options say otherwise: ask=likelihood and guard=, and samples= for dialogues."""
    plain, samples = _without_samples(spec, asks)
    questions, options = asks.asked, dict(plain.options)
    if asks.kind == CHOICES.kind:
        if "ask" in options:
            return likelihood_rater(spec)
        if "guard" in options:
            questions = (guarded_question(options.pop("guard")),)
    return PromptedRater(make_model(replace(spec, options=options)), questions, samples=samples)


def _without_samples(spec: Spec, asks: QuestionSet) -> tuple[Spec, int]:
    """The spec without `samples=`, and how often a judge of dialogues is asked the same; other kinds have no such option."""
    if len(asks.asked) == 1 or "samples" not in spec.options:
        return spec, 1
    number = spec.number("samples", 1, least=1)
    if number != int(number):
        raise UserError(f"{spec.text}: samples must be a whole number.")
    options = {name: value for name, value in spec.options.items() if name != "samples"}
    return replace(spec, options=options), int(number)


def _function(spec: Spec, asks: QuestionSet, people: People, function: Any = None) -> Rater:
    plain, samples = _without_samples(spec, asks)
    rater = python_rater(plain, asks, people, function)
    if samples > 1 and rater.questions != asks.asked:
        raise UserError(f"{spec.text}: what gives scores is asked once; leave samples= out.")
    rater.samples = samples
    return rater


def _prefixed(spec: Spec, asks: QuestionSet) -> Rater:
    """`list:SPEC` and the like: what follows the first colon is a spec of its own, address and options included."""
    text = spec.text.strip().partition(":")[2]
    if not text:
        raise UserError(f"{spec.text}: say which model is asked, as in {spec.kind}:openai:MODEL@URL.")
    model = make_model(parse_spec(text))
    return PromptedRater(model, (asks.prefixed[spec.kind],), name=f"{spec.kind}:{model.name}")


def _aspects(spec: Spec, asks: QuestionSet) -> Rater:
    from personafit.raters.aspects import aspect_rater

    return aspect_rater(spec, asks)


Factory = Callable[[Spec, QuestionSet], Rater]

RATERS: dict[str, Factory] = {
    **{kind: _prompted for kind in MODELS if kind != "python"},
    "rule": rule_rater,
    "embedding": embedding_rater,
    "fitted": fitted_rater,
    "reward": reward_rater,
    "blend": BlendRater,
    "aspects": _aspects,
}
"""Kind of spec to what makes the rater; `python:` and the prefixes of a question set come on top."""


def make_rater(text: str, asks: QuestionSet = CHOICES, people: People = NOBODY) -> Rater:
    """The rater a spec names, for items that are asked these questions."""
    spec = parse_spec(text)
    if spec.kind in asks.prefixed:
        return _prefixed(spec, asks)
    if spec.kind in RATERS:
        return RATERS[spec.kind](spec, asks)
    if spec.kind == "python":
        # Functions that judge dialogues were models before, and are read as such for one more release.
        if asks.kind == "dialogue" and takes_messages(spec):
            return _prompted(spec, asks)
        return _function(spec, asks, people)
    if (found := find_plugin("raters", spec.kind)) is not None:
        if hasattr(found, NAME):  # a function that `personafit.rater` has named
            return _function(spec, asks, people, found)
        made: Rater = found(spec)
        if made.kinds is not None and asks.kind not in made.kinds:
            raise UserError(
                f"{text} judges {' and '.join(made.kinds)} items and cannot say {asks.by_score.sought}."
            )
        if not hasattr(made, "questions"):
            made.questions = (asks.by_score,)
        return made
    named = [*asks.prefixed, *RATERS, "python"]
    raise UserError(
        f"'{text}' names no rater of {asks.kind} items; kinds are {', '.join(named)}, as in rule:length or openai:MODEL@URL."
    )


__all__ = [
    "RATERS",
    "RULES",
    "Part",
    "PartAnswer",
    "PromptedRater",
    "Rater",
    "ScoredRater",
    "Scorer",
    "Verdict",
    "choice_of",
    "make_rater",
    "rated",
    "rater_lane",
    "rater_record",
    "rating_job",
    "replay_key",
]
