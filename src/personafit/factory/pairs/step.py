"""The pairs step: training pairs for people who are in no benchmark, without repeats, split by person, mixed with general ones."""

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from personafit._errors import UserError, located
from personafit._hashing import content_hash, draw, hash_text
from personafit.benchmarks import Benchmark, FolderBenchmark, PersonaFeedback, open_whole
from personafit.benchmarks.helpfulness import GAP, rated_pairs
from personafit.benchmarks.lines import read_lines, validated
from personafit.benchmarks.starter import FOLDER as STARTER
from personafit.factory.bench import Bench
from personafit.factory.pairs.config import PairsSection
from personafit.factory.pairs.drafts import (
    LESS_HELPFUL,
    LESS_PERSONAL,
    OVERDONE,
    PERSONAL,
    PLAIN,
    QUESTION,
    ask_answers,
    ask_questions,
    told,
    units,
)
from personafit.factory.pairs.sink import Sink
from personafit.factory.people.config import PeopleSection
from personafit.factory.people.step import TRAINING
from personafit.factory.questions.blocks import BENCHMARK_SPLIT
from personafit.factory.step import BuildStep, ExpectedAsks
from personafit.people import Person
from personafit.raters.dialogues.counting.words import stems


class HeldOut:
    """Remembers hashes only, so that many benchmarks fit. The starter set that comes with us is always held out."""

    def __init__(
        self, excluded: Iterable[tuple[str, Path]], people: Iterable[Person], questions: Iterable[str]
    ) -> None:
        """`excluded` are places of benchmarks, each with a name where the layout is not told by the files."""
        self._ids: set[str] = set()
        self._profiles: set[str] = set()
        self._questions = {_words(question) for question in questions}
        for person in people:
            self._add(person)
        self._take(FolderBenchmark(STARTER, kind=None))
        for name, path in excluded:
            if name:
                self._take(open_whole(name, path))
            else:
                self._read(path)

    def why(self, person: Person) -> str:
        """The reason why a person must not be trained on; empty if there is none."""
        if person.id in self._ids:
            return "a person of this id is in a benchmark"
        return "a person of this profile is in a benchmark" if _profile(person) in self._profiles else ""

    def has_question(self, question: str) -> bool:
        """Whether a benchmark asks the same words, whatever their case, endings and marks."""
        return _words(question) in self._questions

    def _read(self, path: Path) -> None:
        if path.is_file():
            for number, row in read_lines(path):
                self._add(validated(Person, row, path, number))
            return
        if (path / "benchmark.toml").is_file():
            benchmark: Benchmark = FolderBenchmark(path, kind=None)  # whatever is asked about
        elif (path / "people.jsonl").is_file():
            self._read(path / "people.jsonl")
            return
        else:
            benchmark = PersonaFeedback(path)
        self._take(benchmark)

    def _take(self, benchmark: Benchmark) -> None:
        for person in benchmark.people():
            self._add(person)
        for item in benchmark.items():
            self._questions.add(_words(item.prompt))

    def _add(self, person: Person) -> None:
        self._ids.add(person.id)
        self._profiles.add(_profile(person))


def _profile(person: Person) -> str:
    return content_hash(person.facets)


def _words(question: str) -> str:
    return hash_text(" ".join(stems(question)))


ATTEMPTS = 3  # questions that are tried for each one wanted
FIRST, CHUNK = 8, 200  # people at a time; few at first, so that a model of no use is found out


