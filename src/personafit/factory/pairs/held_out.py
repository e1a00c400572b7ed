"""Whom and what must not be trained on: the people and questions of benchmarks, known again by id, profile or words."""

from collections.abc import Iterable
from pathlib import Path

from personafit._hashing import content_hash, hash_text
from personafit.benchmarks import Benchmark, FolderBenchmark, PersonaFeedback, open_whole
from personafit.benchmarks.lines import read_lines, validated
from personafit.benchmarks.starter import FOLDER as STARTER
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
