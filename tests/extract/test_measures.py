"""What extraction is worth: the matching rule, recall and its cost, diversity, and sources that differ or do not."""

from collections.abc import Sequence

import numpy as np
import pytest

from personafit.extract.measures import AttributeSource, Measure, SourceAttribute, difference, measures
from personafit.extract.merging import assign
from personafit.models.embeddings import Vectors, unit_rows

TOPICS = ("tea", "chess", "snow", "bread", "trains", "owls")


class ByTopic:
    """An embedder that knows a few topics and nothing else."""

    fingerprint = "by topic"

    def embed(self, texts: Sequence[str]) -> Vectors:
        rows = np.array(
            [[float(topic in text) for topic in TOPICS] + [1e-6] for text in texts], dtype=np.float32
        )
        return unit_rows(rows)


def source(found: dict[str, list[SourceAttribute]], **more: object) -> AttributeSource:
    return AttributeSource(name="s", kind="extracted", judged_by="tests", found=found, **more)  # type: ignore[arg-type]


def named(rows: Sequence[Measure], metric: str, **where: str) -> Measure:
    return next(one for one in rows if one.metric == metric and dict(one.slice) == where)


def test_nothing_known_is_taken_twice_and_what_is_unlike_is_left() -> None:
    cosines = np.array([[0.9, 0.2], [0.8, 0.7], [0.1, 0.44]])
    assert assign(cosines) == [0, 1, None]
    assert assign(np.zeros((2, 0))) == [None, None]


def test_recall_counts_what_is_known_and_its_loss_is_paired() -> None:
    people = [f"p{number}" for number in range(6)]
    known = {person: ["The user drinks tea.", "The user plays chess."] for person in people}
    before = {
        person: [
            SourceAttribute("The user likes tea."),
            SourceAttribute("The user plays chess."),
            SourceAttribute("Owls"),
        ]
        for person in people
    }
    after = {person: [SourceAttribute("The user likes tea.")] for person in people}
    rows = measures(source(before, refined=after, known=known), ByTopic())
    assert named(rows, "recall", refinement="before").estimate().value == 1.0
    assert named(rows, "precision", refinement="before").estimate().value == pytest.approx(2 / 3)
    assert named(rows, "recall", refinement="after").estimate().value == 0.5
    assert named(rows, "recall_lost_by_refinement").estimate().value == 0.5


def test_somebody_with_nothing_found_still_counts_against_recall() -> None:
    found: dict[str, list[SourceAttribute]] = {"a": [SourceAttribute("tea")], "b": []}
    rows = measures(source(found, known={"a": ["tea"], "b": ["chess"]}), ByTopic())
    recall = named(rows, "recall", refinement="before").estimate()
    assert (recall.value, recall.n, recall.low) == (0.5, 2, None)
    assert "at least 6 people" in str(recall.note)


def test_verdicts_are_shares_of_what_was_judged_with_coverage_beside() -> None:
    found = {
        "a": [
            SourceAttribute("tea", "accepted"),
            SourceAttribute("owls", "unsure", "task-context"),
            SourceAttribute("snow"),
        ]
    }
    rows = measures(source(found), ByTopic())
    assert named(rows, "accepted").values.mean() == 0.5
    assert named(rows, "accepted").coverage == pytest.approx(2 / 3)
    assert named(rows, "failure_mode", mode="task-context").values.mean() == 1.0


def test_people_who_are_alike_are_less_diverse_than_people_who_are_not() -> None:
    alike = {f"p{number}": [SourceAttribute("tea"), SourceAttribute("chess")] for number in range(6)}
    unlike = {
        f"p{number}": [SourceAttribute(TOPICS[number]), SourceAttribute(f"{TOPICS[number]} again")]
        for number in range(6)
    }
    near = named(measures(source(alike), ByTopic()), "diversity_between").estimate()
    far = named(measures(source(unlike), ByTopic()), "diversity_between").estimate()
    assert near.value == pytest.approx(0.5)
    assert far.value == pytest.approx(1.0)


def test_the_difference_of_two_sources_has_the_variance_of_both() -> None:
    random = np.random.default_rng(0)
    people = tuple(f"p{number}" for number in range(40))
    first = Measure("accepted", random.normal(0.6, 0.1, 40), people, None)
    second = Measure("accepted", random.normal(0.3, 0.2, 40), people, None)
    found = difference(first, second)
    assert found.value == pytest.approx(first.values.mean() - second.values.mean())
    assert found.low is not None
    assert found.high is not None
    expected = 2 * np.sqrt(first.values.var(ddof=1) / 40 + second.values.var(ddof=1) / 40)
    assert (found.high - found.low) / 2 == pytest.approx(expected, rel=0.05)
    assert found.people == 80
    few = Measure("accepted", np.array([1.0, 0.0]), ("a", "b"))
    assert difference(first, few).low is None
