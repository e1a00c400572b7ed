"""Who says which attributes matter for a prompt. A new kind is one file and one line in `RELEVANCE_RATERS`.

A plain model spec is asked pair by pair; `list:SPEC` and `graded:SPEC` ask the same model otherwise. `pair:SPEC` is for models
whose plain spec means something else, such as `pair:python:MODULE:OBJECT`.
"""

from collections.abc import Callable, Mapping

from personafit._errors import UserError
from personafit.items.relevance import GRADED, LIST, MOST_LISTED, PAIR, Listing, RelevanceQuestion
from personafit.models import Model, Spec, make_model, parse_spec
from personafit.people import Person
from personafit.raters.prompted import PromptedRater
from personafit.raters.relevance.embedding import EmbeddingRelevance
from personafit.raters.relevance.judging import RelevanceJudging, relevance_job, relevance_lanes
from personafit.raters.relevance.rater import RelevanceRater
from personafit.raters.relevance.reasons import REASON, attribute_reasons
from personafit.raters.relevance.scored import FittedRelevance, FunctionRelevance, RuleRelevance

Factory = Callable[[Spec, Mapping[str, Person]], RelevanceRater]


def _asking(question: RelevanceQuestion, wrapped: bool = True) -> Factory:
    def factory(spec: Spec, people: Mapping[str, Person]) -> RelevanceRater:
        return asking_rater(spec.text.strip(), make_model(_inner(spec) if wrapped else spec), question)

    return factory


def asking_rater(name: str, model: Model, question: RelevanceQuestion) -> PromptedRater[Listing]:
    """Asks a model which attributes matter."""
    settings = {"question": question.fingerprint, "reading": "relevance-1"}
    most = MOST_LISTED if question.by_list else None
    return PromptedRater(model, question, settings, name=name, most_listed=most)


def _inner(spec: Spec) -> Spec:
    """What follows the first colon is a spec of its own, address and options included."""
    text = spec.text.strip().partition(":")[2]
    if not text:
        raise UserError(f"{spec.text}: say which model is asked, as in {spec.kind}:openai:MODEL@URL.")
    return parse_spec(text)


RELEVANCE_RATERS: dict[str, Factory] = {
    "embedded": _asking(PAIR, wrapped=False),
    "hf": _asking(PAIR, wrapped=False),
    "inspect": _asking(PAIR, wrapped=False),
    "openai": _asking(PAIR, wrapped=False),
    "replay": _asking(PAIR, wrapped=False),
    "pair": _asking(PAIR),
    "list": _asking(LIST),
    "graded": _asking(GRADED),
    "rule": lambda spec, people: RuleRelevance(spec),
    "embedding": lambda spec, people: EmbeddingRelevance(spec),
    "fitted": lambda spec, people: FittedRelevance(spec),
    "python": FunctionRelevance,
}


def make_relevance_rater(text: str, people: Mapping[str, Person]) -> RelevanceRater:
    """The relevance rater a spec names."""
    spec = parse_spec(text)
    if spec.kind not in RELEVANCE_RATERS:
        raise UserError(
            f"'{text}' names no relevance rater; kinds are {', '.join(RELEVANCE_RATERS)}, as in rule:bm25, "
            "openai:MODEL@URL or list:openai:MODEL@URL."
        )
    return RELEVANCE_RATERS[spec.kind](spec, people)


__all__ = [
    "REASON",
    "RELEVANCE_RATERS",
    "RelevanceJudging",
    "RelevanceRater",
    "asking_rater",
    "attribute_reasons",
    "make_relevance_rater",
    "relevance_job",
    "relevance_lanes",
]
