"""Human judgments of relevance in the shape that fitting takes: prompt, attribute, and what most people said.

Nothing else of the data gets this far: votes of models that stand beside the labels cannot leak into a matcher.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from personafit._errors import UserError
from personafit.benchmarks import Benchmark

FEWEST_PROMPTS = 3  # one to test on, and two to choose a threshold by leaving one out
MOST_PAIRS = 10_000  # time grows with the cube of the pairs, memory with the square


@dataclass(frozen=True)
class JudgedPairs:
    """Pairs with labels, column by column."""

    people: list[str]
    prompts: list[str]
    attributes: list[str]
    relevant: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.prompts)

    @property
    def texts(self) -> list[tuple[str, str]]:
        """Prompt and attribute of every pair."""
        return list(zip(self.prompts, self.attributes, strict=True))


def load_judged_pairs(
    benchmark: Benchmark, note: Callable[[str], None], most: int | None = MOST_PAIRS
) -> JudgedPairs:
    """Every labelled pair; a sentence says what cannot be fitted on, and `note` takes what was left out."""
    name, known = benchmark.info.name, benchmark.info.gold
    texts = {product.id: product.text for product in benchmark.products()}
    gold = {row.item: row.label == "yes" for row in benchmark.gold() if row.rater == known}
    labels: dict[tuple[str, str, str], bool] = {}
    unlabelled = repeated = 0
    for item in benchmark.items():
        attribute = texts[item.products[0]]
        if item.id not in gold:
            unlabelled += 1
            continue
        if not attribute.strip():
            raise UserError(f"{name}: the attribute of {item.id} is empty; take the line out or fill it in.")
        key = (item.person, item.prompt, attribute)
        if labels.setdefault(key, gold[item.id]) != gold[item.id]:
            raise UserError(
                f"{name}: '{attribute:.60}' of {item.person} is labelled yes and no for the same prompt ({item.id}); keep "
                "one of the lines."
            )
        repeated += 1
    repeated -= len(labels)
    if unlabelled:
        note(f"{unlabelled:,} pairs have no label and are left out.")
    if repeated:
        note(f"{repeated:,} pairs stand twice with the same label and count once.")
    pairs = JudgedPairs(
        people=[person for person, _, _ in labels],
        prompts=[prompt for _, prompt, _ in labels],
        attributes=[attribute for _, _, attribute in labels],
        relevant=np.array(list(labels.values()), dtype=bool),
    )
    _check(pairs, name, most)
    return pairs


def _check(pairs: JudgedPairs, name: str, most: int | None) -> None:
    if not len(pairs):
        raise UserError(
            f"{name} has no labelled pairs of a prompt and an attribute: there is nothing to fit."
        )
    prompts = np.array(pairs.prompts)
    count = len(set(pairs.prompts))
    if count < FEWEST_PROMPTS:
        raise UserError(
            f"{name} has labels on {count} {'prompt' if count == 1 else 'prompts'}; a matcher is tested on prompts left out "
            f"and needs at least {FEWEST_PROMPTS}."
        )
    if pairs.relevant.all() or not pairs.relevant.any():
        which = "relevant" if pairs.relevant.all() else "irrelevant"
        raise UserError(f"{name}: all {len(pairs):,} pairs are labelled {which}; a matcher needs both kinds.")
    having = len(set(prompts[pairs.relevant].tolist()))
    if having < FEWEST_PROMPTS:
        raise UserError(
            f"{name}: only {having} prompts have a relevant attribute; a matcher needs at least {FEWEST_PROMPTS}."
        )
    if most is not None and len(pairs) > most:
        raise UserError(
            f"{name} has {len(pairs):,} labelled pairs; a matcher takes up to {most:,}: leave out some prompts."
        )
