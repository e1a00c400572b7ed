"""People's answers to an error flow: which attributes of whom they judged for which prompt."""

from collections.abc import Set
from pathlib import Path

from personafit._errors import UserError
from personafit.benchmarks.recentering import open_relevance
from personafit.stages.error_flow import AttributeLabel


def labelled_pairs(data: Path, people: Set[str]) -> list[AttributeLabel]:
    """Every judged pair of the people an extractor had conversations of."""
    benchmark = open_relevance(data)
    texts = {product.id: product.text for product in benchmark.products()}
    gold = {row.item: row.label == "yes" for row in benchmark.gold() if row.rater == benchmark.info.gold}
    pairs = [
        AttributeLabel(item.person, item.prompt, texts[item.products[0]], gold[item.id])
        for item in benchmark.items()
        if item.id in gold and item.person in people
    ]
    if not pairs:
        raise UserError(
            f"{data} has no judged attributes of the people in the run; both must name the same people by the same ids."
        )
    return pairs


def languages_of(data: Path) -> dict[str, str]:
    """The language of each person."""
    return {person.id: person.language for person in open_relevance(data).people()}
