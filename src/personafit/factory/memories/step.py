"""The memories step: for each person, entries chosen from the user's corpora, or notes that a writer wrote."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from personafit._hashing import draw
from personafit.factory.asking import Generation, Target, Unfit, check_language, only_line
from personafit.factory.bench import Bench, RequestBatch
from personafit.factory.memories.corpus import MemoryCorpus
from personafit.factory.people.drawing import INTERESTS, LEAVES
from personafit.factory.people.step import TRAINING
from personafit.factory.people.wording import LEAST_SHARED, LONGEST, SHORTEST, shared
from personafit.factory.prompts import PROMPTS, WORDINGS
from personafit.factory.quota import ask_after_trial
from personafit.factory.sections import MemoriesSection, PeopleSection
from personafit.factory.step import BuildStep, ExpectedAsks
from personafit.people import Memory, Person, facet_values, render_person, select_facets
from personafit.store import Product

SELECT = PROMPTS["memories.select"]
WRITE = PROMPTS["memories.write"]
NOTE = PROMPTS["memories.note"]
FEATURES = PROMPTS["memories.features"]

_NUMBERED = re.compile(r"^\s*(\d{1,3})\s*[.)、:：]\s*(.+?)\s*$")
_EVIDENCE = re.compile(r"\s*[\[【(（]([\d,，、\s]+)[\]】)）]\s*[.。]?\s*$")


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


def list_reader(language: str, count: int) -> Callable[[str], str]:
    """Reads exactly so many numbered lines, all different; the product's text is the lines without numbers."""

    def read(reply: str) -> str:
        found = [_sentence(text, language) for text in _numbered(reply, count)]
        if len(set(found)) < count:
            raise Unfit("two lines say the same", "有两行内容相同")
        return "\n".join(found)

    return read


def note_reader(language: str, topic: str) -> Callable[[str], str]:
    """Reads one sentence that has to do with the topic."""

    def read(reply: str) -> str:
        text = _sentence(only_line(reply).strip("\"'“” "), language)
        if shared(topic, text) < LEAST_SHARED:
            raise Unfit("it has nothing to do with what they like", "和这个人喜欢的事无关")
        return text

    return read


def features_reader(language: str, count: int, among: int) -> Callable[[str], str]:
    """Reads features with the notes they rest on; the product's text is `sentence [numbers]`, a line each."""

    def read(reply: str) -> str:
        lines = []
        for text in _numbered(reply, count):
            named = _EVIDENCE.search(text)
            if named is None:
                raise Unfit(
                    "every line must end with note numbers in square brackets", "每行末尾都要用方括号注明编号"
                )
            numbers = sorted({int(number) for number in re.findall(r"\d+", named[1])})
            if not numbers or not all(1 <= number <= among for number in numbers):
                raise Unfit(f"note numbers go from 1 to {among}", f"记录的编号只有1到{among}")
            lines.append(f"{_sentence(text[: named.start()], language)} [{','.join(map(str, numbers))}]")
        if len(set(lines)) < count:
            raise Unfit("two lines say the same", "有两行内容相同")
        return "\n".join(lines)

    return read


def feature_lines(text: str) -> list[tuple[str, list[int]]]:
    """Features and the numbers of their notes, from a product's text."""
    found = []
    for line in text.splitlines():
        said, _, numbers = line.rpartition(" [")
        found.append((said, [int(number) for number in numbers.rstrip("]").split(",")]))
    return found


def _numbered(reply: str, count: int) -> list[str]:
    lines = [line for line in reply.strip().splitlines() if line.strip()]
    matched = [_NUMBERED.match(line) for line in lines]
    if len(lines) != count or [match and int(match[1]) for match in matched] != list(range(1, count + 1)):
        raise Unfit(
            f"it must be {count} lines numbered from 1 to {count}, and nothing else",
            f"必须正好{count}行，从1编号到{count}，不要写别的",
        )
    return [match[2] for match in matched if match]


def _sentence(text: str, language: str) -> str:
    text = " ".join(text.split())
    if not SHORTEST[language] <= len(text) <= LONGEST[language]:
        raise Unfit(
            f"each has {SHORTEST[language]} to {LONGEST[language]} characters, '{text[:30]}' has {len(text)}",
            f"每条应有{SHORTEST[language]}到{LONGEST[language]}个字符，“{text[:30]}”有{len(text)}个",
        )
    check_language(text, language)
    return text


