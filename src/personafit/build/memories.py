"""The memories and features steps: what an assistant has noted of each person, and what a profiler infers from a sample of it.

Memories are entries chosen from the user's corpora, or notes that the writer wrote. Questions are made from the features and not
from the whole profile, so that they come from what somebody does and not from a label on them.
"""

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from pydantic import Field

from personafit._hashing import draw
from personafit.build.asking import Generation, Target, Unfit
from personafit.build.bench import TRAINING, Bench
from personafit.build.candidates import INTERESTS, LEAVES
from personafit.build.config import BuildConfig, ConfigSection
from personafit.build.corpus import LONGEST, MemoryCorpus, read_corpus
from personafit.build.people import PeopleSection, check_sentence
from personafit.build.prompts import PROMPTS, WORDINGS
from personafit.build.step import BuildStep, ExpectedAsks
from personafit.people import Attribute, Memory, Person, facet_values, render_person, select_facets

SELECT = PROMPTS["memories.select"]
WRITE = PROMPTS["memories.write"]
FEATURES = PROMPTS["memories.features"]
STREAMS = ("people", TRAINING)
SHORTLIST = 30  # entries of the corpora offered for each person, or twice as many as are wanted
MOST_ENTRIES = 20_000  # looked at; of larger corpora a sample
LOOKED_AT = 1_000  # entries, to see before anything is asked whether there are enough

_NUMBERED = re.compile(r"^\s*(\d{1,3})\s*[.)、:：]\s*(.+?)\s*$")
_EVIDENCE = re.compile(r"(?<!\s)\s*[\[【(（]([\d,，、\s]+)[\]】)）]\s*+(?:[.。]\s*+)?$")


class MemoriesSection(ConfigSection):
    """What the memories and features steps are asked for."""

    per_person: int = Field(12, ge=1, le=200, description="Memories of each person.")
    corpora: list[str] = Field(
        default_factory=list,
        description="JSONL files with `text`, or plain text with an empty line between entries; empty lets the writer write.",
    )
    sampled: int = Field(6, ge=1, description="Memories drawn for the profiler to infer features from.")
    features: int = Field(3, ge=1, le=20, description="Features inferred of each person.")

    def faults(self, config: BuildConfig) -> Iterator[str]:
        """Quotas that no corpus or person can fill, and corpora with nothing in them."""
        if self.sampled > self.per_person:
            yield f"sampled = {self.sampled} is more than the {self.per_person} memories a person has"
        if self.features > self.sampled:
            yield f"features = {self.features} is more than the {self.sampled} memories they are inferred from"
        yield from config.missing("corpora", *self.corpora)
        if self.corpora:
            paths = [config.place(name) for name in self.corpora]
            texts = {entry.text for entry in islice(read_corpus(paths), LOOKED_AT)}
            if len(texts) < min(self.per_person, LOOKED_AT):
                yield (
                    f"per_person = {self.per_person} is more than the {len(texts)} different entries of 1 to {LONGEST} characters in "
                    f"{', '.join(self.corpora)}"
                )


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
        lines = [line for line in reply.strip().splitlines() if line.strip()]
        matched = [_NUMBERED.match(line) for line in lines]
        if len(lines) != count or [match and int(match[1]) for match in matched] != list(range(1, count + 1)):
            raise Unfit(
                f"it must be {count} lines numbered from 1 to {count}, and nothing else",
                f"必须正好{count}行，从1编号到{count}，不要写别的",
            )
        found = []
        for text in (match[2] for match in matched if match):
            said, notes = _evidence(text, among) if among else (text, "")
            found.append(check_sentence(said, language) + notes)
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


def _likes(person: Person) -> list[str]:
    return facet_values(select_facets(person.facets, [*LEAVES, INTERESTS]))


class MemoriesStep(BuildStep):
    """Memories for everyone."""

    name = "memories"
    after = ("people",)
    section = MemoriesSection
    version = 3
    roles = ("writer",)
    prompts = (SELECT, WRITE)

    def outside(self, bench: Bench) -> Any:
        """The corpora, word for word."""
        return bench.config.hashes(bench.config.section(MemoriesSection).corpora)

    def expected(self, bench: Bench) -> Iterator[ExpectedAsks]:
        """One ask for each person."""
        section, people = bench.config.section(MemoriesSection), bench.config.section(PeopleSection).total
        if section.corpora:
            size = 350 + 60 * max(SHORTLIST, 2 * section.per_person), 3 * section.per_person
            yield ExpectedAsks("choices from corpora", bench.model(), people, *size)
        else:
            yield ExpectedAsks("memories", bench.model(), people, 450, 35 * section.per_person)

    async def make(self, bench: Bench) -> None:
        """Ask for everyone, benchmark and training, and write them with what they remember."""
        section = bench.config.section(MemoriesSection)
        paths = [bench.config.place(name) for name in section.corpora]
        corpus = MemoryCorpus(paths, MOST_ENTRIES, bench.seed) if paths else None
        for stream in STREAMS:
            people = list(bench.read("people", Person, stream))
            if corpus is None:
                targets = [_to_write(bench, person, section.per_person) for person in people]
            else:
                targets = [_to_choose(bench, person, section.per_person, corpus) for person in people]
            answers = await bench.ask_after_trial(bench.model(), targets, "memories", differ=corpus is None)
            for person, answer in zip(people, answers, strict=True):
                bench.reject_reply(answer)
                texts = dict.fromkeys((answer.text or "").splitlines(), answer.product)
                if corpus is not None:
                    offered = _offered(bench, person, section.per_person, corpus)
                    texts = dict(offered[int(number) - 1] for number in (answer.text or "").split(","))
                memories = [
                    Memory(id=f"m{number:02}", text=text, time=None, source=source)
                    for number, (text, source) in enumerate(texts.items(), 1)
                ]
                bench.write(person.model_copy(update={"memories": memories}), stream)
                bench.write({"id": person.id, "by": answer.maker, "products": [answer.product]}, "lineage")


