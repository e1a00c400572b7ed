"""What the rule that matches found statements to known ones is worth, on statements whose authors say what they repeat."""

from collections.abc import Sequence

import numpy as np

from personafit.benchmarks.statements import Statements
from personafit.models.embeddings import Embedder
from personafit.reporting.results import Result
from personafit.stages.known import SAME, Floats, assign, likeness
from personafit.statistics import cluster_mean

TRIED = tuple(round(0.30 + 0.05 * step, 2) for step in range(9))
UNIT = (0.0, 1.0)


class _Person:
    """The found and known statements of one person, with which is which."""

    def __init__(self, statements: Statements, person: str, embedder: Embedder) -> None:
        known = [
            attribute
            for one in statements.conversations.values()
            if one.person == person
            for attribute in one.attributes
        ]
        places = {attribute.id: place for place, attribute in enumerate(known)}
        texts = {attribute.text for attribute in known}
        found: dict[str, int | None] = {}
        taken: set[int] = set()
        for owner, text, same in zip(statements.people, statements.texts, statements.same_as, strict=True):
            place = None if same is None else places.get(same)
            if owner != person or text in texts or place in taken:
                continue  # the matching is one to one: of two that say the same, the first counts
            found[text] = place
            if place is not None:
                taken.add(place)
        self.truth = list(found.values())
        self.cosines: Floats = likeness(list(found), [attribute.text for attribute in known], embedder)

    def counts(self, same: float) -> tuple[list[bool], list[bool]]:
        """Of the matches made, which are right; of the matches there are, which are made."""
        made = assign(self.cosines, same)
        right = [one == true for one, true in zip(made, self.truth, strict=True) if one is not None]
        got = [one == true for one, true in zip(made, self.truth, strict=True) if true is not None]
        return right, got


def matching_results(name: str, statements: Statements, embedder: Embedder) -> list[Result]:
    """Precision and recall at `SAME`, and at the threshold that is best for everybody else."""
    if not any(statements.same_as):
        return []
    people = {one: _Person(statements, one, embedder) for one in dict.fromkeys(statements.people)}
    chosen = {
        out: max(TRIED, key=lambda same: _f1([one for other, one in people.items() if other != out], same))
        for out in people
    }
    results = []
    for threshold, of in ((f"{SAME}", dict.fromkeys(people, SAME)), ("chosen on the others", chosen)):
        counts = {one: people[one].counts(of[one]) for one in people}
        for place, metric in enumerate(("precision", "recall")):
            values = [value for one in counts for value in counts[one][place]]
            whose = [one for one in counts for _ in counts[one][place]]
            estimate = cluster_mean(np.array(values, dtype=np.float64), whose, None, UNIT)
            results.append(
                Result.of(
                    estimate,
                    metric=f"matching_{metric}",
                    system=name,
                    slice={"threshold": threshold},
                )
            )
    return results


def _f1(people: Sequence[_Person], same: float) -> float:
    counts = [one.counts(same) for one in people]
    hits = sum(sum(right) for right, _ in counts)
    return 2 * hits / max(1, sum(len(right) + len(got) for right, got in counts))
