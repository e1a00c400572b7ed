"""The memories and features steps: what an assistant has noted of each person, and what a profiler infers from a sample of it.

Memories are entries chosen from the user's corpora, or notes that the writer wrote. Questions are made from the features and not
from the whole profile, so that they come from what somebody does and not from a label on them.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from personafit._hashing import draw
from personafit.build.asking import Generation, Target, Unfit, check_language
from personafit.build.bench import Bench, RequestBatch
from personafit.build.candidates import INTERESTS, LEAVES
from personafit.build.corpus import CorpusText, MemoryCorpus
from personafit.build.people import TRAINING, check_length
from personafit.build.prompts import PROMPTS, WORDINGS
from personafit.build.quota import ask_after_trial
from personafit.build.sections import MemoriesSection, PeopleSection
from personafit.build.step import BuildStep, ExpectedAsks
from personafit.people import Attribute, Memory, Person, facet_values, render_person, select_facets
from personafit.store import Product

SELECT = PROMPTS["memories.select"]
WRITE = PROMPTS["memories.write"]
FEATURES = PROMPTS["memories.features"]
STREAMS = ("people", TRAINING)
TEMPLATE, NEAREST, FEATURE_TEMPLATE = "template:memories-1", "rule:nearest-1", "template:features-1"
SHORTLIST = 30  # entries of the corpora offered for each person, or twice as many as are wanted
MOST_ENTRIES = 20_000  # looked at; of larger corpora a sample

_NUMBERED = re.compile(r"^\s*(\d{1,3})\s*[.)、:：]\s*(.+?)\s*$")
_EVIDENCE = re.compile(r"(?<!\s)\s*[\[【(（]([\d,，、\s]+)[\]】)）]\s*+(?:[.。]\s*+)?$")


def numbers_reader(count: int, among: int) -> Callable[[str], str]:
    """Reads exactly so many different numbers from 1 to `among`; the product's text is the numbers with commas."""

    def read(reply: str) -> str:
        found = [int(number) for number in re.findall(r"\d+", reply)]
        if re.sub(r"[\d\s,，、.;；]", "", reply):
            raise Unfit("it must be numbers and commas only", "只能有数字和逗号")
        if len(found) != count or len(set(found)) != count:
            raise Unfit(
                f"it must be {count} different numbers, not {len(set(found))}",
                f"必须是{count}个不同的编号，现在是{len(set(found))}个",
            )
        if not all(1 <= number <= among for number in found):
            raise Unfit(f"numbers go from 1 to {among}", f"编号只有1到{among}")
        return ",".join(map(str, found))

    return read


def list_reader(language: str, count: int, among: int = 0) -> Callable[[str], str]:
    """Reads exactly so many numbered lines, all different; the product's text is the lines without numbers.

    With `among`, each ends with the numbers of the notes it rests on, from 1 to so many: `sentence [1,3]`.
    """

    def read(reply: str) -> str:
        found = []
        for text in _numbered(reply, count):
            said, notes = _evidence(text, among) if among else (text, "")
            said = " ".join(said.split())
            check_length(said, language)
            check_language(said, language)
            found.append(said + notes)
        if len(set(found)) < count:
            raise Unfit("two lines say the same", "有两行内容相同")
        return "\n".join(found)

    return read


def _evidence(text: str, among: int) -> tuple[str, str]:
    """A sentence and the notes it rests on."""
    named = _EVIDENCE.search(text)
    if named is None:
        raise Unfit(
            "every line must end with note numbers in square brackets", "每行末尾都要用方括号注明编号"
        )
    numbers = sorted({int(number) for number in re.findall(r"\d+", named[1])})
    if not numbers or not all(1 <= number <= among for number in numbers):
        raise Unfit(f"note numbers go from 1 to {among}", f"记录的编号只有1到{among}")
    return text[: named.start()], f" [{','.join(map(str, numbers))}]"


def _numbered(reply: str, count: int) -> list[str]:
    lines = [line for line in reply.strip().splitlines() if line.strip()]
    matched = [_NUMBERED.match(line) for line in lines]
    if len(lines) != count or [match and int(match[1]) for match in matched] != list(range(1, count + 1)):
        raise Unfit(
            f"it must be {count} lines numbered from 1 to {count}, and nothing else",
            f"必须正好{count}行，从1编号到{count}，不要写别的",
        )
    return [match[2] for match in matched if match]