def _to_write(bench: Bench, person: Person, count: int) -> Target:
    """Notes for the writer to write; our template's say what the person likes and does."""
    likes = _likes(person)
    key = (bench.seed, bench.take, person.id)
    topics = sorted(likes, key=lambda text: draw("topic", *key, text, among=2**32))[:5]
    wording, order = WORDINGS["memories"][person.language], (bench.seed, person.id)
    drawn = sorted(dict.fromkeys(likes), key=lambda text: draw("memory", *order, text, among=2**32))
    values = {"person": render_person(person), "count": count, "topics": "; ".join(topics or ["…"])}
    return Target.for_person(
        person,
        person.id,
        WRITE,
        values,
        "memory",
        list_reader(person.language, count),
        max_tokens=90 * count,
        stand_in="\n".join(wording.format(text.rstrip(".。")) for text in drawn[:count]),
    )


def _to_choose(bench: Bench, person: Person, count: int, corpus: MemoryCorpus) -> Target:
    """Entries of the corpora for the writer to choose from; our template's choice are the nearest."""
    offered = _offered(bench, person, count, corpus)
    entries = "\n".join(f"{number}. {entry.text}" for number, entry in enumerate(offered, 1))
    return Target.for_person(
        person,
        person.id,
        SELECT,
        {"person": render_person(person), "count": count, "entries": entries},
        "memory",
        numbers_reader(count, len(offered)),
        max_tokens=8 * count + 16,
        stand_in=",".join(str(number) for number in range(1, count + 1)),
    )


def _offered(bench: Bench, person: Person, count: int, corpus: MemoryCorpus) -> list[Any]:
    return corpus.shortlist(" ".join(_likes(person)), max(SHORTLIST, 2 * count), f"{bench.seed}/{person.id}")


class FeaturesStep(BuildStep):
    """Features of everyone, as attributes with the memories they rest on."""

    name = "features"
    after = ("memories",)
    section = MemoriesSection
    version = 2
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
            people = list(bench.read("memories", Person, stream))
            samples = [_sample(bench, section, person) for person in people]
            targets = [
                _inference(section, person, sample) for person, sample in zip(people, samples, strict=True)
            ]
            answers = await bench.ask_after_trial(bench.model("profiler"), targets, "features")
            for person, sample, answer in zip(people, samples, answers, strict=True):
                bench.reject_reply(answer, "profiler")
                attributes = _attributes(answer, sample)
                bench.write(person.model_copy(update={"attributes": attributes}), stream)
                row = {"id": person.id, "product": answer.product, "by": answer.maker}
                bench.write({**row, "sampled": [memory.id for memory in sample]}, "lineage")


def _sample(bench: Bench, section: MemoriesSection, person: Person) -> list[Memory]:
    """The memories the profiler sees, drawn by the person and the take."""
    key = (bench.seed, bench.take, person.id)
    order = sorted(person.memories, key=lambda memory: draw("sample", *key, memory.id, among=2**63))
    return order[: section.sampled]


def _inference(section: MemoriesSection, person: Person, sample: list[Memory]) -> Target:
    """Features for the profiler to infer; our template's take one memory each."""
    count, seems = min(section.features, len(sample)), WORDINGS["features"][person.language]
    said = "\n".join(f"{number}. {memory.text}" for number, memory in enumerate(sample, 1))
    return Target.for_person(
        person,
        person.id,
        FEATURES,
        {"memories": said, "count": count},
        "attribute",
        list_reader(person.language, count, len(sample)),
        parents=tuple(memory.source or memory.id for memory in sample),
        max_tokens=80 * section.features,
        stand_in="\n".join(
            f"{seems.format(memory.text)} [{number}]" for number, memory in enumerate(sample[:count], 1)
        ),
    )


def _attributes(answer: Generation, sample: list[Memory]) -> list[Attribute]:
    found = []
    for number, line in enumerate((answer.text or "").splitlines(), 1):
        said, _, notes = line.rpartition(" [")
        evidence = [sample[int(note) - 1].id for note in notes.rstrip("]").split(",")]
        found.append(Attribute(id=f"f{number}", text=said, evidence=evidence))
    return found
