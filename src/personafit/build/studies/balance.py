"""Balancing of pairs, so that simple rules cannot predict the better answer.

The rules are those of the audit. A rule is right on a pair (+1), wrong (-1) or silent (0); its accuracy stays within 47 to 53 % if the
sum over a group is at most six hundredths of the group's size. This is well inside 45 to 55 %, and holds for each language.
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from personafit.contexts import Context
from personafit.people import Person, facet_values
from personafit.raters.rules import rule_lead

BALANCED = ("length", "second-person", "markup", "name")
REPORTED = (*BALANCED, "overlap")
RULED = "rules"
"""The stream of rule results for each kept pair."""
ALLOWED = 0.06  # largest excess of right over wrong, as a share of the group's size: 47 to 53 %
LEAST_LEFT = 0.25  # of a group's pairs; overlap is not balanced if fewer would be left
Signs = tuple[int, ...]


class RankedPair(NamedTuple):
    """A pair of answers, the better one first, as the rules read it."""

    person: Person
    prompt: str
    better: str
    worse: str


def signs(pair: RankedPair) -> Signs:
    """Return each rule's result on a pair, in the order of `REPORTED`."""
    facets = pair.person.facets
    context = Context("profile", "", tuple(facet_values(facets)), pair.person.id, facets)
    leads = (rule_lead(name, pair.better, pair.worse, pair.prompt, context) for name in REPORTED)
    return tuple((lead > 0) - (lead < 0) for lead in leads)


def kept_by_group(
    groups: Sequence[Hashable], pairs: Sequence[Signs], rules: int = len(BALANCED)
) -> list[bool]:
    """Return which pairs to keep so that the first `rules` rules are uninformative in each group, such as a language.

    Overlap is not balanced in a group where that would leave less than a quarter of the pairs.
    """
    if not rules:
        return [True] * len(pairs)
    places: dict[Hashable, list[int]] = {}
    for place, group in enumerate(groups):
        places.setdefault(group, []).append(place)
    found = [False] * len(pairs)
    for mine in places.values():
        keep = kept([pairs[one][:rules] for one in mine])
        if sum(keep) < LEAST_LEFT * len(mine):
            keep = kept([pairs[one][: min(rules, len(BALANCED))] for one in mine])
        for place, fine in zip(mine, keep, strict=True):
            found[place] = fine
    return found


def kept(pairs: Sequence[Signs]) -> list[bool]:
    """Return which pairs to keep, removing greedily the pair that helps most; among equal pairs later ones are removed first."""
    cells: dict[Signs, list[int]] = {}
    for place, one in enumerate(pairs):
        cells.setdefault(one, []).append(place)
    sums, size = [sum(column) for column in zip(*pairs, strict=True)], len(pairs)

    def excess(without: Signs, left: int) -> float:
        """Return by how much the rules exceed the allowed imbalance without a given pair."""
        totals = [all_ - one for all_, one in zip(sums, without, strict=True)]
        return float(sum(max(0.0, abs(total) - ALLOWED * left) for total in totals))

    nothing = (0,) * len(sums)
    while size and excess(nothing, size) > 0:
        best = min(
            (cell for cell, places in cells.items() if places),
            key=lambda cell: (
                excess(cell, size - 1),
                -sum(one * (all_ > 0) - one * (all_ < 0) for all_, one in zip(sums, cell, strict=True)),
                -len(cells[cell]),
                cell,
            ),
        )
        cells[best].pop()
        sums = [all_ - one for all_, one in zip(sums, best, strict=True)]
        size -= 1
    left = {place for places in cells.values() for place in places}
    return [place in left for place in range(len(pairs))]


def right(total: int, size: int) -> float:
    """Return a rule's accuracy, given the sum of its results on `size` pairs; a tie counts a half."""
    return 0.5 + total / (2 * size) if size else 0.5
