"""Warn about benchmark texts that look as if they were written to steer a judge."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from personafit.benchmarks.benchmark import Benchmark
from personafit.items.hostile import SIGNS, signs
from personafit.people import Person, render_person

TURN = re.compile(r"\n[^\S\n]*(?:user|assistant|用户|助手)\s*[:：]\s*", re.IGNORECASE)
"""Pattern of the start of the next turn in a memory that holds a conversation."""


Texts = Iterable[tuple[str, Iterable[str]]]
"""Pairs of an answer's or person's id and its pieces of text."""


def profile_pieces(person: Person) -> Iterator[str]:
    """Iterate over the texts of a person that a judge may see; labels of later turns are removed from memories."""
    yield render_person(person)
    for memory in person.memories:
        yield TURN.sub("\n", memory.text)
    yield from (attribute.text for attribute in person.attributes)
    yield from person.summaries.values()


def hostile_note(benchmark: Benchmark) -> str | None:
    """Return a sentence on the texts with signs of an attempt to steer, or None."""
    answers = {product.id: [product.text] for product in benchmark.products()}
    people = {person.id: profile_pieces(person) for person in benchmark.people()}
    return describe(answers.items(), people.items())


def describe(answers: Texts, people: Texts) -> str | None:
    """Return the sentence for answers and profiles given as texts by id, or None."""
    kinds: Counter[str] = Counter()
    counts, first = [], ""
    for name, texts in (("answers", answers), ("profiles", people)):
        total = flagged = 0
        for text_id, pieces in texts:
            total += 1
            if found := {sign for piece in pieces for sign in signs(piece)}:
                flagged += 1
                kinds.update(found)
                first = first or f"{name.removesuffix('s')} {text_id!r}"
        counts.append(f"{flagged:,} of {total:,} {name}")
    if not kinds:
        return None
    listed = ", ".join(f"{sign} {kinds[sign]:,}" for sign in SIGNS if kinds[sign])
    return (
        f"{' and '.join(counts)} look as if they were written to steer a judge ({listed}); the first is {first}. "
        "See docs/guides/security.md."
    )
