"""`python:MODULE:OBJECT` as a rater: a function of the user's own that scores answers for a person.

It is called as `function(person=..., question=..., answers=[...])`, where `person` is the text of the view, and
returns one number per answer (the highest wins) or the index of its choice.
"""

import math
from collections.abc import Mapping, Set
from numbers import Integral
from typing import Any

from personafit._hashing import draw
from personafit.items import ChoiceQuestion, Shown
from personafit.models import PYTHON_OPTIONS, ChatRequest, Spec, Unanswerable, code_hash
from personafit.models.functions import call_named, load_function
from personafit.raters.rater import Verdict, choice_of, rater_record


class FunctionRater:
    """A callable that judges."""

    price = (0.0, 0.0)
    order_matters = False

    def __init__(self, spec: Spec) -> None:
        spec.allow(PYTHON_OPTIONS)
        self._function = load_function(spec, "extending.md")
        self.endpoint = spec.text
        self.max_concurrency = int(spec.number("concurrency", 8, least=1))
        self.order_matters = bool(getattr(self._function, "order_matters", False))
        self.record = rater_record(
            spec.text,
            "python",
            {
                "object": spec.name,
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
        answers = [shown.texts[index] for index in order]
        scores = self._scores(await self._asked(shown, answers), len(answers))
        by_product = [0.0] * len(answers)
        for place, index in enumerate(order):
            by_product[index] = scores[place]
        label, margin = choice_of(by_product)
        return Verdict(label=label, value=margin)

    async def _asked(self, shown: Shown, answers: list[str]) -> Any:
        about = {"person": shown.context.text, "question": shown.item.prompt}
        return await call_named(self.record.name, self._function, **about, answers=answers)

    def request(self, shown: Shown, question: ChoiceQuestion) -> ChatRequest | None:
        """What a function costs is unknown to us."""
        return None

    async def close(self) -> None:
        """Nothing to release."""

    def _scores(self, result: Any, count: int) -> list[float]:
        if not isinstance(result, bool) and isinstance(result, Integral) and 0 <= int(result) < count:
            return [1.0 if place == result else 0.0 for place in range(count)]
        try:
            # The characters of a text and the keys of a mapping would pass for numbers.
            scores = [] if isinstance(result, str | bytes | Mapping | Set) else [float(s) for s in result]
        except (TypeError, ValueError):
            scores = []
        if len(scores) != count or not all(map(math.isfinite, scores)):
            raise Unanswerable(
                f"{self.record.name} must return {count} finite numbers or an index, not {result!r:.80}."
            )
        return scores