TEMPLATE, NEAREST = "template:memories-1", "rule:nearest-1"
ONE_BY_ONE = 'name a stronger model in [models], or set asks = "one" in [memories]'
SAID: dict[str, str] = WORDINGS["memories"]
STREAMS = ("people", TRAINING)


class MemoriesStep(BuildStep):
    """Memories for everyone."""

    name = "memories"
    after = ("people",)
    section = MemoriesSection
    version = 2
    roles = ("writer",)
    prompts = (SELECT, WRITE, NOTE)

    def outside(self, bench: Bench) -> Any:
        """The corpora, word for word."""
        return bench.config.hashes(bench.config.section(MemoriesSection).corpora)

    def expected(self, bench: Bench) -> Iterator[ExpectedAsks]:
        """One ask for each person, or one for each memory."""
        section, people = bench.config.section(MemoriesSection), bench.config.section(PeopleSection).total
        writer = bench.model("writer")
        if section.corpora:
            yield ExpectedAsks(
                "choices from corpora", writer, people, 350 + 60 * section.shortlist, 3 * section.per_person
            )
        elif section.asks == "whole":
            yield ExpectedAsks("memories", writer, people, 450, 35 * section.per_person)
        else:
            yield ExpectedAsks("memories", writer, people * section.per_person, 80, 40)

    async def make(self, bench: Bench) -> None:
        """Ask for everyone, benchmark and training, and write them with what they remember."""
        section = bench.config.section(MemoriesSection)
        corpus = None
        if section.corpora:
            paths = [bench.config.place(name) for name in section.corpora]
            corpus = MemoryCorpus(paths, section.most_entries, bench.seed)
        asking = _Asking(bench, section, corpus)
        for stream in STREAMS:
            total = bench.count("people", stream) * asking.asks_each
            batch = RequestBatch(bench.model("writer"), partial(asking.wanted, stream), total, "memories")
            if section.asks == "whole":
                answers = await ask_after_trial(bench, batch, ONE_BY_ONE, differ=corpus is None)
            else:
                answers = await bench.ask(batch)
            for person in bench.read("people", Person, stream):
                mine = [next(answers) for _ in range(asking.asks_each)]
                bench.write(asking.remembering(person, mine), stream)

    def card(self, bench: Bench) -> str:
        """How many, how long, from where."""
        people = memories = length = 0
        makers: dict[str, int] = {}
        for stream in STREAMS:
            for person in bench.read(self.name, Person, stream):
                people += 1
                memories += len(person.memories)
                length += sum(len(memory.text) for memory in person.memories)
        for row in bench.read_rows(self.name, "lineage"):
            makers[row["by"]] = makers.get(row["by"], 0) + row["memories"]
        shown = ", ".join(f"{count:,} by {maker}" for maker, count in sorted(makers.items()))
        return (
            f"## Memories\n\n{memories:,} memories of {people:,} people, {memories / max(1, people):.1f} each, "
            f"{length / max(1, memories):,.0f} characters on average: {shown}."
        )


