"""`python:MODULE:OBJECT` as a rater: a user's function that judges items of any kind.

A function of one parameter is called with what is shown (`Shown`). Any other is called with those of `person` (the text of
the context), `question`, `answers` and `person_id` that it takes. It returns what the question's scale allows: for a choice one number per
answer (the highest wins), an index, a letter or `tie`; for attributes a truth value or a number each; for preferences a mark from 1 to
5 each; for a dialogue a mark. An object with `score(prompt, person, answer)` scores answers by themselves.
"""

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from personafit._errors import UserError
from personafit._plugins import NAME
from personafit.items.reading import QuestionSet, Shown, Unit, Verdict
from personafit.models import Spec, Unanswerable
from personafit.models.functions import PYTHON_OPTIONS, call_named, code_hash, load_instance, parameters_of
from personafit.people import Person
from personafit.raters.rater import Rater, ScoredRater, rater_record, without_samples

NAMES = ("person", "question", "answers", "person_id")
ALWAYS = NAMES[:3]  # what a function gets whose parameters cannot be inspected
EARLIER = ("prompt", "attributes", "person", "answers")
"""The former parameters of functions about attributes and preferences, from before functions could take all that is shown."""


def python_rater(spec: Spec, asks: QuestionSet, people: Mapping[str, Person], function: Any = None) -> Rater:
    """Create the rater for `python:MODULE:OBJECT`: an object with `score` scores answers, any other callable judges."""
    spec, samples = without_samples(spec, asks)
    spec.allow(PYTHON_OPTIONS)
    found = (
        load_instance(spec) if function is None else function() if isinstance(function, type) else function
    )
    if callable(getattr(found, "score", None)):
        if samples > 1:
            raise UserError(f"{spec.text}: an object that scores is asked once; leave out samples=.")
        return ObjectRater(found, spec, asks)
    if not callable(found):
        raise UserError(
            f"{spec.text}: {spec.name} neither has `score` nor can be called; see docs/extend.md."
        )
    name = spec.name if function is None else getattr(function, NAME, spec.name)
    rater = FunctionRater(spec, asks, people, found, name)
    rater.samples = samples
    return rater


def takes_messages(spec: Spec) -> bool:
    """Return whether a function takes the messages of a prompt, as a model does, and replies in words."""
    found = parameters_of(load_instance(spec))
    return found is not None and found[1][:1] == ["messages"]


class FunctionRater(Rater):
    """Rater that calls a user's function."""

    def __init__(
        self, spec: Spec, asks: QuestionSet, people: Mapping[str, Person], function: Any, name: str
    ) -> None:
        self._function = function
        self._people = people
        self.questions = asks.asked
        self.endpoint = spec.text
        self.max_concurrency = int(spec.number("concurrency", 8, least=1))
        self.order_matters = bool(getattr(function, "order_matters", False))
        self.threshold = getattr(function, "threshold", None)
        self._wanted, self._earlier = _wanted(spec.text, function, asks)
        settings: dict[str, Any] = {"object": name, "code": code_hash(function, spec)}
        if asks.asked[0].order_matters:
            settings["orders"] = self.order_matters or "drawn"
        else:
            settings["threshold"] = self.threshold
        self.record = rater_record(spec.text, "python", settings)

    async def rate(self, shown: Shown) -> Verdict:
        """Call the function and convert what it returns; a function that is asked in one order only gets a drawn one."""
        seen = shown if self.order_matters else replace(shown, order=shown.question.drawn_order(shown))
        returned = await self.call(seen)
        answers = shown.question.accept(seen, returned, self.threshold)
        if answers is None:
            wanted = shown.question.expected(shown)
            raise Unanswerable(f"{self.record.name} must return {wanted}, not {returned!r:.80}.")
        return Verdict(answers=answers)

    async def call(self, shown: Shown) -> Any:
        if self._wanted is None:
            return await call_named(self.record.name, self._function, shown)
        about: dict[str, Any] = {
            "person": self._people.get(shown.person) if self._earlier else shown.context.text,
            "question": shown.prompt,
            "prompt": shown.prompt,
            "answers": list(shown.answers),
            "attributes": shown.attributes,
            "person_id": shown.person,
        }
        named = {name: about[name] for name in self._wanted}
        return await call_named(self.record.name, self._function, **named)


class ObjectRater(ScoredRater):
    """An object whose `score(prompt, person, answer)` is a number; for preferences the person is one attribute."""

    unit = "answer"

    def __init__(self, scoring: Any, spec: Spec, asks: QuestionSet) -> None:
        self._scoring = scoring
        self._name = self.endpoint = spec.text
        self.max_concurrency = int(spec.number("concurrency", 8, least=1))
        settings = {"object": spec.name, "code": code_hash(scoring, spec)}
        self.judge_by(asks.by_score, spec.text, "reward", settings)

    async def scores(self, units: Sequence[Unit], verdict: Verdict) -> list[float]:
        return [await self._score(unit) for unit in units]

    async def _score(self, unit: Unit) -> float:
        said = await call_named(self._name, self._scoring.score, unit.prompt, unit.context.text, unit.text)
        try:
            score = float(said)
        except (TypeError, ValueError, OverflowError):
            score = math.nan
        if not math.isfinite(score):
            raise Unanswerable(f"{self._name} must give a finite number, not {said!r:.80}.")
        return score


def _wanted(name: str, function: Any, asks: QuestionSet) -> tuple[tuple[str, ...] | None, bool]:
    """Return the names of the arguments to call a function with (None if it takes what is shown), and whether it uses the former ones."""
    found = parameters_of(function)
    earlier = [one for one in EARLIER if one != ("answers" if asks.asked[0].most_parts == 1 else "person")]
    has_attributes = asks.asked[0].scored_by[:1] in (("attribute",), ("pair",))
    if found is None:
        return (tuple(earlier), True) if has_attributes else (ALWAYS, False)
    needed, taken, takes_any = found
    if has_attributes and ("attributes" in taken or (takes_any and not needed)):
        _say_earlier(name)
        return tuple(one for one in earlier if one in taken or takes_any), True
    if len(needed) == 1 and needed[0] not in NAMES:
        return None, False
    if unknown := [one for one in needed if one not in NAMES]:
        raise UserError(
            f"{name} has a parameter '{unknown[0]}', which judges are not given; they take any of {', '.join(NAMES)}, or one "
            "parameter for everything that is shown."
        )
    return tuple(one for one in NAMES if one in taken or (takes_any and one in ALWAYS)), False


@cache
def _say_earlier(name: str) -> None:
    print(
        f"personafit: {name} takes prompt and attributes, a form that is accepted for one more release. Take one "
        "parameter, what is shown, and use its prompt, attributes and answers.",
        file=sys.stderr,
    )
