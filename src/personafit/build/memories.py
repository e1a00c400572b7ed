"""The memories and features steps: what each person wrote or saved, and what a profiler infers from samples of it.

Memories are entries chosen from the user's corpora, or posts and messages written by the writer, mixed with other people's
(`noise`), as in any store an assistant retrieves from. Every question has its own sample of them, from which the profiler infers
features. Questions are made from these features rather than the whole profile, so that they reflect what a person does and not a
label.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pydantic import Field

from personafit._hashing import draw, hash_text
from personafit.benchmarks.lines import read_lines, required_text
from personafit.build.asking import Generation, Target, unfit
from personafit.build.bench import TRAINING, Bench
from personafit.build.config import BuildConfig, ConfigSection
from personafit.build.given import habits_of
from personafit.build.people import SHORTEST, PeopleSection, check_sentence
from personafit.build.prompts import PROMPTS, WORDINGS
from personafit.build.questions.lists import QuestionsSection, text_lines
from personafit.build.step import BuildStep, ExpectedAsks, table
from personafit.models.embeddings import Embedder, make_embedder
from personafit.people import Attribute, Memory, Person, render_person

LONGEST = 600  # characters; longer entries are left out


class CorpusText(NamedTuple):
    """A text of a corpus, with its source."""

    text: str
    source: str


def read_corpus(paths: Sequence[Path]) -> Iterator[CorpusText]:
    """Yield the entries of some files, leaving out empty and overlong ones."""
    for path in paths:
        found = _rows(path) if path.suffix == ".jsonl" else _paragraphs(path)
        yield from (entry for entry in found if 0 < len(entry.text) <= LONGEST)


def _rows(path: Path) -> Iterator[CorpusText]:
    for number, row in read_lines(path):
        text = " ".join(required_text(row, "text", path, number).split())
        yield CorpusText(text, f"{path.name}#{number}")


def _paragraphs(path: Path) -> Iterator[CorpusText]:
    """Yield the paragraphs of a text file, numbered."""
    groups = groupby((line.strip() for line in text_lines(path, "corpora")), key=bool)
    texts = (" ".join(lines) for words, lines in groups if words)
    return (CorpusText(text, f"{path.name}#{number}") for number, text in enumerate(texts, 1))


class MemoryCorpus:
    """The entries of some files, or a seeded sample of `most` of them, with their embeddings."""

    def __init__(self, paths: Sequence[Path], most: int, seed: int, embedder: Embedder | None = None) -> None:
        kept = {entry.text: entry for entry in read_corpus(paths)}
        order = sorted(kept.values(), key=lambda entry: hash_text("corpus", str(seed), entry.text))
        self.entries = order[:most]
        self._embedder = embedder or make_embedder()
        self._vectors = self._embedder.embed([entry.text for entry in self.entries])

    def shortlist(self, about: str, count: int, key: str) -> list[CorpusText]:
        """Return the nearest entries, and for a quarter of the list others drawn by `key`."""
        count = min(count, len(self.entries))
        likeness = self._vectors @ self._embedder.embed([about])[0]
        order = np.argsort(-likeness, kind="stable").tolist()
        near = max(1, count - count // 4)
        others = sorted(order[near:], key=lambda place: hash_text("shortlist", key, self.entries[place].text))
        return [self.entries[place] for place in (*order[:near], *others[: count - near])]


SELECT = PROMPTS["memories.select"]
WRITE = PROMPTS["memories.write"]
FEATURES = PROMPTS["memories.features"]
STREAMS = ("people", TRAINING)
SHORTLIST = 30  # corpus entries offered per person, or twice the number wanted if that is more
MOST_ENTRIES = 20_000  # entries kept; larger corpora are sampled
TRIES = 8  # draws of other people's memories per own memory
LOOKED_AT = 1_000  # entries read to check in advance that the corpora suffice

_NUMBERED = re.compile(r"^\s*(\d{1,3})\s*[.)、:：]\s*(.+?)\s*$")
_EVIDENCE = re.compile(r"(?<!\s)\s*[\[【(（]([\d,，、\s]+)[\]】)）]\s*+(?:[.。]\s*+)?$")


class MemoriesSection(ConfigSection):
    """Settings of the memories and features steps."""

    per_person: int = Field(16, ge=1, le=200, description="Memories of each person's own.")
    noise: float = Field(
        0.25,
        ge=0,
        le=4,
        description="Other people's memories among them, as a share of their own; 0 leaves them clean.",
    )
    corpora: list[str] = Field(
        default_factory=list,
        description="JSONL files with `text`, or plain text with an empty line between entries; empty lets the writer write.",
    )
    sampled: int = Field(
        4, ge=1, description="Memories that the features of each question are inferred from."
    )
    features: int = Field(3, ge=1, le=20, description="Features inferred for each question.")

    def faults(self, config: BuildConfig) -> Iterator[str]:
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
    """Return a parser for exactly `count` different numbers from 1 to `among`; its text is the numbers with commas."""

    def read(reply: str) -> str:
        found = [int(number) for number in re.findall(r"\d+", reply)]
        if re.sub(r"[\d\s,，、.;；]", "", reply):
            raise unfit("numbers")
        if len(found) != count or len(set(found)) != count:
            raise unfit("different-numbers", count, len(set(found)))
        if not all(1 <= number <= among for number in found):
            raise unfit("number-range", among)
        return ",".join(map(str, found))

    return read


def list_reader(language: str, count: int, among: int = 0) -> Callable[[str], str]:
    """Return a parser for exactly `count` numbered lines, all different; its text is the lines without numbers.

    With `among`, each line ends with the numbers of its supporting notes, from 1 to `among`: `sentence [1,3]`.
    """

    def read(reply: str) -> str:
        lines = [line for line in reply.strip().splitlines() if line.strip()]
        matched = [_NUMBERED.match(line) for line in lines]
        if len(lines) != count or [match and int(match[1]) for match in matched] != list(range(1, count + 1)):
            raise unfit("numbered-lines", count)
        found = []
        for text in (match[2] for match in matched if match):
            said, notes = _evidence(text, among) if among else (text, "")
            found.append(check_sentence(said, language, least=SHORTEST[language] // 2) + notes)
        if len(set(found)) < count:
            raise unfit("two-lines")
        return "\n".join(found)

    return read


def _evidence(text: str, among: int) -> tuple[str, str]:
    """Split a line into its sentence and the numbers of its supporting notes."""
    named = _EVIDENCE.search(text)
    if named is None:
        raise unfit("note-numbers")
    numbers = sorted({int(number) for number in re.findall(r"\d+", named[1])})
    if not numbers or not all(1 <= number <= among for number in numbers):
        raise unfit("note-range", among)
    return text[: named.start()], f" [{','.join(map(str, numbers))}]"


def _likes(person: Person) -> list[str]:
    return [text for _, text in habits_of(person)]


def deal(count: int, size: int, number: int, *key: str | int) -> list[int]:
    """Return `size` indices below `count` for draw `number`: all are dealt before any repeats, in a new order each round."""
    hands = max(1, count // size)
    turn, hand = divmod(number, hands)
    order = sorted(range(count), key=lambda place: draw("deal", *key, turn, place, among=2**63))
    return order[hand * size : (hand + 1) * size]


class MemoriesStep(BuildStep):
    """Gives every person memories."""

    name = "memories"
    after = ("people",)
    section = MemoriesSection
    version = 4
    roles = ("writer",)
    prompts = (SELECT, WRITE)

    def outside(self, bench: Bench) -> Any:
        return bench.config.hashes(bench.config.section(MemoriesSection).corpora)

    def expected(self, bench: Bench) -> Iterator[ExpectedAsks]:
        section, people = bench.config.section(MemoriesSection), bench.config.section(PeopleSection).total
        if section.corpora:
            size = 350 + 60 * max(SHORTLIST, 2 * section.per_person), 3 * section.per_person
            yield ExpectedAsks("choices from corpora", bench.model(), people, *size)
        else:
            yield ExpectedAsks("memories", bench.model(), people, 450, 35 * section.per_person)

    async def make(self, bench: Bench) -> None:
        """Get memories for every benchmark and training person with too few, and mix in other people's."""
        section = bench.config.section(MemoriesSection)
        paths = [bench.config.place(name) for name in section.corpora]
        corpus = MemoryCorpus(paths, MOST_ENTRIES, bench.seed) if paths else None
        for stream in STREAMS:
            people = list(bench.read("people", Person, stream))
            wanting = [person for person in people if len(person.memories) < section.per_person]
            offered = {person.id: _offered(bench, person, section.per_person, corpus) for person in wanting}
            targets = [
                _to_choose(person, section.per_person, offered[person.id])
                if corpus
                else _to_write(bench, person, section.per_person)
                for person in wanting
            ]
            answers = await bench.ask_after_trial(bench.model(), targets, "memories", differ=corpus is None)
            own = {
                person.id: [(one.text, one.source or one.id) for one in person.memories] for person in people
            }
            for person, answer in zip(wanting, answers, strict=True):
                bench.reject_reply(answer)
                said, mine = answer.text or "", offered[person.id]
                if corpus:
                    own[person.id] += [mine[int(number) - 1] for number in said.split(",")]
                else:
                    own[person.id] += [(text, answer.product) for text in said.splitlines()]
            everyone: dict[str, list[tuple[str, str]]] = {}
            for person in people:
                everyone.setdefault(person.language, []).extend(own[person.id])
            for person in people:
                _write(bench, person, own[person.id], everyone[person.language], section.noise, stream)

    def card(self, bench: Bench) -> str:
        rows = list(bench.read("memories", Person, "people"))
        own = {row["id"]: len(row["own"]) for row in bench.read_rows("memories", "own")}
        counts = [(len(person.memories), own[person.id]) for person in rows]
        total, theirs = (sum(column) / max(1, len(rows)) for column in zip(*counts, strict=True))
        mean = (total, theirs, total - theirs)
        warning = (
            ""
            if mean[2]
            else " **These memories are clean**: nothing of anybody else is among them, so retrieval from them is easier than it is from "
            "what people leave behind, and scores with `memory` do not compare with published ones."
        )
        found = table(
            ("memories of each", "their own", "other people's"),
            [[f"{n:.1f}" for n in mean]],
        )
        return "\n".join(["## Memories", "", f"Posts, messages and notes, in no order.{warning}", "", *found])


