"""Which texts of a benchmark look as if they were written to steer a judge: a warning beside its data, never a verdict on it."""

from collections import Counter
from collections.abc import Iterable

from personafit.benchmarks.benchmark import Benchmark
from personafit.items.hostile import SIGNS, signs
from personafit.people import Person, render_person


def profile_text(person: Person) -> str:
    """Everything of a person that a judge may be shown."""
    told = [render_person(person), *(memory.text for memory in person.memories)]
    told += [*(attribute.text for attribute in person.attributes), *person.summaries.values()]
    return "\n".join(told)


def hostile_note(benchmark: Benchmark) -> str | None:
    """A sentence on the texts with signs of an attempt to steer, or None where there are none."""
    answers = {product.id: product.text for product in benchmark.products()}
    people = {person.id: profile_text(person) for person in benchmark.people()}
    return describe(answers.items(), people.items())


def describe(answers: Iterable[tuple[str, str]], people: Iterable[tuple[str, str]]) -> str | None:
    """The sentence, from texts by their ids."""
    kinds: Counter[str] = Counter()
    counts, first = [], ""
    for name, texts in (("answers", answers), ("profiles", people)):
        total = flagged = 0
        for text_id, text in texts:
            total += 1
            if found := signs(text):
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