class _Asking:
    """What is asked for each person, and what is made of the answers."""

    def __init__(self, bench: Bench, section: MemoriesSection, corpus: MemoryCorpus | None) -> None:
        self._bench, self._section, self._corpus = bench, section, corpus
        self.count = section.per_person if corpus is None else min(section.per_person, len(corpus.entries))

    @property
    def asks_each(self) -> int:
        """Asks for each person."""
        return self.count if self._corpus is None and self._section.asks == "one" else 1

    def wanted(self, stream: str) -> Iterator[Target]:
        """Everything asked about the people of a stream."""
        for person in self._bench.read("people", Person, stream):
            if self._corpus is not None:
                yield self._choice(person, self._corpus)
            elif self._section.asks == "whole":
                yield self._notes(person)
            else:
                for number in range(self.count):
                    yield self._note(person, number)

    def remembering(self, person: Person, answers: list[Generation]) -> Person:
        """The person with memories; where the model's words could not be used, with those of a rule or a template."""
        writer = self._bench.model("writer").name
        found: list[tuple[str, str]] = []
        for answer in answers:
            if answer.text is None:
                self._bench.reject_reply(answer, self._bench.model())
            elif self._corpus is not None:
                places = self._places(person, self._corpus)
                chosen = [self._corpus.entries[places[int(number) - 1]] for number in answer.text.split(",")]
                found += [(entry.text, entry.source) for entry in chosen]
            else:
                found += [(line, answer.product) for line in answer.text.splitlines()]
        texts = {text for text, _ in found}
        by = {writer: len(texts)}
        if len(texts) < self.count:
            maker, filling = self._filling(person, texts)
            found += filling
            by[maker] = len(filling)
        memories = [
            Memory(id=f"m{number:02}", text=text, time=None, source=source)
            for number, (text, source) in enumerate(dict(found).items(), 1)
        ]
        for maker, count in by.items():
            if count:
                said = [one.product for one in answers if one.product] if maker == writer else []
                row = {"id": person.id, "by": maker, "memories": count, "products": said}
                self._bench.write(row, "lineage")
        return person.model_copy(update={"memories": memories})

    def _filling(self, person: Person, texts: set[str]) -> tuple[str, list[tuple[str, str]]]:
        """What stands in for memories the model did not give."""
        missing = self.count - len(texts)
        if self._corpus is not None:
            entries = [self._corpus.entries[place] for place in self._places(person, self._corpus)]
            return NEAREST, [(entry.text, entry.source) for entry in entries if entry.text not in texts][
                :missing
            ]
        drawn = facet_values(select_facets(person.facets, [*LEAVES, INTERESTS]))
        drawn.sort(key=lambda text: draw("memory", self._bench.seed, person.id, text, among=2**32))
        said = [SAID[person.language].format(text.rstrip(".。")) for text in drawn]
        lines = [text for text in said if text not in texts][:missing]
        product = Product(
            kind="memory", text="\n".join(lines), maker=TEMPLATE, about=person.id, parents=[person.id]
        )
        if lines:
            self._bench.add(product)
        return TEMPLATE, [(line, product.id) for line in lines]

    def _choice(self, person: Person, corpus: MemoryCorpus) -> Target:
        places = self._places(person, corpus)
        entries = "\n".join(
            f"{number}. {corpus.entries[place].text}" for number, place in enumerate(places, 1)
        )
        return Target(
            person.id,
            SELECT,
            person.language,
            {"person": render_person(person), "entries": entries, "count": self.count},
            kind="memory",
            read=numbers_reader(self.count, len(places)),
            about=person.id,
            parents=(person.id,),
            max_tokens=8 * self.count + 16,
        )

    def _notes(self, person: Person) -> Target:
        return Target(
            person.id,
            WRITE,
            person.language,
            {
                "person": render_person(person),
                "count": self.count,
                "topics": "; ".join(self._topics(person, 5)),
            },
            kind="memory",
            read=list_reader(person.language, self.count),
            about=person.id,
            parents=(person.id,),
            max_tokens=90 * self.count,
        )

    def _note(self, person: Person, number: int) -> Target:
        topics, facets = self._topics(person, self.count), person.facets
        topic = topics[number % len(topics)]
        return Target(
            f"{person.id}/{number}",
            NOTE,
            person.language,
            {
                "gist": f"{facets['Demographics.Work']}, {facets['Demographics.Age']}. ",
                "topic": topic,
            },
            kind="memory",
            read=note_reader(person.language, topic),
            about=person.id,
            parents=(person.id,),
            sample=number,
            max_tokens=60,
        )

    def _topics(self, person: Person, count: int) -> list[str]:
        found = facet_values(select_facets(person.facets, [*LEAVES, INTERESTS]))
        found.sort(
            key=lambda text: draw("topic", self._bench.seed, self._bench.take, person.id, text, among=2**32)
        )
        return found[:count] or ["…"]

    def _places(self, person: Person, corpus: MemoryCorpus) -> list[int]:
        about = " ".join(facet_values(select_facets(person.facets, [*LEAVES, INTERESTS])))
        return corpus.shortlist(about, self._section.shortlist, f"{self._bench.seed}/{person.id}")
