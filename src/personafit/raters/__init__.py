"""Who answers: prompted models, rules, functions. A new kind is one file and one line in `RATERS` (or an entry point)."""

from collections.abc import Callable
from dataclasses import replace

from personafit._errors import UserError
from personafit._plugins import NAME, find_plugin
from personafit.items import FIT, ChoiceQuestion, Shown, guarded_question
from personafit.items.reading import replay_key
from personafit.models import Model, Spec, make_model, parse_spec
from personafit.raters.aspects import aspect_rater
from personafit.raters.blend import BlendRater
from personafit.raters.fitted.rater import FittedRater
from personafit.raters.function import FunctionRater
from personafit.raters.judging import Judging, judging_lanes, select_items
from personafit.raters.likelihood import likelihood_rater
from personafit.raters.prompted import PromptedRater
from personafit.raters.rater import Part, Rater, Verdict, choice_of, rater_record
from personafit.raters.reward import reward_rater
from personafit.raters.rule import RULES, RuleRater


def _llm(spec: Spec) -> Rater:
    if "ask" in spec.options:
        return likelihood_rater(spec)
    if "guard" not in spec.options:
        return choosing_rater(make_model(spec))
    question = guarded_question(spec.options["guard"])
    rest = {name: value for name, value in spec.options.items() if name != "guard"}
    return choosing_rater(make_model(replace(spec, options=rest)), question)


def choosing_rater(model: Model, question: ChoiceQuestion = FIT) -> PromptedRater[Shown]:
    """Asks a model which answer fits."""
    settings = {"question": question.fingerprint, "reading": "letters-then-parser-1"}
    return PromptedRater(model, question, settings, order_matters=True)


RATERS: dict[str, Callable[[Spec], Rater]] = {
    "embedded": _llm,
    "hf": _llm,
    "inspect": _llm,
    "openai": _llm,
    "replay": _llm,
    "rule": RuleRater,
    "fitted": FittedRater,
    "reward": reward_rater,
    "blend": BlendRater,
    "python": FunctionRater,
    "aspects": aspect_rater,
}
"""Kind of spec to what makes the rater."""


def make_rater(text: str) -> Rater:
    """The rater a spec names."""
    spec = parse_spec(text)
    if spec.kind in RATERS:
        return RATERS[spec.kind](spec)
    if (found := find_plugin("raters", spec.kind)) is not None:
        if hasattr(found, NAME):  # a function that `personafit.rater` has named
            return FunctionRater(spec, found)
        made: Rater = found(spec)
        return made
    raise UserError(
        f"'{text}' names no rater; kinds are {', '.join(RATERS)}, as in rule:length or openai:MODEL@URL."
    )


__all__ = [
    "RATERS",
    "RULES",
    "Judging",
    "Part",
    "PromptedRater",
    "Rater",
    "Verdict",
    "choice_of",
    "choosing_rater",
    "judging_lanes",
    "make_rater",
    "rater_record",
    "replay_key",
    "select_items",
]
