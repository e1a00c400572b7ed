"""The features step: what a profiler infers of each person from a random sample of their memories.

Questions are made from these features and not from the whole profile, so that they come from what somebody does and not from
a label on them.
"""

from collections.abc import Iterator
from functools import partial

from personafit._hashing import draw
from personafit.factory.asking import Generation, Target
from personafit.factory.bench import Bench, RequestBatch
from personafit.factory.memories.step import FEATURES, ONE_BY_ONE, STREAMS, feature_lines, features_reader
from personafit.factory.prompts import WORDINGS
from personafit.factory.quota import ask_after_trial
from personafit.factory.sections import MemoriesSection, PeopleSection
from personafit.factory.step import BuildStep, ExpectedAsks
from personafit.people import Attribute, Memory, Person
from personafit.store import Product

TEMPLATE = "template:features-1"
SEEMS: dict[str, str] = WORDINGS["features"]


class FeaturesStep(BuildStep):
    """Features of everyone, as attributes with the memories they rest on."""

    name = "features"
    after = ("memories",)
    section = MemoriesSection
    roles = ("profiler",)
    prompts = (FEATURES,)

    def expected(self, bench: Bench) -> Iterator[ExpectedAsks]:
        """One ask for each person."""
        section, people = bench.config.section(MemoriesSection), bench.config.section(PeopleSection).total
        yield ExpectedAsks(
            "features", bench.model("profiler"), people, 120 + 35 * section.sampled, 30 * section.features
        )

    async def make(self, bench: Bench) -> None:
        """Infer, and write everyone with the features added."""
        section, profiler = bench.config.section(MemoriesSection), bench.model("profiler")
        for stream in STREAMS:
            total = bench.count("memories", stream)
            batch = RequestBatch(profiler, partial(_wanted, bench, section, stream), total, "features")
            if section.asks == "whole":
                answers = await ask_after_trial(bench, batch, ONE_BY_ONE, differ=True)
            else:
                answers = await bench.ask(batch)
            for person, answer in zip(bench.read("memories", Person, stream), answers, strict=True):
                bench.write(_featured(bench, section, person, answer), stream)

    def card(self, bench: Bench) -> str:
        """How many, and whose."""
        features = people = by_template = 0
        for stream in STREAMS:
            for person in bench.read(self.name, Person, stream):
                people += 1
                features += len(person.attributes)
        by_template = sum(row["by"] == TEMPLATE for row in bench.read_rows(self.name, "lineage"))
        return (
            f"## Features\n\n{features:,} features inferred for {people:,} people from samples of their memories; for "
            f"{by_template:,} of them our template ({TEMPLATE}) stands in for a profiler's reply that could not be read."
        )


def _sample(bench: Bench, section: MemoriesSection, person: Person) -> list[Memory]:
    """The memories the profiler sees, drawn by the person and the take."""
    order = sorted(
        person.memories,
        key=lambda memory: draw("sample", bench.seed, bench.take, person.id, memory.id, among=2**63),
    )
    return order[: section.sampled]


def _wanted(bench: Bench, section: MemoriesSection, stream: str) -> Iterator[Target]:
    for person in bench.read("memories", Person, stream):
        sample = _sample(bench, section, person)
        count = min(section.features, len(sample))
        yield Target(
            person.id,
            FEATURES,
            person.language,
            {
                "memories": "\n".join(f"{number}. {memory.text}" for number, memory in enumerate(sample, 1)),
                "count": count,
            },
            kind="attribute",
            read=features_reader(person.language, count, len(sample)),
            about=person.id,
            parents=tuple(memory.source or memory.id for memory in sample),
            max_tokens=80 * section.features,
        )


def _featured(bench: Bench, section: MemoriesSection, person: Person, answer: Generation) -> Person:
    sample = _sample(bench, section, person)
    if answer.text is not None:
        found, product, by = feature_lines(answer.text), answer.product, answer.maker
    else:
        bench.reject_reply(answer, bench.model("profiler"))
        few = sample[: section.features]
        found = [(SEEMS[person.language].format(memory.text), [n]) for n, memory in enumerate(few, 1)]
        made = Product(
            kind="attribute",
            text="\n".join(text for text, _ in found),
            maker=TEMPLATE,
            about=person.id,
            parents=[memory.source or memory.id for memory in few],
        )
        bench.add(made)
        product, by = made.id, TEMPLATE
    attributes = [
        Attribute(id=f"f{number}", text=text, evidence=[sample[place - 1].id for place in places])
        for number, (text, places) in enumerate(found, 1)
    ]
    row = {"id": person.id, "product": product, "by": by, "sampled": [memory.id for memory in sample]}
    bench.write(row, "lineage")
    return person.model_copy(update={"attributes": attributes})