def _write(
    bench: Bench,
    person: Person,
    mine: list[tuple[str, str]],
    everyone: list[tuple[str, str]],
    noise: float,
    stream: str,
) -> None:
    """Write a person with their own and other people's memories mixed; the stream `own` records which are theirs."""
    key = (bench.seed, bench.take, person.id)
    own, mixed = dict(mine), dict(mine)
    for number in range(TRIES * len(own)):
        if len(mixed) >= round((1 + noise) * len(own)):
            break
        text, source = everyone[draw("noise", *key, number, among=len(everyone))]
        mixed.setdefault(text, source)
    order = sorted(mixed.items(), key=lambda entry: draw("mixed", *key, *entry, among=2**63))
    memories = [
        Memory(id=f"m{number:02}", text=text, time=None, source=source)
        for number, (text, source) in enumerate(order, 1)
    ]
    bench.write(person.model_copy(update={"memories": memories}), stream)
    bench.write({"id": person.id, "own": [one.id for one in memories if one.text in own]}, "own")


def _to_write(bench: Bench, person: Person, count: int) -> Target:
    """Return the target for memories by the writer; its stand-in states the person's preferences."""
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


def _to_choose(person: Person, count: int, offered: Sequence[CorpusText]) -> Target:
    """Return the target for a choice among corpus entries; its stand-in takes the nearest."""
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


