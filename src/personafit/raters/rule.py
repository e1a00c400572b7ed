"""One-line rules as raters: the controls every score has to beat.

A new rule is one function and a line each in `RULES` and `VERSIONS`; one that is to score otherwise gets a new version.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise

from personafit._errors import UserError
from personafit._versions import fingerprint_of
from personafit.contexts import Context
from personafit.items import ChoiceQuestion, Shown
from personafit.models import ChatRequest, Spec
from personafit.raters.rater import Verdict, choice_of, rater_record

Rule = Callable[[str, str, Context], float]


def length(answer: str, prompt: str, context: Context) -> float:
    """Number of code points of the answer as given."""
    return float(len(answer))


def overlap(answer: str, prompt: str, context: Context) -> float:
    """Distinct character bigrams of the answer that occur in the person's values and not in the prompt."""
    return float(len((_bigrams(answer) & _bigrams(" ".join(context.values))) - _bigrams(prompt)))


def second_person(answer: str, prompt: str, context: Context) -> float:
    """How often the answer says you (你, 您)."""
    return float(len(_YOU.findall(answer)))


def markup(answer: str, prompt: str, context: Context) -> float:
    """How much markup the answer has: bold, code, headings, list items."""
    return float(len(_MARKUP.findall(answer)))


def name(answer: str, prompt: str, context: Context) -> float:
    """How often the answer names the person, by the whole name or a part of it."""
    if not context.called:
        return 0.0
    parts = {context.called, *(part for part in re.split(r"[\s·]+", context.called) if len(part) > 1)}
    return float(sum(answer.count(part) for part in parts))


_YOU = re.compile(r"\b(?:you|your|yours|yourself)\b|[你您]", re.IGNORECASE)
_MARKUP = re.compile(r"\*\*|`|^\s*(?:#+|[-*•]|\d+[.)、])\s", re.MULTILINE)


@lru_cache(256)
def _bigrams(text: str) -> frozenset[str]:
    return frozenset(map("".join, pairwise(text)))


RULES: dict[str, Rule] = {
    "length": length,
    "overlap": overlap,
    "second-person": second_person,
    "markup": markup,
    "name": name,
}
"""Name to rule, as in `rule:length`."""

VERSIONS = {"length": "1", "overlap": "1", "second-person": "1", "markup": "1", "name": "1"}
"""Name of a rule to its version."""


def rule_code(name: str) -> str:
    """What a rule's version is called in fingerprints."""
    return fingerprint_of(f"rule/choice/{name}", VERSIONS[name])


class RuleRater:
    """Prefers the answer that scores highest by a rule."""

    endpoint = "rule"
    max_concurrency = 1
    price = (0.0, 0.0)
    order_matters = False

    def __init__(self, spec: Spec) -> None:
        spec.allow(())
        if spec.name not in RULES:
            raise UserError(
                f"{spec.text}: there is no such rule; there are {', '.join(f'rule:{r}' for r in RULES)}."
            )
        self._rule = RULES[spec.name]
        self.record = rater_record(spec.text, "rule", {"rule": spec.name, "code": rule_code(spec.name)})

    async def rate(self, shown: Shown, question: ChoiceQuestion) -> Verdict:
        """Score each answer by itself."""
        scores = [self._rule(text, shown.item.prompt, shown.context) for text in shown.texts]
        label, margin = choice_of(scores)
        return Verdict(label=label, value=margin)

    def request(self, shown: Shown, question: ChoiceQuestion) -> ChatRequest | None:
        """Rules call no model."""
        return None

    async def close(self) -> None:
        """Nothing to release."""