class MemoriesStep(BuildStep):
    """Memories for everyone."""

    name = "memories"
    after = ("people",)
    section = MemoriesSection
    version = 2
    roles = ("writer",)
    prompts = (SELECT, WRITE)

    def outside(self, bench: Bench) -> Any:
        """The corpora, word for word."""
        return bench.config.hashes(bench.config.section(MemoriesSection).corpora)

    def expected(self, bench: Bench) -> Iterator[ExpectedAsks]:
        """One ask for each person."""
        section, people = bench.config.section(MemoriesSection), bench.config.section(PeopleSection).total
        if section.corpora:
            size = 350 + 60 * _shortlist(section), 3 * section.per_person
            yield ExpectedAsks("choices from corpora", bench.model(), people, *size)
        else:
            yield ExpectedAsks("memories", bench.model(), people, 450, 35 * section.per_person)

    async def make(self, bench: Bench) -> None:
        """Ask for everyone, benchmark and training, and write them with what they remember."""
        paths = [bench.config.place(name) for name in bench.config.section(MemoriesSection).corpora]
        remembering = _Remembering(bench, MemoryCorpus(paths, MOST_ENTRIES, bench.seed) if paths else None)
        for stream in STREAMS:
            total = bench.count("people", stream)
            batch = RequestBatch(bench.model(), partial(remembering.wanted, stream), total, "memories")
            answers = await ask_after_trial(bench, batch, differ=not paths)
            for person, answer in zip(bench.read("people", Person, stream), answers, strict=True):
                bench.write(remembering.person(person, answer), stream)

    def card(self, bench: Bench) -> str:
        """How many, how long, from where."""
        people = memories = length = 0
        for stream in STREAMS:
            for person in bench.read(self.name, Person, stream):
                people += 1
                memories += len(person.memories)
                length += sum(len(memory.text) for memory in person.memories)
        makers: Counter[str] = Counter()
        for row in bench.read_rows(self.name, "lineage"):
            makers[row["by"]] += row["memories"]
        shown = ", ".join(f"{count:,} by {maker}" for maker, count in sorted(makers.items()))
        return (
            f"## Memories\n\n{memories:,} memories of {people:,} people, {memories / max(1, people):.1f} each, "
            f"{length / max(1, memories):,.0f} characters on average: {shown}."
        )


class _Remembering:
    """What is asked for each person, and what is made of the answer."""

    def __init__(self, bench: Bench, corpus: MemoryCorpus | None) -> None:
        self._bench, self._corpus = bench, corpus
        self._section = bench.config.section(MemoriesSection)
        self._count = self._section.per_person
        if corpus is not None:
            self._count = min(self._count, len(corpus.entries))

    def wanted(self, stream: str) -> Iterator[Target]:
        """What is asked about the people of a stream."""
        for person in self._bench.read("people", Person, stream):
            values: dict[str, object] = {"person": render_person(person), "count": self._count}
            if self._corpus is None:
                values["topics"] = "; ".join(self._shuffled("topic", person, self._bench.take)[:5] or ["…"])
                prompt, read, most = WRITE, list_reader(person.language, self._count), 90 * self._count
            else:
                offered = self._offered(person, self._corpus)
                values["entries"] = "\n".join(f"{n}. {entry.text}" for n, entry in enumerate(offered, 1))
                prompt, read = SELECT, numbers_reader(self._count, len(offered))
                most = 8 * self._count + 16
            yield Target.for_person(person, person.id, prompt, values, "memory", read, max_tokens=most)

    def person(self, person: Person, answer: Generation) -> Person:
        """The person with memories; where the model's words could not be used, with those of a rule or a template."""
        offered = self._offered(person, self._corpus) if self._corpus else []
        found: dict[str, str | None] = {}
        """Texts with where each is from."""
        if answer.text is None:
            self._bench.reject_reply(answer)
        elif self._corpus:
            found = dict(offered[int(number) - 1] for number in answer.text.split(","))
        else:
            found = dict.fromkeys(answer.text.splitlines(), answer.product)
        self._lineage(person, self._bench.name(), len(found), [answer.product])
        missing = self._count - len(found)
        if self._corpus and missing:
            left = [entry for entry in offered if entry.text not in found][:missing]
            self._lineage(person, NEAREST, len(left), [])
            found |= dict(left)
        elif missing:
            said = (
                WORDINGS["memories"][person.language].format(text.rstrip(".。"))
                for text in self._shuffled("memory", person)
            )
            lines = [text for text in said if text not in found][:missing]
            product = Product(
                kind="memory", text="\n".join(lines), maker=TEMPLATE, about=person.id, parents=[person.id]
            )
            if lines:
                self._bench.add(product)
            self._lineage(person, TEMPLATE, len(lines), [])
            found |= dict.fromkeys(lines, product.id)
        memories = [
            Memory(id=f"m{number:02}", text=text, time=None, source=source)
            for number, (text, source) in enumerate(found.items(), 1)
        ]
        return person.model_copy(update={"memories": memories})

    def _lineage(self, person: Person, by: str, count: int, products: list[str]) -> None:
        if count:
            row = {"id": person.id, "by": by, "memories": count, "products": products}
            self._bench.write(row, "lineage")

    def _shuffled(self, what: str, person: Person, *key: int) -> list[str]:
        """What the person likes and does, in a drawn order."""
        key = (self._bench.seed, *key)
        return sorted(_likes(person), key=lambda text: draw(what, *key, person.id, text, among=2**32))

    def _offered(self, person: Person, corpus: MemoryCorpus) -> list[CorpusText]:
        key = f"{self._bench.seed}/{person.id}"
        places = corpus.shortlist(" ".join(_likes(person)), _shortlist(self._section), key)
        return [corpus.entries[place] for place in places]