def _offered(bench: Bench, person: Person, count: int, corpus: MemoryCorpus | None) -> list[CorpusText]:
    if corpus is None:
        return []
    return corpus.shortlist(" ".join(_likes(person)), max(SHORTLIST, 2 * count), f"{bench.seed}/{person.id}")


class FeaturesStep(BuildStep):
    """Infers features of every person, as attributes with their supporting memories: a few per specific question."""

    name = "features"
    after = ("memories",)
    section = MemoriesSection
    version = 3
    roles = ("profiler",)
    prompts = (FEATURES,)

    def expected(self, bench: Bench) -> Iterator[ExpectedAsks]:
        section, people = bench.config.section(MemoriesSection), bench.config.section(PeopleSection)
        size = 140 + 45 * section.sampled, 30 * section.features
        asks = people.quota * _samples(bench) + people.training
        yield ExpectedAsks("features", bench.model("profiler"), asks, *size)

    def outside(self, bench: Bench) -> Any:
        return _samples(bench)

    async def make(self, bench: Bench) -> None:
        section = bench.config.section(MemoriesSection)
        own = {row["id"]: set(row["own"]) for row in bench.read_rows("memories", "own")}
        for stream in STREAMS:
            people = list(bench.read("memories", Person, stream))
            draws = range(_samples(bench) if stream == "people" else 1)
            sampled = [
                (person, number, _sample(bench, section, person, own[person.id], number))
                for person in people
                for number in draws
            ]
            targets = [_inference(section, *one) for one in sampled]
            answers = await bench.ask_after_trial(bench.model("profiler"), targets, "features")
            found: dict[str, dict[str, Attribute]] = {person.id: {} for person in people}
            for (person, number, sample), answer in zip(sampled, answers, strict=True):
                bench.reject_reply(answer, "profiler")
                ids = [_add(found[person.id], text, evidence) for text, evidence in _read(answer, sample)]
                row = {"person": person.id, "number": number, "features": ids, "product": answer.product}
                bench.write(
                    {**row, "by": answer.maker, "sampled": [memory.id for memory in sample]}, "lineage"
                )
            for person in people:
                bench.write(person.model_copy(update={"attributes": [*found[person.id].values()]}), stream)


