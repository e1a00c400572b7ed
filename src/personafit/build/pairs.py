"""The pairs step: training pairs for people who are in no benchmark, deduplicated and split by person.

For each block of people: questions, then answers for the person and for others, then degraded ones. Both answers of a pair are by
the same model, so that the author does not reveal the label.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

from pydantic import Field

from personafit._errors import UserError, counted
from personafit._hashing import content_hash, draw, hash_text
from personafit.benchmarks import BENCHMARKS, Benchmark, FolderBenchmark, PersonaFeedback, open_whole
from personafit.benchmarks.lines import read_lines, validated
from personafit.benchmarks.starter import FOLDER as STARTER
from personafit.build.answers import FOR_ANYBODY, FOR_PERSON, LESS_HELPFUL, LESS_PERSONAL
from personafit.build.asking import Target
from personafit.build.bench import TRAINING, Bench, Reasons, in_blocks, write_rows
from personafit.build.config import TEMPLATE, BuildConfig, ConfigSection
from personafit.build.duplicates import NearDuplicates
from personafit.build.pair_answers import (
    DEGRADED,
    HARD,
    OVERDONE,
    QUESTION,
    QuestionAnswers,
    first_answers,
    question_target,
    spoilt_answers,
    told,
    units,
)
from personafit.build.people import PeopleSection
from personafit.build.questions.lists import open_scenarios, read_pool
from personafit.build.step import BuildStep, ExpectedAsks, table
from personafit.models.reward.rendering import KNOWN
from personafit.people import FacetValue, Person, render_facets
from personafit.raters.text import stems


class HeldOut:
    """The people and questions that must not be trained on, kept as hashes so that many benchmarks fit."""

    def __init__(
        self, excluded: Iterable[tuple[str, Path]], people: Iterable[Person], questions: Iterable[str]
    ) -> None:
        """`excluded` are paths of benchmarks, each with a name if its files do not identify the layout."""
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
                self._take(FolderBenchmark(path, kind=None))  # items of any kind
            elif people_file.is_file():
                self._add(
                    validated(Person, row, people_file, number) for number, row in read_lines(people_file)
                )
            else:
                self._take(PersonaFeedback(path))

    def why(self, person: Person) -> str:
        """Return why a person must not be trained on; empty if there is no reason."""
        if person.id in self._ids:
            return "a person of this id is in a benchmark"
        known = content_hash(person.facets) in self._profiles
        return "a person of this profile is in a benchmark" if known else ""

    def has_question(self, question: str) -> bool:
        """Return whether a benchmark asks the same words, ignoring case, endings and punctuation."""
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


NOT_PERSONAL = "not personal"  # the tier of pairs without a person in training files
SPLITS = ("train", "validation")
ATTEMPTS = 3  # questions tried per question wanted
FIRST, BLOCK = 8, 200  # people per block, in the first block and in later ones


class PairsSection(ConfigSection):
    """Settings of the pairs step."""

    per_person: int = Field(2, ge=1, description="Questions for each person of [people] training.")
    questions: str = Field(
        "",
        description="File of questions, in any form that `pool` of [questions] takes; empty has the writer ask.",
    )
    hard: int = Field(1, ge=0, le=len(HARD), description="Harder negatives for each question, in turn.")
    words: int = Field(120, ge=20, description="Length asked for, in words or characters.")
    validation: float = Field(
        0.1, ge=0, lt=1, description="Share of the people whose pairs are for validation."
    )
    similarity: float = Field(
        0.95, gt=0, le=1, description="Cosine from which two pairs are near-duplicates."
    )
    exclude: list[str] = Field(
        default_factory=list,
        description="Benchmarks whose people and questions must not be trained on: a folder, a people.jsonl, or NAME=FOLDER.",
    )

    def excluded(self, config: BuildConfig) -> list[tuple[str, Path]]:
        """Return name and path of each excluded benchmark; the name is empty if none is given."""
        found = []
        for named in self.exclude:
            name, given, place = named.rpartition("=")
            known = bool(given) and name in BENCHMARKS
            found.append((name, config.place(place)) if known else ("", config.place(named)))
        return found

    def faults(self, config: BuildConfig) -> Iterator[str]:
        people = config.sections.get("people")
        if config.models.pool() == [TEMPLATE] or (not self.questions and config.models.writer == TEMPLATE):
            yield "templates make no training pairs: name a writer, or questions of your own, and answerers"
        if isinstance(people, PeopleSection) and people.training == 0:
            yield "there is nobody to train on: set training in [people], the people who are not in the benchmark"
        yield from config.missing("questions", self.questions)
        for _, place in self.excluded(config):
            if not place.exists():
                yield f"exclude: there is no benchmark {place}"


def trl_row(
    person: str, facets: Mapping[str, FacetValue], question: str, chosen: str, rejected: str, tier: str
) -> dict[str, Any]:
    """Return a pair in TRL's layout, with the person in the system turn as our models read it; a pair without facets has no system turn."""
    known = [{"role": "system", "content": KNOWN.format(person=render_facets(facets))}] if facets else []
    return {
        "prompt": [*known, {"role": "user", "content": question}],
        "chosen": [{"role": "assistant", "content": chosen}],
        "rejected": [{"role": "assistant", "content": rejected}],
        "person": dict(facets),
        "person_id": person,
        "tier": tier,
    }


