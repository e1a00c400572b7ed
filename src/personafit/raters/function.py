"""`python:MODULE:OBJECT` as a rater: a function of the user's own that scores answers for a person.

A function of one parameter that has none of the names below is called with what is shown (`Shown`). Any other gets what its
parameters name of `person` (the text of the context), `question`, `answers` and `person_id`. Either returns one number per
answer (the highest wins), the index or the letter of its choice, or `tie`.
"""

import math
from collections.abc import Mapping, Set
from dataclasses import replace
from numbers import Integral
from typing import Any

from personafit._errors import UserError
from personafit._hashing import draw
from personafit._plugins import NAME
from personafit.items import FIT, ChoiceQuestion, Shown
from personafit.models import PYTHON_OPTIONS, ChatRequest, Spec, Unanswerable, code_hash
from personafit.models.functions import call_named, load_function, parameters_of
from personafit.raters.rater import Verdict, choice_of, rater_record
from personafit.store import TIE

NAMES = ("person", "question", "answers", "person_id")
ALWAYS = NAMES[:3]  # what a function gets that says nothing of its parameters


class FunctionRater:
    """A callable that judges."""

    price = (0.0, 0.0)
    order_matters = False

    def __init__(self, spec: Spec, function: Any = None) -> None:
        spec.allow(PYTHON_OPTIONS)
        self._function = load_function(spec, "extending.md") if function is None else _instance(function)
        self.endpoint = spec.text
        self.max_concurrency = int(spec.number("concurrency", 8, least=1))
        self.order_matters = bool(getattr(self._function, "order_matters", False))
        self._wanted = _wanted(spec.text, self._function)
        self.record = rater_record(
            spec.text,
            "python",
            {
                "object": spec.name if function is None else getattr(function, NAME, spec.name),
                "code": code_hash(self._function, spec),
                "orders": self.order_matters or "drawn",
            },
        )

    async def rate(self, shown: Shown, question: ChoiceQuestion) -> Verdict:
        """Call the function with the answers in the order shown, and read its answer back into the item's order.

        One that is asked in one order only gets them in an order drawn for the item: a folder may list the right answer first.
        """
        order = list(shown.order)
        if not self.order_matters:
            order.sort(key=lambda index: draw("shown", shown.item.id, index, among=2**63))
        seen = replace(shown, order=tuple(order))
        scores = self._scores(await self._asked(seen), len(order))
        by_product = [0.0] * len(order)
        for place, index in enumerate(order):
            by_product[index] = scores[place]
        label, margin = choice_of(by_product)
        return Verdict(label=label, value=margin)

    async def _asked(self, shown: Shown) -> Any:
        if self._wanted is None:
            return await call_named(self.record.name, self._function, shown)
        about: dict[str, Any] = {
            "person": shown.context.text,
            "question": shown.prompt,
            "answers": list(shown.answers),
            "person_id": shown.person,
        }
        return await call_named(
            self.record.name, self._function, **{name: about[name] for name in self._wanted}
        )

    def request(self, shown: Shown, question: ChoiceQuestion) -> ChatRequest | None:
        """What a function costs is unknown to us."""
        return None

    async def close(self) -> None:
        """Nothing to release."""

    def _scores(self, result: Any, count: int) -> list[float]:
        if not isinstance(result, bool) and isinstance(result, Integral) and 0 <= int(result) < count:
            return [1.0 if place == result else 0.0 for place in range(count)]
        if isinstance(result, str) and result.strip() == TIE:
            return [0.0] * count
        if isinstance(result, str) and result.strip().upper() in FIT.letters(count):
            chosen = FIT.letters(count).index(result.strip().upper())
            return [1.0 if place == chosen else 0.0 for place in range(count)]
        try:
            # The characters of a text and the keys of a mapping would pass for numbers.
            scores = [] if isinstance(result, str | bytes | Mapping | Set) else [float(s) for s in result]
        except (TypeError, ValueError):
            scores = []
        if len(scores) != count or not all(map(math.isfinite, scores)):
            raise Unanswerable(
                f"{self.record.name} must return {count} finite numbers, an index or a letter, not {result!r:.80}."
            )
        return scores


def _instance(function: Any) -> Any:
    return function() if isinstance(function, type) else function


def _wanted(name: str, function: Any) -> tuple[str, ...] | None:
    """The names that a function is called with; None where it wants what is shown as a whole."""
    found = parameters_of(function)
    if found is None:
        return ALWAYS
    needed, taken, takes_any = found
    if len(needed) == 1 and needed[0] not in NAMES:
        return None
    if unknown := [one for one in needed if one not in NAMES]:
        raise UserError(
            f"{name} wants '{unknown[0]}', which it cannot be given; a judge takes {', '.join(NAMES)}, as many of them as it "
            "wants, or one parameter for all that is shown."
        )
    return tuple(one for one in NAMES if one in taken or (takes_any and one in ALWAYS))