class PairsStep(BuildStep):
    """Pairs of answers for the people of [people] training."""

    name = "pairs"
    after = ("people",)
    uses = ("memories", "features", "questions")
    section = PairsSection
    version = 3
    roles = ("writer", "answerers")
    prompts = (QUESTION, PERSONAL, PLAIN, OVERDONE, LESS_PERSONAL, LESS_HELPFUL)

    def outside(self, bench: Bench) -> Any:
        """Questions, general pairs and the benchmarks that are kept out."""
        section, place = bench.config.section(PairsSection), bench.config.place
        paths = [place(named) for named in (section.questions, section.mix) if named]
        for _, folder in section.excluded(bench.config):
            paths += [folder] if folder.is_file() else sorted(folder.glob("**/*.json*"))
        return bench.config.hashes(paths)

    def expected(self, bench: Bench) -> Iterator[ExpectedAsks]:
        """A question where none are given, two answers, and one for each harder negative."""
        section, people = bench.config.section(PairsSection), bench.config.section(PeopleSection).training
        count = people * section.per_person
        if not section.questions:
            yield ExpectedAsks("questions", bench.model("writer"), count, 350, 30)
        pool = bench.pool()
        for model in pool:
            calls = round(count * (2 + section.hard) / len(pool))
            yield ExpectedAsks("answers", model, calls, 400, 2 * section.words)

    async def make(self, bench: Bench) -> None:
        """Chunk after chunk of people; then general pairs, as many as their share."""
        section = bench.config.section(PairsSection)
        held_out = HeldOut(
            section.excluded(bench.config), bench.read("people", Person), _benchmark_questions(bench)
        )
        sink = Sink(bench, section)
        try:
            people = (one for one in bench.people(TRAINING) if _may(bench, held_out, one))
            given = _questions(bench, section) if section.questions else None
            size = FIRST
            while chunk := list(islice(people, size)):
                await self._chunk(bench, chunk, given, held_out, sink)
                size = CHUNK
            if section.mix:
                _mix(bench, section, sink)
        finally:
            sink.close()
        sink.publish()

    async def _chunk(
        self,
        bench: Bench,
        people: list[Person],
        given: Iterator[tuple[str, str]] | None,
        held_out: HeldOut,
        sink: Sink,
    ) -> None:
        section, draws = bench.config.section(PairsSection), f"{bench.seed}/{bench.take}"
        todo = units(people, section, draws, len(bench.pool()))
        for person in people:
            bench.add(told(person))
        for _ in range(ATTEMPTS):  # what brought no pair is tried again with another question
            if given is None:
                await ask_questions(bench, todo, draws)
            else:
                for unit in todo:
                    unit.question, unit.asked = next(given, ("", ""))
            asked = []
            for unit in todo:
                if unit.question and held_out.has_question(unit.question):
                    sink.reject(unit, "question", "a benchmark asks this")
                elif unit.question:
                    asked.append(unit)
            await ask_answers(bench, asked, section.words)
            made = sink.take(asked)
            if not sink.kept:
                raise UserError(sink.nothing(), code=1)
            todo = [unit.again() for unit in todo if unit.key not in made]
            if not todo:
                return

    def card(self, bench: Bench) -> str:
        """How many pairs of which kind, and how far length alone would tell them apart."""
        kinds: Counter[str] = Counter()
        longer: Counter[str] = Counter()
        splits: Counter[str] = Counter()
        people = set()
        for row in bench.read_rows(self.name):
            kinds[row["negative"]] += 1
            longer[row["negative"]] += row["chosen_longer"]
            splits[row["split"]] += 1
            people.add(row["person_hash"])
        lines = [
            "## Training pairs",
            "",
            f"{kinds.total():,} pairs of {len(people):,} people who are in no benchmark: {splits['train']:,} for training, "
            f"{splits['validation']:,} of other people for validation (`pairs/`, in TRL's layout).",
            "",
            "| rejected answer | pairs | chosen is longer |",
            "|---|---|---|",
        ]
        lines += [
            f"| {kind} | {count:,} | {longer[kind] / count:.0%} |" for kind, count in sorted(kinds.items())
        ]
        return "\n".join(lines)


def _may(bench: Bench, held_out: HeldOut, person: Person) -> bool:
    why = held_out.why(person)
    if why:
        bench.reject(person.id, why, about=person.id, by="rule:held-out")
    return not why


def _benchmark_questions(bench: Bench) -> Iterator[str]:
    """What this build's own benchmark asks."""
    if "questions" in bench.config.sections:
        for row in bench.read_rows("questions"):
            if row["split"] == BENCHMARK_SPLIT:
                yield row["text"]


def _questions(bench: Bench, section: PairsSection) -> Iterator[tuple[str, str]]:
    """The questions of the user's file, each with its file and line, from the beginning again when it ends."""
    path = bench.config.place(section.questions)
    while True:
        found = False
        for number, row in read_lines(path):
            prompt = row.get("prompt")
            if not isinstance(prompt, str) or not prompt.strip():
                raise UserError(f"{located(path, number, 'prompt')} must be a text that is not empty.")
            found = True
            yield prompt.strip(), f"{path.name}#{number}"
        if not found:
            raise UserError(f"{path} holds no questions; each line is an object with `prompt`.")


def _mix(bench: Bench, section: PairsSection, sink: Sink) -> None:
    """A seeded sample of the file's pairs, as many as make their share of all."""
    path = bench.config.place(section.mix)
    wanted = round(sink.kept * section.mix_share / (1 - section.mix_share))
    ranked = (
        (draw(bench.seed, "mix", pair.line, among=2**62), pair.line, pair) for pair in rated_pairs(path)
    )
    chosen = heapq.nsmallest(wanted, ranked)
    if wanted and not chosen:
        raise UserError(
            f"{path} holds no two answers to one prompt that are {GAP} points of helpfulness apart."
        )
    for _, _, pair in sorted(chosen, key=lambda one: one[1]):
        sink.general(pair, path.name)
