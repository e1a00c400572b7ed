"""Preferences from rules, from scalar scorers such as reward models, and from a function of the user's own.

A scorer gives `score(prompt, attribute, answer)`: one number for an answer to somebody of whom the attribute is true. The
personalized answer's score minus the generic one's is kept as it is, without a mark: how far apart two scores are means
something only beside the other differences of the run, so the report puts them on the scale from 1 to 5 by rank.
"""

import math
from collections.abc import Callable, Mapping, Set
from typing import Any, Protocol

from personafit._errors import UserError
from personafit._hashing import draw
from personafit._versions import fingerprint_of
from personafit.items.preference import (
    GENERIC,
    HIGHEST,
    LOWEST,
    MIDDLE,
    PERSONAL,
    PREFERENCE,
    Compared,
    turned,
)
from personafit.models import (
    PYTHON_OPTIONS,
    ChatRequest,
    Spec,
    Unanswerable,
    call,
    code_hash,
    load_instance,
    one_line,
)
from personafit.raters.preference.mention import NAMING_VERSION, names_attribute
from personafit.raters.rater import Part, Verdict, rater_record
from personafit.store import RaterRecord


class Scorer(Protocol):
    """What a reward model has to offer to rate preferences."""

    def score(self, prompt: str, attribute: str, answer: str) -> float:
        """How good the answer is for somebody of whom the attribute is true; any scale, higher is better."""


class _Free:
    """What raters that call no model have in common."""

    question = PREFERENCE
    order_matters = False
    max_concurrency = 1
    price: tuple[float, float] | None = (0.0, 0.0)
    endpoint: str
    record: RaterRecord

    def request(self, compared: Compared) -> ChatRequest | None:
        """No model is called."""
        return None

    async def close(self) -> None:
        """Nothing to release."""


Rule = Callable[[Compared, str], tuple[str | None, float]]


def length(compared: Compared, attribute: str) -> tuple[str | None, float]:
    """How much longer the personalized answer is, as the logarithm of the ratio; the report puts it on the scale."""
    generic, personal = (max(1, len(answer)) for answer in compared.answers)
    return None, math.log(personal / generic)


def mention(compared: Compared, attribute: str) -> tuple[str | None, float]:
    """5 where the personalized answer names the attribute, else 3: what a judge would say to whom mention is merit."""
    generic, personal = compared.answers
    named = names_attribute(attribute, compared.prompt, generic, personal)
    return (str(HIGHEST), float(HIGHEST)) if named else (str(MIDDLE), float(MIDDLE))


RULES: dict[str, Rule] = {"length": length, "mention": mention}
VERSIONS = {"length": "1", "mention": "1"}


def rule_code(name: str) -> str | list[str]:
    """What a rule's version, and that of what it is built on, is called in fingerprints."""
    own = fingerprint_of(f"rule/preference/{name}", VERSIONS[name])
    return [own, fingerprint_of("names-attribute", NAMING_VERSION)] if name == "mention" else own


class RulePreference(_Free):
    """A rule; a new one is one function and a line each in `RULES` and `VERSIONS`."""

    endpoint = "rule"

    def __init__(self, spec: Spec) -> None:
        spec.allow(())
        if spec.name not in RULES:
            listed = ", ".join(f"rule:{name}" for name in RULES)
            raise UserError(f"{spec.text}: there is no such rule about preferences; there are {listed}.")
        self._rule = RULES[spec.name]
        settings = {"rule": f"preference/{spec.name}", "code": rule_code(spec.name)}
        self.record = rater_record(spec.text, "rule", settings)

    async def rate(self, compared: Compared) -> Verdict:
        """What the rule says of each attribute."""
        parts = [Part(target, *self._rule(compared, text)) for target, text in compared.attributes]
        return Verdict(parts=parts, answers_whole=False)


