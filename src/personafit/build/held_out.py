"""People and questions of benchmarks, which must not be trained on. The starter set that comes with us is always held out."""

from collections.abc import Iterable
from pathlib import Path

from personafit._hashing import content_hash, hash_text
from personafit.benchmarks import Benchmark, FolderBenchmark, PersonaFeedback, open_whole
from personafit.benchmarks.lines import read_lines, validated
from personafit.benchmarks.starter import FOLDER as STARTER
from personafit.people import Person
from personafit.raters.text import stems


class HeldOut:
    """Remembers hashes only, so that many benchmarks fit."""

    def __init__(
        self, excluded: Iterable[tuple[str, Path]], people: Iterable[Person], questions: Iterable[str]
    ) -> None:
        """`excluded` are places of benchmarks, each with a name where the layout is not told by the files."""
        self._ids: set[str] = set()
        self._profiles: set[str] = set()
        self._questions = {_words(question) for question in questions}
        self._add(people)
        self._take(FolderBenchmark(STARTER, kind=None))
        for name, path in excluded:
            people_file = path if path.is_file() else path / "people.jsonl"
            if name:
                self._take(open_whole(name, path))
            elif (path / "benchmark.toml").is_file():
                self._take(FolderBenchmark(path, kind=None))  # whatever is asked about
            elif people_file.is_file():
                self._add(
                    validated(Person, row, people_file, number) for number, row in read_lines(people_file)
                )
            else:
                self._take(PersonaFeedback(path))

    def why(self, person: Person) -> str:
        """The reason why a person must not be trained on; empty if there is none."""
        if person.id in self._ids:
            return "a person of this id is in a benchmark"
        known = content_hash(person.facets) in self._profiles
        return "a person of this profile is in a benchmark" if known else ""

    def has_question(self, question: str) -> bool:
        """Whether a benchmark asks the same words, whatever their case, endings and marks."""
        return _words(question) in self._questions

    def _take(self, benchmark: Benchmark) -> None:
        self._add(benchmark.people())
        self._questions.update(_words(item.prompt) for item in benchmark.items())

    def _add(self, people: Iterable[Person]) -> None:
        for person in people:
            self._ids.add(person.id)
            self._profiles.add(content_hash(person.facets))


def _words(question: str) -> str:
    return hash_text(" ".join(stems(question)))