class PairsWriter:
    """Collects finished pairs without duplicates; each belongs to its person's split."""

    def __init__(self, bench: Bench, section: PairsSection) -> None:
        self._bench, self._section = bench, section
        self._near, self._written = NearDuplicates(section.similarity), set[str]()
        self._rows: dict[str, list[dict[str, Any]]] = {name: [] for name in SPLITS}
        self.reasons = Reasons()

    @property
    def kept(self) -> int:
        return sum(map(len, self._rows.values()))

    def take(self, done: Sequence[QuestionAnswers]) -> set[str]:
        """Add the pairs of some questions; return the keys of those that produced one."""
        made, whole = set(), []
        for unit in done:
            if unit.answers["chosen"].ok:
                whole.append(unit)
            else:
                self.reject(unit, "chosen", unit.answers["chosen"].reason)
        twins = self._near.add(
            [(unit.key, f"{unit.question}\n{unit.answers['chosen'].text}") for unit in whole]
        )
        for unit, twin in zip(whole, twins, strict=True):
            if twin is not None:
                self.reject(unit, "chosen", f"near-duplicate: as {twin}")
                continue
            for kind in unit.negatives:
                if self._pair(unit, kind):
                    made.add(unit.key)
        return made

    def _pair(self, unit: QuestionAnswers, kind: str) -> bool:
        chosen, rejected, person = unit.answers["chosen"], unit.answers[kind], unit.person
        if rejected.text is None or chosen.text is None:
            self.reject(unit, kind, rejected.reason)
            return False
        if chosen.text == rejected.text:
            self.reject(unit, kind, "both answers are the same")
            return False
        key = hash_text(unit.question, chosen.text, rejected.text)
        if key in self._written:
            self.reject(unit, kind, "the same pair is there already")
            return False
        self._written.add(key)
        made = {
            "negative": kind,
            "direction": unit.direction if kind == DEGRADED else None,
            "wrong_person": unit.other.id if kind == "wrong-person" and unit.other else None,
            "question": unit.source,
            "given": chosen.target.given,
            "chosen": chosen.product,
            "rejected": rejected.product,
            "rejected_given": rejected.target.given,
            "makers": [chosen.maker, rejected.maker],
        }
        lineage = {name: value for name, value in made.items() if value}
        part = draw(self._bench.seed, "split", person.id, among=10_000)
        split = SPLITS[part < self._section.validation * 10_000]
        row = trl_row(person.id, person.facets, unit.question, chosen.text, rejected.text, kind)
        self._rows[split].append({**row, "lineage": lineage})
        kept = {"id": key, "negative": kind, "split": split, "person_hash": hash_text(person.id)[:12]}
        longer = len(chosen.text) > len(rejected.text)
        self._bench.write({**kept, "chosen_longer": longer, "lineage": lineage})
        return True

    def reject(self, unit: QuestionAnswers, kind: str, reason: str) -> None:
        self.reasons.reject(reason)
        by = self._bench.pool_names[unit.model]
        self._bench.reject(f"{unit.key}/{kind}", reason, unit.question, about=unit.person.id, by=by)

    def publish(self) -> None:
        folder = self._bench.out / "pairs"
        folder.mkdir(parents=True, exist_ok=True)
        for name, rows in self._rows.items():
            write_rows(folder / f"{name}.jsonl", rows)


