"""Relevance from a score per attribute: rules, embeddings, fitted matchers, a function of the user's own.

All of them see the whole list at once. Where a score has a natural border (any word in common, a matcher's own threshold)
the answer follows from it, and a score right on the border is a yes. BM25 and cosines have none: their judgments carry
the score alone, and the report learns on other prompts how many of a list to pick.
"""

import asyncio
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence, Set
from typing import Any

from personafit._errors import UserError
from personafit.items.relevance import ALONE, NO, YES, Listing
from personafit.models import PYTHON_OPTIONS, ChatRequest, Spec, Unanswerable, code_hash
from personafit.models.functions import call_named, load_function
from personafit.people import Person
from personafit.raters.rater import Part, Verdict, rater_record
from personafit.raters.relevance.rules import RULES, Rule, rule_code
from personafit.store import RaterRecord


class ScoredRelevance(ABC):
    """Scores every attribute of a list; `threshold` is where yes begins, None where that has to be learnt."""

    by_list = True
    most_listed: int | None = None
    price: tuple[float, float] | None = (0.0, 0.0)
    max_concurrency = 1
    needs_prompt = True
    threshold: float | None = None
    endpoint: str
    record: RaterRecord

    async def rate(self, listing: Listing) -> Verdict:
        """Score, and answer where the score has a border of its own."""
        scores = await self.scores(listing)
        parts = [
            Part("", self._label(score), float(score), item=one.item)
            for one, score in zip(listing.candidates, scores, strict=True)
        ]
        return Verdict(parts=parts, answers_whole=False)

    @abstractmethod
    async def scores(self, listing: Listing) -> list[float]:
        """One finite number per attribute."""

    def request(self, listing: Listing) -> ChatRequest | None:
        """No model is called."""
        return None

    async def close(self) -> None:  # noqa: B027  # most have nothing to release
        """Nothing to release."""

    def _label(self, score: float) -> str | None:
        if self.threshold is None:
            return None
        return YES if score >= self.threshold else NO


class RuleRelevance(ScoredRelevance):
    """A rule without any learning."""

    endpoint = "rule"

    def __init__(self, spec: Spec) -> None:
        spec.allow(())
        if spec.name not in RULES:
            listed = ", ".join(f"rule:{name}" for name in RULES)
            raise UserError(f"{spec.text}: there is no such rule about relevance; there are {listed}.")
        self._rule: Rule = RULES[spec.name]
        self.threshold = self._rule.threshold
        settings = {"rule": f"relevance/{spec.name}", "code": rule_code(spec.name)}
        self.record = rater_record(spec.text, "rule", settings)

    async def scores(self, listing: Listing) -> list[float]:
        """What the rule says."""
        return self._rule.score(listing.prompt, listing.attributes)


class FittedRelevance(ScoredRelevance):
    """A matcher fitted on people's judgments."""

    needs_prompt = False

    def __init__(self, spec: Spec) -> None:
        from personafit.raters.fitted.file import open_fitted

        spec.allow(())
        self._matcher = open_fitted(spec, "relevance")
        self.threshold = self._matcher.threshold
        self.endpoint = spec.text
        self.record = rater_record(spec.text, "fitted", {"matcher": self._matcher.fingerprint})

    @property
    def fitted_on(self) -> frozenset[str]:
        """Hashes of the prompts it was fitted on, as far as it knows them."""
        return frozenset(getattr(self._matcher, "fitted_on", ()))

    async def scores(self, listing: Listing) -> list[float]:
        """The probabilities of the matcher; reasons are for those who are shown them."""
        reasons = [one.reason for one in listing.candidates] if listing.view == "reason" else None
        prompt = "" if listing.view == ALONE else listing.prompt
        scores = await asyncio.to_thread(self._matcher.score, prompt, listing.attributes, reasons)
        return [float(score) for score in scores]


class FunctionRelevance(ScoredRelevance):
    """`python:MODULE:OBJECT`, called as `function(prompt=..., attributes=[...], person=Person)`.

    It returns one truth value or one number per attribute; numbers count from the object's own `threshold`, if it has one.
    """

    needs_prompt = False

    def __init__(self, spec: Spec, people: Mapping[str, Person]) -> None:
        spec.allow(PYTHON_OPTIONS)
        self._function = load_function(spec, "relevance.md")
        self._people = people
        self.endpoint = spec.text
        self.max_concurrency = int(spec.number("concurrency", 8, least=1))
        self.threshold = getattr(self._function, "threshold", None)
        settings = {"object": spec.name, "code": code_hash(self._function, spec), "threshold": self.threshold}
        self.record = rater_record(spec.text, "python", settings)

    async def scores(self, listing: Listing) -> list[float]:
        """What the function returns, checked; truth values stay what they are."""
        prompt = "" if listing.view == ALONE else listing.prompt
        result = await call_named(
            self.record.name,
            self._function,
            prompt=prompt,
            attributes=listing.attributes,
            person=self._people[listing.person],
        )
        return self._checked(result, len(listing.candidates))

    def _label(self, score: float) -> str | None:
        if _is_bool(score):
            return YES if score else NO
        return super()._label(score)

    def _checked(self, result: Any, count: int) -> list[float]:
        try:
            # The characters of a text and the keys of a mapping would pass for answers.
            values: Sequence[Any] = [] if isinstance(result, str | bytes | Mapping | Set) else list(result)
            scores = [one if _is_bool(one) else float(one) for one in values]
        except (TypeError, ValueError):
            scores = []
        if len(scores) != count or not all(map(math.isfinite, scores)):
            raise Unanswerable(
                f"{self.record.name} must return {count} truth values or finite numbers, not {result!r:.80}."
            )
        return scores


def _is_bool(value: Any) -> bool:
    return type(value).__name__ in ("bool", "bool_")  # Python's own, and NumPy's under both of its names
