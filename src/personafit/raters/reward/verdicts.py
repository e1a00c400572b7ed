"""From the scores of an item's answers to a verdict, the same for weights on this machine and behind an address."""

import math
from collections.abc import Mapping, Sequence

import orjson

from personafit.contexts import Context
from personafit.people import FacetValue
from personafit.raters.rater import Verdict, choice_of
from personafit.store import Status


def known(context: Context) -> Mapping[str, FacetValue]:
    """What a view tells, by path; a view that is text alone is told line by line."""
    if context.facets or not context.text:
        return context.facets
    lines = [line.strip() for line in context.text.splitlines() if line.strip()]
    return {f"Known.{number}": line for number, line in enumerate(lines, 1)}


def verdict_of(scores: Sequence[float], detail: str | None = None) -> Verdict:
    """The choice by scores, which are kept as the reply; without a finite score for each there is none."""
    if not all(map(math.isfinite, scores)):
        said = f"the model gave no finite score: {', '.join(f'{score:g}' for score in scores)}"
        return Verdict(status=Status.UNPARSED, detail=f"{said}; {detail}" if detail else said)
    label, margin = choice_of(list(scores))
    return Verdict(label=label, value=margin, reply=orjson.dumps(list(scores)).decode(), detail=detail)