class PairsStep(BuildStep):
    """Makes pairs of answers for the training people of [people]."""

    name = "pairs"
    after = ("people",)
    uses = ("memories", "features", "questions")
    section = PairsSection
    version = 6
    roles = ("writer", "answerers")
    prompts = (QUESTION, FOR_PERSON, FOR_ANYBODY, OVERDONE, LESS_PERSONAL, LESS_HELPFUL)

    def outside(self, bench: Bench) -> Any:
        section = bench.config.section(PairsSection)
        paths = [bench.config.place(section.questions)] if section.questions else []
        for _, folder in section.excluded(bench.config):
            paths += [folder] if folder.is_file() else sorted(folder.glob("**/*.json*"))
        return bench.config.hashes(paths)

    def expected(self, bench: Bench) -> Iterator[ExpectedAsks]:
        section, people = bench.config.section(PairsSection), bench.config.section(PeopleSection).training
        count = people * section.per_person
        if not section.questions:
            yield ExpectedAsks("questions", bench.model("writer"), count, 350, 30)
        pool = bench.models.pool()
        for model in pool:
            calls = round(count * (2 + section.hard) / len(pool))
            yield ExpectedAsks("answers", model, calls, 400, 2 * section.words)

    async def make(self, bench: Bench) -> None:
        """Make pairs in blocks of people, leaving out those who are in a benchmark."""
        section = bench.config.section(PairsSection)
        asked = bench.read_rows("questions") if "questions" in bench.config.sections else ()
        benchmark = bench.read("people", Person)
        held_out = HeldOut(section.excluded(bench.config), benchmark, (row["text"] for row in asked))
        writer, people = PairsWriter(bench, section), []
        for person in bench.people(TRAINING):
            if why := held_out.why(person):
                bench.reject(person.id, why, about=person.id, by="rule:held-out")
            else:
                people.append(person)
        given = _given_questions(bench.config.place(section.questions)) if section.questions else None
        for block in in_blocks(people, FIRST, BLOCK):
            await self._block(bench, block, given, held_out, writer)
        writer.publish()

    async def _block(
        self,
        bench: Bench,
        people: list[Person],
        given: Iterator[tuple[str, str]] | None,
        held_out: HeldOut,
        writer: PairsWriter,
    ) -> None:
        section, seed = bench.config.section(PairsSection), f"{bench.seed}/{bench.take}"
        todo = units(people, section.per_person, section.hard, seed, len(bench.models.pool()))
        for person in people:
            bench.add(told(person))
        for attempt in range(ATTEMPTS):
            todo = [replace(unit, question="", source="", answers={}, attempt=attempt) for unit in todo]
            await _ask_questions(bench, todo, given, seed)
            asked = []
            for unit in todo:
                if unit.question and held_out.has_question(unit.question):
                    writer.reject(unit, "question", "a benchmark asks this")
                elif unit.question:
                    asked.append(unit)
            await _ask_answers(bench, asked, [first_answers(unit, section.words) for unit in asked])
            await _ask_answers(bench, asked, [spoilt_answers(unit, section.words) for unit in asked])
            made = writer.take(asked)
            if not writer.kept:
                raise UserError(
                    f"pairs: none of the first people's answers made a pair{writer.reasons.because}; name other models in [models].",
                    code=1,
                )
            todo = [unit for unit in todo if unit.key not in made]
            if not todo:
                return

    def card(self, bench: Bench) -> str:
        rows = list(bench.read_rows(self.name))
        kinds, splits = (Counter(row[name] for row in rows) for name in ("negative", "split"))
        longer = Counter(row["negative"] for row in rows if row["chosen_longer"])
        people = {row["person_hash"] for row in rows}
        shares = ((kind, count, f"{longer[kind] / count:.0%}") for kind, count in sorted(kinds.items()))
        return "\n".join(
            [
                "## Training pairs",
                "",
                f"{counted(len(rows), 'pair', 'pairs')} of {counted(len(people), 'person', 'people')} in no benchmark: {splits['train']:,} for training, "
                f"{splits['validation']:,} of other people for validation (`pairs/`, in TRL's layout).",
                "",
                *table(("rejected answer", "pairs", "chosen is longer"), shares),
            ]
        )


async def _ask_questions(
    bench: Bench, todo: Sequence[QuestionAnswers], given: Iterator[tuple[str, str]] | None, seed: str
) -> None:
    """Set each question from the user's file, or ask the writer; it stays empty if the reply is unusable."""
    if given is not None:
        for unit in todo:
            unit.question, unit.source = next(given)
        return
    known = open_scenarios(bench.config).category
    themes = {
        language: [scenario.title(language) for one in known for scenario in one.scenario]
        for language in {unit.person.language for unit in todo}
    }
    targets = [question_target(unit, themes[unit.person.language], seed) for unit in todo]
    for unit, answer in zip(todo, await bench.ask(bench.model(), targets, "questions"), strict=True):
        bench.reject_reply(answer)
        unit.question, unit.source = answer.text or "", answer.product


async def _ask_answers(
    bench: Bench, todo: Sequence[QuestionAnswers], wanted: Sequence[dict[str, Target]]
) -> None:
    """Ask each question's own model for the wanted answers."""
    asks = [
        (unit, kind, target)
        for unit, targets in zip(todo, wanted, strict=True)
        for kind, target in targets.items()
    ]
    answers = await bench.ask_pool([(unit.model, target) for unit, _, target in asks], "answers")
    for (unit, kind, _), answer in zip(asks, answers, strict=True):
        unit.answers[kind] = answer


def _given_questions(path: Path) -> Iterator[tuple[str, str]]:
    """Cycle through the questions of the user's file, each with its file and line."""
    found = [(one.text, one.source) for one in read_pool([path])]
    if not found:
        raise UserError(f"{path} holds no questions; each line is an object with `prompt` or `text`.")
    return cycle(found)
