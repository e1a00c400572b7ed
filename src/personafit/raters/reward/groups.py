"""What a reward model reads together: the answers of one person's prompt, which share all that comes before them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import orjson

from personafit.contexts import Context
from personafit.items.reading import Unit, Verdict
from personafit.people import FacetValue


@dataclass(frozen=True)
class AnswerGroup:
    """Answers to one prompt, for one person as the context tells of them."""

    context: Context
    prompt: str
    texts: tuple[str, ...]


def answer_groups(units: Sequence[Unit]) -> list[AnswerGroup]:
    """The units that stand together for one person and prompt, in their order."""
    runs = groupby(units, key=lambda unit: (id(unit.context), unit.prompt))
    groups = [list(run) for _, run in runs]
    return [
        AnswerGroup(group[0].context, group[0].prompt, tuple(unit.text for unit in group)) for group in groups
    ]


def known(context: Context) -> Mapping[str, FacetValue]:
    """What a context tells, by path; one that is text alone is told line by line."""
    if context.facets or not context.text:
        return context.facets
    lines = [line.strip() for line in context.text.splitlines() if line.strip()]
    return {f"Known.{number}": line for number, line in enumerate(lines, 1)}


def keep_scores(verdict: Verdict, scores: Sequence[float], details: Sequence[str | None]) -> list[float]:
    """The scores, which are kept as the reply, with what was left out of the person."""
    verdict.reply = orjson.dumps(list(scores)).decode()
    verdict.detail = "; ".join(dict.fromkeys(filter(None, details))) or None
    return list(scores)