class ScorerPreference(_Free):
    """Any scalar scorer as a rater: a reward model, a fitted head, an object of the user's own."""

    def __init__(self, scorer: Scorer, record: RaterRecord, max_concurrency: int = 1) -> None:
        self._scorer = scorer
        self.record = record
        self.endpoint = record.name
        self.max_concurrency = max_concurrency

    async def rate(self, compared: Compared) -> Verdict:
        """The difference of the two scores for each attribute; the scores themselves are kept beside it."""
        parts = []
        for target, attribute in compared.attributes:
            scores = [await self._score(compared.prompt, attribute, answer) for answer in compared.answers]
            parts.append(Part(target, None, scores[PERSONAL] - scores[GENERIC], scores))
        return Verdict(parts=parts, answers_whole=False)

    async def _score(self, prompt: str, attribute: str, answer: str) -> float:
        try:
            score = float(await call(self._scorer.score, prompt, attribute, answer))
        except Exception as error:
            raise Unanswerable(
                f"{self.record.name} raised {type(error).__name__}: {one_line(error)}."
            ) from error
        if not math.isfinite(score):
            raise Unanswerable(f"{self.record.name} must give a finite number, not {score!r}.")
        return score


class FunctionPreference(_Free):
    """A function called as `function(prompt=..., attributes=[...], answers=[A, B])` that gives one mark per attribute.

    Marks run from 1 (clearly A) to 5 (clearly B). If the object has `order_matters`, it is asked in both orders; else in one that is
    drawn for each item, so that no place means the personalized answer.
    """

    def __init__(self, spec: Spec, function: Callable[..., Any]) -> None:
        self._function = function
        self.endpoint = spec.text
        self.max_concurrency = int(spec.number("concurrency", 8, least=1))
        self.order_matters = bool(getattr(function, "order_matters", False))
        settings = {
            "object": spec.name,
            "code": code_hash(function, spec),
            "orders": self.order_matters or "drawn",
        }
        self.record = rater_record(spec.text, "python", settings)

    async def rate(self, compared: Compared) -> Verdict:
        """Call the function with the answers in the order shown, and turn its marks."""
        order = compared.order
        if not self.order_matters and draw("shown", compared.item, among=2):
            order = (PERSONAL, GENERIC)
        try:
            result = await call(
                self._function,
                prompt=compared.prompt,
                attributes=[text for _, text in compared.attributes],
                answers=[compared.answers[place] for place in order],
            )
        except Exception as error:
            raise Unanswerable(
                f"{self.record.name} raised {type(error).__name__}: {one_line(error)}."
            ) from error
        marks = self._marks(result, len(compared.attributes))
        parts = []
        for (target, _), mark in zip(compared.attributes, marks, strict=True):
            toward = turned(mark, order)
            parts.append(Part(target, str(toward), float(toward)))
        return Verdict(parts=parts, answers_whole=False)

    def _marks(self, result: Any, count: int) -> list[int]:
        try:
            values = [] if isinstance(result, str | bytes | Mapping | Set) else [float(one) for one in result]
        except (TypeError, ValueError):
            values = []
        if len(values) != count or any(value not in range(LOWEST, HIGHEST + 1) for value in values):
            raise Unanswerable(
                f"{self.record.name} must return {count} whole numbers from {LOWEST} to {HIGHEST}, not {result!r:.80}."
            )
        return [int(value) for value in values]


def python_preference(spec: Spec) -> "ScorerPreference | FunctionPreference":
    """`python:MODULE:OBJECT`: an object with `score` is a scorer, any other callable gives marks."""
    spec.allow(PYTHON_OPTIONS)
    found = load_instance(spec)
    if callable(getattr(found, "score", None)):
        record = rater_record(spec.text, "reward", {"object": spec.name, "code": code_hash(found, spec)})
        return ScorerPreference(found, record, int(spec.number("concurrency", 8, least=1)))
    if not callable(found):
        raise UserError(
            f"{spec.text}: {spec.name} neither has `score` nor can be called; see docs/responses.md."
        )
    return FunctionPreference(spec, found)