def _samples(bench: Bench) -> int:
    """Return the number of memory samples per person: one per specific question."""
    asked = bench.config.sections.get("questions")
    return max(1, asked.specific) if isinstance(asked, QuestionsSection) else 1


def _sample(
    bench: Bench, section: MemoriesSection, person: Person, own: set[str], number: int
) -> list[Memory]:
    """Return the memories the profiler sees for a question: the person's own, dealt so that all are used equally often."""
    mine = [memory for memory in person.memories if memory.id in own]
    key = (bench.seed, bench.take, person.id)
    return [mine[place] for place in deal(len(mine), section.sampled, number, *key)]


def _inference(section: MemoriesSection, person: Person, number: int, sample: list[Memory]) -> Target:
    """Return the target for inferred features; its stand-in makes one of each memory."""
    count, seems = min(section.features, len(sample)), WORDINGS["features"][person.language]
    said = "\n".join(f"{place}. {memory.text}" for place, memory in enumerate(sample, 1))
    return Target.for_person(
        person,
        f"{person.id}/{number}",
        FEATURES,
        {"memories": said, "count": count},
        "attribute",
        list_reader(person.language, count, len(sample)),
        parents=tuple(memory.source or memory.id for memory in sample),
        max_tokens=80 * section.features,
        stand_in="\n".join(
            f"{seems.format(memory.text)} [{place}]" for place, memory in enumerate(sample[:count], 1)
        ),
    )


def _read(answer: Generation, sample: list[Memory]) -> Iterator[tuple[str, list[str]]]:
    """Yield the features of a reply, each with the ids of its supporting memories."""
    for line in (answer.text or "").splitlines():
        said, _, notes = line.rpartition(" [")
        yield said, [sample[int(note) - 1].id for note in notes.rstrip("]").split(",")]


def _add(known: dict[str, Attribute], text: str, evidence: list[str]) -> str:
    """Add a feature and return its id; an identical text only adds its evidence."""
    if text not in known:
        known[text] = Attribute(id=f"f{len(known) + 1}", text=text, evidence=[])
    one = known[text]
    one.evidence.extend(note for note in evidence if note not in one.evidence)
    return one.id
