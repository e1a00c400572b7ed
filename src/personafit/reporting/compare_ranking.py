"""Ranking many contestants: Bradley–Terry strengths from who did better on the items they share.

On each item two contestants both have an answer to, the higher score wins and equal scores are a tie. Systems are
ranked apart for each judge, because one judge's scores say nothing about another's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from personafit.reporting.compare import ALPHA, Contestant, contestants, paired_items, shown_p
from personafit.reporting.results import RunScores
from personafit.statistics import Estimate
from personafit.statistics.ranking import Contrast, Ranking, bradley_terry

HOW = (
    "The ranking counts who did better on each item, by however little, so it can tell two apart whose mean difference is not "
    "distinguishable. Its intervals and tests cluster by person and, where prompts recur, by prompt."
)
FEWEST = 3  # two are a comparison, not a ranking


@dataclass(frozen=True)
class Ranked:
    """Contestants by strength, the strongest first; unranked in the order given where strengths are undefined."""

    judge: str | None
    names: tuple[str, ...]
    strengths: tuple[Estimate, ...]
    contrasts: tuple[Contrast, ...]
    note: str | None

    def sentences(self) -> list[str]:
        """Who is above whom, neighbour by neighbour, in words."""
        if self.note is not None and not self.contrasts:
            return [f"The ranking is {self.note}." if self.note.startswith("undefined") else _cap(self.note)]
        by_pair = {(c.first, c.second): c for c in self.contrasts}
        said = []
        for above in range(len(self.names) - 1):
            contrast = by_pair[above, above + 1]
            pair = (self.names[above], self.names[above + 1])
            tested = f"Holm p {shown_p(contrast.p)} over all pairs"
            if contrast.p <= ALPHA:
                said.append(f"{pair[0]} ranks above {pair[1]} ({tested}).")
            else:
                said.append(f"{pair[0]} and {pair[1]} are not distinguishable in rank ({tested}).")
        return said

    def as_dict(self) -> dict[str, Any]:
        """The ranking as a plain object."""
        return {
            "judge": self.judge,
            "contestants": [
                {
                    "rank": None if e.value is None else place,
                    "name": name,
                    "strength": e.value,
                    "low": e.low,
                    "high": e.high,
                    "n": e.n,
                    "people": e.people,
                    "note": e.note,
                }
                for place, (name, e) in enumerate(zip(self.names, self.strengths, strict=True), 1)
            ],
            "contrasts": [
                {
                    "first": self.names[c.first],
                    "second": self.names[c.second],
                    "difference": c.difference,
                    "low": c.low,
                    "high": c.high,
                    "p_holm": c.p,
                    "distinguishable": c.p <= ALPHA,
                }
                for c in self.contrasts
            ],
            "note": self.note,
            "words": self.sentences(),
        }

    def table(self) -> Table:
        """The ranking for the terminal."""
        judged = f", judged by {self.judge}" if self.judge else ""
        table = Table(
            title=Text(f"Ranking by Bradley–Terry strength in log-odds, mean 0{judged}"), title_justify="left"
        )
        table.add_column("contestant", overflow="fold")
        for heading in ("strength", "95 % interval", "comparisons"):
            table.add_column(heading, justify="right")
        for name, e in zip(self.names, self.strengths, strict=True):
            strength = "–" if e.value is None else f"{e.value:+.2f}"
            interval = "" if e.low is None or e.high is None else f"{e.low:+.2f} to {e.high:+.2f}"
            table.add_row(Text(name), strength, interval, f"{e.n:,}")
        return table


def rank_runs(runs: Sequence[RunScores]) -> list[Ranked]:
    """A ranking of everyone in the runs, or for systems one per judge; none for fewer than three contestants."""
    once = {scores.run.name: scores for scores in runs}
    everyone = [contestant for scores in once.values() for contestant in contestants(scores)]
    if runs[0].info["metric"] != "win_rate":
        groups: dict[str | None, list[Contestant]] = {None: everyone}
    else:
        groups = {}
        for contestant in everyone:
            groups.setdefault(contestant.rater, []).append(contestant)
    return [_rank(judge, group) for judge, group in groups.items() if len(group) >= FEWEST]


def _rank(judge: str | None, group: Sequence[Contestant]) -> Ranked:
    first, second, score, people, prompts = [], [], [], [], []
    for i, j in combinations(range(len(group)), 2):
        both = paired_items(group[i], group[j])
        first += [i] * len(both)
        second += [j] * len(both)
        score.append((np.sign(both["gap"].to_numpy()) + 1) / 2)
        people.append(both["person"].to_numpy().astype(str))
        prompts.append(both["prompt"].to_numpy().astype(str))
    found = bradley_terry(
        np.array(first),
        np.array(second),
        np.concatenate(score),
        np.concatenate(people),
        len(group),
        np.concatenate(prompts),
    )
    order = sorted(range(len(group)), key=lambda place: -(found.strengths[place].value or 0.0))
    return Ranked(
        judge=judge,
        names=_names(group, order),
        strengths=tuple(found.strengths[place] for place in order),
        contrasts=_reordered(found, order),
        note=found.note,
    )


def _names(group: Sequence[Contestant], order: Sequence[int]) -> tuple[str, ...]:
    plain = [contestant.name for contestant in group]
    told_apart = [
        f"{name} in {contestant.run}" if plain.count(name) > 1 else name
        for name, contestant in zip(plain, group, strict=True)
    ]
    return tuple(told_apart[place] for place in order)


def _reordered(found: Ranking, order: Sequence[int]) -> tuple[Contrast, ...]:
    """The contrasts by rank, the higher ranked first."""
    rank = {place: position for position, place in enumerate(order)}
    turned = []
    for c in found.contrasts:
        one, two = rank[c.first], rank[c.second]
        if one < two:
            turned.append(Contrast(one, two, c.difference, c.low, c.high, c.p))
        else:
            turned.append(Contrast(two, one, -c.difference, -c.high, -c.low, c.p))
    return tuple(sorted(turned, key=lambda c: (c.first, c.second)))


def _cap(text: str) -> str:
    return text[0].upper() + text[1:] + "."
