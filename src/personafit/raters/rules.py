"""One-line rules as raters: the controls every score has to beat.

A rule is identified by its name and by what it scores: `rule:overlap` is overlap with the person on answers, with the prompt on
attributes. A new rule is one function and one line in `RULES`; a rule whose scores change gets a new version.
"""

import math
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from personafit._errors import UserError
from personafit._versions import fingerprint_of
from personafit.contexts import Context
from personafit.items.reading import Question, QuestionSet, Unit, Verdict
from personafit.models import Spec
from personafit.people import names_of
from personafit.raters.characters import long_words, neighbours
from personafit.raters.rater import UNIT_WORDS, ScoredRater


def length(unit: Unit) -> float:
    """Return the number of code points of the answer as given."""
    return float(len(unit.text))


def overlap(unit: Unit) -> float:
    """Return the number of distinct character bigrams of the answer that occur in the person's values and not in the prompt."""
    (_, own), (_, asked) = neighbours(unit.text), neighbours(unit.prompt)
    _, known = neighbours(" ".join(unit.context.values))
    return float(len((own & known) - asked))


def second_person(unit: Unit) -> float:
    """Return how often the answer uses second-person pronouns (you, 你, 您)."""
    return float(len(_YOU.findall(unit.text)))


def markup(unit: Unit) -> float:
    """Return the amount of markup in the answer: bold, code, headings, list items."""
    return float(len(_MARKUP.findall(unit.text)))


def name(unit: Unit) -> float:
    """Return how often the answer names the person, by the whole name or a part of it."""
    return float(sum(unit.text.count(called) for called in names_of(unit.context.facets)))


def always_yes(units: Sequence[Unit]) -> list[float]:
    """Return 1 for every attribute."""
    return [1.0] * len(units)


def bm25(units: Sequence[Unit]) -> list[float]:
    """Return the BM25 score of each attribute for the prompt, among the attributes of the list."""
    import bm25s  # type: ignore[import-untyped]

    words = bm25s.tokenize([units[0].prompt], stopwords="en", return_ids=False, show_progress=False)[0]
    texts = bm25s.tokenize(
        [unit.text for unit in units], stopwords="en", return_ids=False, show_progress=False
    )
    asked = sorted(set(words) & {word for text in texts for word in text})
    if not asked:  # the library takes no empty query
        return [0.0] * len(units)
    index = bm25s.BM25()
    index.index(texts, show_progress=False)
    return [float(score) for score in index.get_scores(asked)]


def shared_words(unit: Unit) -> float:
    """Return how many distinct words of four letters or more the attribute shares with the prompt."""
    return float(len(long_words(unit.text) & long_words(unit.prompt)))


def longer(unit: Unit) -> float:
    """Return the log ratio of the lengths of the first and the second answer."""
    first, second = (max(1, len(answer)) for answer in unit.answers)
    return math.log(first / second)


def mention(unit: Unit) -> float:
    """Return 5 if the first answer names the attribute, else 3, like a judge that rewards mention alone."""
    from personafit.items.preference import HIGHEST, MIDDLE
    from personafit.raters.naming import names_attribute

    first, second = unit.answers
    return float(HIGHEST if names_attribute(unit.text, unit.prompt, second, first) else MIDDLE)


_YOU = re.compile(r"\b(?:you|your|yours|yourself)\b|[你您]", re.IGNORECASE)
_MARKUP = re.compile(r"\*\*|`|^[^\S\n]*(?:#+|[-*•]|\d+[.)、])\s", re.MULTILINE)


Score = Callable[[Sequence[Unit]], list[float]]


def _each(score: Callable[[Unit], float]) -> Score:
    return lambda units: [score(unit) for unit in units]


class Rule(NamedTuple):
    """A rule for one type of unit."""

    score: Score
    threshold: float | None = None  # the score from which the answer is yes; None if there is none
    on_scale: bool = False
    version: str = "1"


RULES: dict[str, dict[str, Rule]] = {
    "answer": {
        "length": Rule(_each(length)),
        "overlap": Rule(_each(overlap)),
        "second-person": Rule(_each(second_person)),
        "markup": Rule(_each(markup)),
        "name": Rule(_each(name), version="2"),
    },
    "attribute": {
        "always-yes": Rule(always_yes, threshold=1.0),
        "bm25": Rule(bm25),
        "overlap": Rule(_each(shared_words), threshold=1.0),
    },
    "pair": {"length": Rule(_each(longer)), "mention": Rule(_each(mention), on_scale=True)},
}
"""Type of unit to the rules that score it, by name as in `rule:length`."""
PINNED_AS = {"answer": "choice", "attribute": "relevance", "pair": "preference"}
"""The names of the types of unit in fingerprints."""


def rule_lead(name: str, first: str, second: str, prompt: str, context: Context) -> float:
    """Return how far the first answer is ahead of the second by a rule for answers."""
    ahead, behind = RULES["answer"][name].score([Unit(text, prompt, context) for text in (first, second)])
    return ahead - behind


class RuleRater(ScoredRater):
    """Rater for `rule:NAME`."""

    endpoint = "rule"

    def __init__(self, spec: Spec, asks: QuestionSet) -> None:
        spec.allow(())
        question, name = asks.by_score, spec.name
        unit = next((unit for unit in question.scored_by if name in RULES.get(unit, {})), None)
        if unit is None:
            scored = next((unit for unit, rules in RULES.items() if name in rules), None)
            fault = f"it {UNIT_WORDS[scored]}, not {asks.kind} items" if scored else "there is no such rule"
            there = ", ".join(rule_names(question)) or "none"
            raise UserError(f"{spec.text}: {fault}; rules that can say {question.sought}: {there}.")
        self.unit, self._rule = unit, RULES[unit][name]
        self.threshold, self.on_scale = self._rule.threshold, self._rule.on_scale
        self.needs_prompt = unit == "attribute"
        named = name if unit == "answer" else f"{PINNED_AS[unit]}/{name}"
        self.judge_by(question, spec.text, "rule", {"rule": named, "code": rule_code(unit, name)})

    async def scores(self, units: Sequence[Unit], verdict: Verdict) -> list[float]:
        return self._rule.score(units)


def rule_names(question: Question) -> list[str]:
    """Return the specs of the rules whose scores answer a question."""
    return list(dict.fromkeys(f"rule:{name}" for unit in question.scored_by for name in RULES.get(unit, {})))


def rule_code(unit: str, name: str) -> str | list[str]:
    """Return the fingerprint of a rule's version; for `mention` also that of the detector it is built on."""
    own = fingerprint_of(f"rule/{PINNED_AS[unit]}/{name}", RULES[unit][name].version)
    if name != "mention":
        return own
    from personafit.raters.naming import NAMING_VERSION

    return [own, fingerprint_of("names-attribute", NAMING_VERSION)]
