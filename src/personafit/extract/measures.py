"""Quality of extraction: how many attributes are accepted, how diverse they are, and how they compare with the truth.

Every measure is kept as one number per attribute or person whose mean is the result, so that intervals cluster by person and
two sources can be compared with an interval. `AttributeSource` is the input, from a run of `extract`, from labels, or from
published attributes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from personafit.extract.merging import Floats, match_known
from personafit.extract.records import LABELS, MODES
from personafit.models.embeddings import Embedder
from personafit.statistics import Estimate, cluster_mean
from personafit.statistics.clusters import FEWEST_PEOPLE

UNIT = (0.0, 1.0)
MOST_FOR_DIVERSITY = 400  # attributes per person used for diversity


@dataclass(frozen=True)
class SourceAttribute:
    """An attribute of a source, with its label and failure mode if it was judged."""

    text: str
    label: str | None = None
    mode: str = "none"


@dataclass(frozen=True)
class AttributeSource:
    """Extracted attributes by person, with the true statements if the data have them."""

    name: str
    kind: str
    """Origin of the conversations: human, synthetic or simulated."""
    judged_by: str
    found: Mapping[str, Sequence[SourceAttribute]]
    """Attributes before refinement."""
    refined: Mapping[str, Sequence[SourceAttribute]] | None = None
    """Attributes after refinement, if there was any."""
    undecided: int = 0
    """Number of attributes missing from `refined` because the asks to rewrite them failed."""
    known: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Measure:
    """Values whose mean is the result, with the person of each."""

    metric: str
    values: Floats
    people: tuple[str, ...]
    bounds: tuple[float, float] | None = UNIT
    coverage: float | None = None
    slice: Mapping[str, str] = field(default_factory=dict)
    note: str | None = None

    def estimate(self) -> Estimate:
        """Return the mean with its interval over people; no interval below the minimum number of people."""
        found = cluster_mean(self.values, self.people, None, self.bounds)
        low, high, note = found.low, found.high, found.note or self.note
        if found.people < FEWEST_PEOPLE and found.value is not None:
            low = high = None
            note = f"no interval: it needs at least {FEWEST_PEOPLE} people, and there {'is' if found.people == 1 else 'are'} {found.people}"
        return Estimate(found.value, low, high, found.n, found.people, note)


def difference(first: Measure, second: Measure) -> Estimate:
    """Return the difference of two means over different people, with its interval."""
    if not len(first.values) or not len(second.values):
        return Estimate(None, None, None, 0, 0, "one of the two has nothing to average")
    count = len(first.values) + len(second.values)
    gap = float(first.values.mean() - second.values.mean())
    # Deviations are scaled so that the variance of the mean is the sum of both variances.
    values = np.concatenate(
        [
            gap + count / len(part.values) * sign * (part.values - part.values.mean())
            for sign, part in ((1, first), (-1, second))
        ]
    )
    people = [f"1 {name}" for name in first.people] + [f"2 {name}" for name in second.people]
    fewest = min(len(set(first.people)), len(set(second.people)))
    found = cluster_mean(values, people)
    if fewest < FEWEST_PEOPLE:
        note = f"no interval: it needs at least {FEWEST_PEOPLE} people on each side, and there {'is' if fewest == 1 else 'are'} {fewest}"
        return Estimate(gap, None, None, count, found.people, note)
    return found


def measures(source: AttributeSource, embedder: Embedder) -> list[Measure]:
    """Return every measure that the source has data for."""
    return [*_verdicts(source), *_amounts(source, embedder), *_truth(source, embedder)]


def _verdicts(source: AttributeSource) -> Iterator[Measure]:
    rows = [(person, one) for person, found in source.found.items() for one in found]
    judged = [(person, one) for person, one in rows if one.label is not None]
    if not judged:
        return
    people, coverage = tuple(person for person, _ in judged), len(judged) / len(rows)
    for label in LABELS:
        yield Measure(label, _shares([one.label == label for _, one in judged]), people, coverage=coverage)
    doubted = [(person, one) for person, one in judged if one.label != "accepted"]
    for mode in MODES:
        values = _shares([one.mode == mode for _, one in doubted])
        if values.any() or (doubted and mode != "none"):
            yield Measure(
                "failure_mode",
                values,
                tuple(person for person, _ in doubted),
                slice={"mode": mode},
                note="of those not accepted",
            )


def _amounts(source: AttributeSource, embedder: Embedder) -> Iterator[Measure]:
    """Yield the number of attributes per person, and the diversity between people."""
    people = tuple(source.found)
    counts = np.array([len(source.found[person]) for person in people], dtype=np.float64)
    yield Measure("attributes_per_person", counts, people, None)
    having = [person for person in people if source.found[person]]
    vectors = {
        person: embedder.embed([one.text for one in source.found[person][:MOST_FOR_DIVERSITY]]).astype(
            np.float64
        )
        for person in having
    }
    if len(having) > 2:
        yield Measure(
            "diversity_between",
            _between(np.array([vectors[person].mean(axis=0) for person in having])),
            tuple(having),
            (0.0, 2.0),
            note="mean cosine distance of attributes of different people; interval by leaving people out",
        )


def _truth(source: AttributeSource, embedder: Embedder) -> Iterator[Measure]:
    """Yield recall and precision against known statements, before and after refinement, and the recall refinement lost."""
    people = [person for person, known in source.known.items() if known]
    if not people:
        return
    steps = {"before": source.found} | ({} if source.refined is None else {"after": source.refined})
    failed = f"; {source.undecided:,} undecided left out: rewriting them failed" if source.undecided else ""
    hits: dict[str, Floats] = {}
    owners = tuple(person for person in people for _ in source.known[person])
    for step, found in steps.items():
        recalled, right, whose = [], [], []
        for person in people:
            texts = [one.text for one in found.get(person, ())]
            places = match_known(texts, source.known[person], embedder)
            taken = {place for place in places if place is not None}
            recalled += [place in taken for place in range(len(source.known[person]))]
            right += [place is not None for place in places]
            whose += [person] * len(places)
        hits[step] = _shares(recalled)
        note = "matched to known statements by their embeddings, with the errors of that rule"
        note += failed if step == "after" else ""
        yield Measure("recall", hits[step], owners, slice={"refinement": step}, note=note)
        if right:
            yield Measure("precision", _shares(right), tuple(whose), slice={"refinement": step}, note=note)
    if "after" in hits:
        lost = hits["before"] - hits["after"]
        yield Measure(
            "recall_lost_by_refinement", lost, owners, (-1.0, 1.0), note=f"paired by known statement{failed}"
        )


def _shares(values: Sequence[bool]) -> Floats:
    return np.array(values, dtype=np.float64)


def _between(centres: ArrayLike) -> Floats:
    """Return jackknife pseudo-values of the mean cosine distance between people, given the mean vectors of their attributes."""
    means = np.asarray(centres, dtype=np.float64)
    distances = 1.0 - means @ means.T
    np.fill_diagonal(distances, 0.0)
    count, rows = len(means), distances.sum(axis=1)
    total = float(rows.sum())
    whole = total / (count * (count - 1))
    without = (total - 2 * rows) / ((count - 1) * (count - 2))
    values: Floats = count * whole - (count - 1) * without
    return values