def _likes(person: Person) -> list[str]:
    return facet_values(select_facets(person.facets, [*LEAVES, INTERESTS]))


def _shortlist(section: MemoriesSection) -> int:
    return max(SHORTLIST, 2 * section.per_person)


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
        size = 120 + 35 * section.sampled, 30 * section.features
        yield ExpectedAsks("features", bench.model("profiler"), people, *size)

    async def make(self, bench: Bench) -> None:
        """Infer, and write everyone with the features added."""
        section = bench.config.section(MemoriesSection)
        for stream in STREAMS:
            wanted, total = partial(_features_wanted, bench, section, stream), bench.count("memories", stream)
            batch = RequestBatch(bench.model("profiler"), wanted, total, "features")
            answers = await ask_after_trial(bench, batch, differ=True)
            for person, answer in zip(bench.read("memories", Person, stream), answers, strict=True):
                bench.write(_featured(bench, section, person, answer), stream)

    def card(self, bench: Bench) -> str:
        """How many, and whose."""
        counts = [
            len(person.attributes) for stream in STREAMS for person in bench.read(self.name, Person, stream)
        ]
        by_template = sum(row["by"] == FEATURE_TEMPLATE for row in bench.read_rows(self.name, "lineage"))
        return (
            f"## Features\n\n{sum(counts):,} features inferred for {len(counts):,} people from samples of their memories; for "
            f"{by_template:,} of them our template ({FEATURE_TEMPLATE}) stands in for a profiler."
        )


def _sample(bench: Bench, section: MemoriesSection, person: Person) -> list[Memory]:
    """The memories the profiler sees, drawn by the person and the take."""
    key = (bench.seed, bench.take, person.id)
    order = sorted(person.memories, key=lambda memory: draw("sample", *key, memory.id, among=2**63))
    return order[: section.sampled]


def _features_wanted(bench: Bench, section: MemoriesSection, stream: str) -> Iterator[Target]:
    for person in bench.read("memories", Person, stream):
        sample = _sample(bench, section, person)
        count = min(section.features, len(sample))
        said = "\n".join(f"{number}. {memory.text}" for number, memory in enumerate(sample, 1))
        yield Target.for_person(
            person,
            person.id,
            FEATURES,
            {"memories": said, "count": count},
            "attribute",
            list_reader(person.language, count, len(sample)),
            parents=tuple(memory.source or memory.id for memory in sample),
            max_tokens=80 * section.features,
        )


def _featured(bench: Bench, section: MemoriesSection, person: Person, answer: Generation) -> Person:
    """The person with features: the profiler's, or the template's, each of one memory."""
    sample = _sample(bench, section, person)
    found: list[tuple[str, list[int]]] = []
    product, by = answer.product, answer.maker
    if answer.text is not None:
        for line in answer.text.splitlines():
            said, _, numbers = line.rpartition(" [")
            found.append((said, [int(number) for number in numbers.rstrip("]").split(",")]))
    else:
        bench.reject_reply(answer, "profiler")
        few, seems = sample[: section.features], WORDINGS["features"][person.language]
        found = [(seems.format(memory.text), [number]) for number, memory in enumerate(few, 1)]
        made = Product(
            kind="attribute",
            text="\n".join(text for text, _ in found),
            maker=FEATURE_TEMPLATE,
            about=person.id,
            parents=[memory.source or memory.id for memory in few],
        )
        bench.add(made)
        product, by = made.id, FEATURE_TEMPLATE
    attributes = [
        Attribute(id=f"f{number}", text=text, evidence=[sample[place - 1].id for place in places])
        for number, (text, places) in enumerate(found, 1)
    ]
    row = {"id": person.id, "product": product, "by": by, "sampled": [memory.id for memory in sample]}
    bench.write(row, "lineage")
    return person.model_copy(update={"attributes": attributes})
