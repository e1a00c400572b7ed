"""How good retrieval is, where somebody said which memories bear on a question: recall and precision at k."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from personafit.statistics import Estimate, cluster_mean, prompts_recur


@dataclass(frozen=True)
class Retrieval:
    """The memories found for one question, best first, and those that are relevant to it."""

    person: str
    prompt: str
    found: Sequence[str]
    relevant: frozenset[str]


def recall_at(rows: Sequence[Retrieval], k: int) -> Estimate:
    """Mean share of the memories that bear on a question that are among the first k; questions without any are left out."""
    kept = [row for row in rows if row.relevant]
    return _mean(kept, [len(row.relevant & set(row.found[:k])) / len(row.relevant) for row in kept])


def precision_at(rows: Sequence[Retrieval], k: int) -> Estimate:
    """Mean share of what is found among the first k that bears on the question; where nothing is found there is no share."""
    kept = [row for row in rows if row.found[:k]]
    return _mean(kept, [len(row.relevant & set(row.found[:k])) / len(row.found[:k]) for row in kept])


def chance_recall(rows: Sequence[Retrieval], k: int, memories: Mapping[str, int]) -> float | None:
    """What picking k memories blindly would find, by how many each person has."""
    kept = [min(1.0, k / memories[row.person]) for row in rows if row.relevant]
    return sum(kept) / len(kept) if kept else None


def _mean(rows: Sequence[Retrieval], shares: list[float]) -> Estimate:
    people, prompts = [row.person for row in rows], [row.prompt for row in rows]
    recur = bool(rows) and prompts_recur(people, prompts)
    return cluster_mean(shares, people, prompts if recur else None, bounds=(0.0, 1.0))
