"""The pairs step: training pairs for people who are in no benchmark, without repeats, split by person, mixed with general ones.

For some people at a time: questions, then answers for the person and for others, then spoilt ones. Both answers of a pair are by
the same model, so that whose words they are tells nothing.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from personafit._errors import UserError, located
from personafit._hashing import content_hash, draw, hash_text
from personafit.benchmarks import Benchmark, FolderBenchmark, PersonaFeedback, open_whole
from personafit.benchmarks.lines import read_lines, required_text, validated
from personafit.benchmarks.rewardbench import GAP, RatedPair, rated_pairs
from personafit.benchmarks.starter import FOLDER as STARTER
from personafit.build.answer_texts import check_rewrite
from personafit.build.asking import Generation, Target, Unfit, plain
from personafit.build.bench import Bench, RequestBatch
from personafit.build.duplicates import NearDuplicates
from personafit.build.people import TRAINING
from personafit.build.prompts import PROMPTS, WORDINGS, PromptTemplate
from personafit.build.rows import in_blocks
from personafit.build.sections import HARD, PairsSection, PeopleSection
from personafit.build.step import BuildStep, ExpectedAsks, table
from personafit.models.reward.rendering import KNOWN
from personafit.people import FacetValue, Person, render_facets, render_person
from personafit.raters.text import stems
from personafit.store import Product

QUESTION = PROMPTS["pair-question"]
THEMES: dict[str, list[str]] = WORDINGS["themes"]

PERSONAL = PROMPTS["pair-personal"]
PLAIN = PROMPTS["pair-plain"]
OVERDONE = PROMPTS["pair-overdone"]
LESS_PERSONAL = PROMPTS["pair-less-personal"]
LESS_HELPFUL = PROMPTS["pair-less-helpful"]

NO_PERSONA = "no-persona"
WHOLE = "rule:whole-profile-1"
LONGEST_QUESTION = 400
SHORTEST_ANSWER = 15  # characters


@dataclass
class QuestionAnswers:
    """One person's question and the answers that its pairs are made of."""

    person: Person
    number: int
    other: Person | None
    """Whom the wrong answer is for; None where nobody else is at hand."""
    model: int
    """Which of the answer models answers."""
    negatives: tuple[str, ...]
    question: str = ""
    asked: str = ""
    """Id of the question as a product, or the file and line it comes from."""
    answers: dict[str, Generation] = field(default_factory=dict)
    """By kind: chosen, and each negative."""
    direction: str = ""
    """How a degraded answer was spoilt: less-personal or less-helpful."""

    attempt: int = 0
    """How many questions were tried in its place before."""

    @property
    def key(self) -> str:
        """Names it within the step."""
        return f"{self.person.id}/{self.number}" + (f"-{self.attempt}" if self.attempt else "")

    def again(self) -> "QuestionAnswers":
        """The same with another question."""
        return replace(self, question="", asked="", answers={}, attempt=self.attempt + 1)


def units(people: Sequence[Person], section: PairsSection, seed: str, models: int) -> list[QuestionAnswers]:
    """What is to be made for some people; harder negatives take turns."""
    found = []
    for person in people:
        others = [one for one in people if one.language == person.language and one.id != person.id]
        for number in range(section.per_person):
            key = (seed, "pairs", person.id, number)
            start = draw(*key, "hard", among=len(HARD))
            hard = [HARD[(start + turn) % len(HARD)] for turn in range(section.hard)]
            other = others[draw(*key, "other", among=len(others))] if others else None
            if other is None:
                hard = [kind for kind in hard if kind != "wrong-person"]
            unit = QuestionAnswers(
                person, number, other, draw(*key, "model", among=models), (NO_PERSONA, *hard)
            )
            unit.direction = ("less-personal", "less-helpful")[draw(*key, "direction", among=2)]
            found.append(unit)
    return found


def told(person: Person) -> Product:
    """What a maker is told of a person, as a product."""
    return Product(
        kind="context", text=render_person(person), maker=WHOLE, about=person.id, parents=[person.id]
    )


async def ask_questions(bench: Bench, todo: Sequence[QuestionAnswers], seed: str) -> None:
    """Have the writer ask; a unit without a usable question stays without."""

    def wanted(unit: QuestionAnswers) -> Target:
        person = unit.person
        themes = THEMES["zh" if person.language == "zh" else "en"]
        theme = themes[draw(seed, unit.key, "theme", among=len(themes))]
        values: dict[str, object] = {"person": render_person(person), "theme": theme}
        given = told(person).id
        return Target.for_person(
            person,
            f"{unit.key}/question",
            QUESTION,
            values,
            "question",
            read_question,
            given=given,
            max_tokens=120,
        )

    batch = RequestBatch(bench.model("writer"), lambda: map(wanted, todo), len(todo), "questions")
    for unit, answer in zip(todo, await bench.ask(batch), strict=True):
        if answer.text is None:
            bench.reject_reply(answer)
        else:
            unit.question, unit.asked = answer.text, answer.product


async def ask_answers(bench: Bench, todo: Sequence[QuestionAnswers], words: int) -> None:
    """The fitting answers, those for nobody, for somebody else and for show; then the spoilt ones."""
    await _ask(bench, todo, lambda unit: _first(unit, words))
    await _ask(bench, [unit for unit in todo if unit.answers["chosen"].ok], _spoilt)


async def _ask(
    bench: Bench, todo: Sequence[QuestionAnswers], made: Callable[[QuestionAnswers], list[tuple[str, Target]]]
) -> None:
    pool = bench.pool()
    for place, model in enumerate(pool):
        mine = [(unit, kind, wanted) for unit in todo if unit.model == place for kind, wanted in made(unit)]
        batch = RequestBatch(model, partial(iter, [wanted for _, _, wanted in mine]), len(mine), "answers")
        for (unit, kind, _), answer in zip(mine, await bench.ask(batch), strict=True):
            unit.answers[kind] = answer


def _first(unit: QuestionAnswers, words: int) -> list[tuple[str, Target]]:
    asked: dict[str, tuple[PromptTemplate, Person | None]] = {
        "chosen": (PERSONAL, unit.person),
        NO_PERSONA: (PLAIN, None),
        "wrong-person": (PERSONAL, unit.other),
        "over-personalized": (OVERDONE, unit.person),
    }
    found = []
    for kind, (prompt, whom) in asked.items():
        if kind == "chosen" or kind in unit.negatives:
            person = render_person(whom) if whom else ""
            values = {"person": person, "question": unit.question, "words": words}
            found.append((kind, _answer(unit, kind, prompt, values, whom)))
    return found


def _spoilt(unit: QuestionAnswers) -> list[tuple[str, Target]]:
    if "degraded" not in unit.negatives:
        return []
    chosen = unit.answers["chosen"]
    prompt = LESS_PERSONAL if unit.direction == "less-personal" else LESS_HELPFUL
    said = chosen.text or ""
    wanted = _answer(unit, "degraded", prompt, {"question": unit.question, "answer": said}, like=said)
    return [("degraded", wanted)]


def _answer(
    unit: QuestionAnswers,
    kind: str,
    prompt: PromptTemplate,
    values: dict[str, object],
    whom: Person | None = None,
    like: str = "",
) -> Target:
    """An answer for somebody, of whom the maker is told, or one made from the chosen answer."""
    parents = [unit.asked] if unit.asked else []
    if like:
        parents.append(unit.answers["chosen"].product)
    return Target(
        f"{unit.key}/{kind}",
        prompt,
        unit.person.language,
        values,
        "answer",
        partial(read_answer, like=like),
        about=(whom or unit.person).id,
        given=told(whom).id if whom else None,
        parents=tuple(parents),
        max_tokens=700,
    )


def read_question(reply: str) -> str:
    """A writer's question, if it is one."""
    text = plain(reply).strip('"“”').strip()
    if "\n" in text or len(text) > LONGEST_QUESTION:
        raise Unfit("one question on one line is wanted", "只要一个问题，写成一行")
    if not text.endswith(("?", "？")):
        raise Unfit("it must be a question and end with a question mark", "必须是问题，以问号结尾")
    return text


def read_answer(reply: str, like: str = "") -> str:
    """An answer; one that was made from another is about as long and not the same."""
    text = plain(reply)
    if len(text) < SHORTEST_ANSWER:
        raise Unfit("it is too short for an answer", "作为回答太短了")
    if like:
        check_rewrite(text, like)
    return text


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


NOT_PERSONAL = "not personal"


def trl_row(
    person: str, facets: Mapping[str, FacetValue], question: str, chosen: str, rejected: str, tier: str
) -> dict[str, Any]:
    """One pair; without facets it is nobody's. The person stands in the system turn, in the words our models read."""
    known = [{"role": "system", "content": KNOWN.format(person=render_facets(facets))}] if facets else []
    return {
        "prompt": [*known, {"role": "user", "content": question}],
        "chosen": [{"role": "assistant", "content": chosen}],
        "rejected": [{"role": "assistant", "content": rejected}],
        "person": dict(facets),
        "person_id": person,
        "tier": tier,
    }


FOLDER = "pairs"
SPLITS = ("train", "validation")


class Sink:
    """Takes finished pairs in."""

    def __init__(self, bench: Bench, section: PairsSection) -> None:
        self._bench, self._section = bench, section
        self._near = NearDuplicates(section.similarity) if section.similarity < 1 else None
        self._seen = NearDuplicates(1.0)
        self._reasons: Counter[str] = Counter()
        (bench.out / FOLDER).mkdir(parents=True, exist_ok=True)
        self._files = {name: self._path(name, ".part").open("wb") for name in SPLITS}
        self.kept = 0

    def _path(self, split: str, end: str = ".jsonl") -> Path:
        return self._bench.out / FOLDER / f"{split}{end}"

    def take(self, todo: list[QuestionAnswers]) -> set[str]:
        """Take in the pairs of some units; the keys of those that made one."""
        made: set[str] = set()
        whole = [unit for unit in todo if self._usable(unit)]
        texts = [(unit.key, f"{unit.question}\n{unit.answers['chosen'].text}") for unit in whole]
        twins = self._near.add(texts) if self._near else [None] * len(texts)
        for unit, twin in zip(whole, twins, strict=True):
            if twin is not None:
                self.reject(unit, "chosen", f"near-duplicate of {twin}")
                continue
            before = self.kept
            for kind in unit.negatives:
                self._pair(unit, kind)
            if self.kept > before:
                made.add(unit.key)
        return made

    def _usable(self, unit: QuestionAnswers) -> bool:
        chosen = unit.answers["chosen"]
        if chosen.text is None:
            self.reject(unit, "chosen", chosen.reason)
        return chosen.text is not None

    def _pair(self, unit: QuestionAnswers, kind: str) -> None:
        chosen, rejected = unit.answers["chosen"], unit.answers[kind]
        if chosen.text is None or rejected.text is None:
            self.reject(unit, kind, rejected.reason)
            return
        if chosen.text == rejected.text:
            self.reject(unit, kind, "both answers are the same")
            return
        person = unit.person
        row = trl_row(person.id, person.facets, unit.question, chosen.text, rejected.text, kind)
        lineage = {
            "negative": kind,
            "direction": unit.direction if kind == "degraded" else None,
            "wrong_person": unit.other.id if kind == "wrong-person" and unit.other else None,
            "question": unit.asked or None,
            "given": chosen.target.given,
            "chosen": chosen.product,
            "rejected": rejected.product,
            "rejected_given": rejected.target.given,
            "makers": [chosen.maker, rejected.maker],
        }
        self._write(row, {name: value for name, value in lineage.items() if value}, person.id, kind)

    def general(self, pair: RatedPair, source: str) -> None:
        """A pair that is nobody's; it belongs to its prompt."""
        row = trl_row("", {}, pair.prompt, pair.better, pair.worse, NOT_PERSONAL)
        lineage = {"negative": NOT_PERSONAL, "source": located(source, pair.line), "gap": pair.gap}
        self._write(row, lineage, f"?{hash_text(pair.prompt)}", NOT_PERSONAL)

    def _write(self, row: dict[str, Any], lineage: dict[str, Any], owner: str, kind: str) -> None:
        key = hash_text(*(row[name][-1]["content"] for name in ("prompt", "chosen", "rejected")))
        if self._seen.add([(key, key)]) != [None]:
            self._bench.reject(f"{owner}/{key[:8]}", "exact duplicate of a pair", by="rule:duplicates")
            return
        part = draw(self._bench.seed, "split", owner, among=10_000)
        split = SPLITS[part < self._section.validation * 10_000]
        self._files[split].write(orjson.dumps({**row, "lineage": lineage}, option=orjson.OPT_APPEND_NEWLINE))
        longer = len(row["chosen"][-1]["content"]) > len(row["rejected"][-1]["content"])
        told = {"id": key, "negative": kind, "split": split, "chosen_longer": longer}
        self._bench.write({**told, "person_hash": hash_text(owner)[:12], "lineage": lineage})
        self.kept += 1

    def reject(self, unit: QuestionAnswers, kind: str, reason: str) -> None:
        """Keep what could not become a pair, and why."""
        self._reasons[reason] += 1
        by = self._bench.pool()[unit.model].name
        self._bench.reject(f"{unit.key}/{kind}", reason, unit.question, about=unit.person.id, by=by)

    def nothing(self) -> str:
        """The sentence for a build from which no pair came."""
        most = self._reasons.most_common(1)
        because = f" (most often: {most[0][0]})" if most else ""
        return (
            f"pairs: none of the first people's answers made a pair{because}; name other models in [models]."
        )

    def close(self) -> None:
        """End the files."""
        for file in self._files.values():
            file.close()

    def publish(self) -> None:
        """Give the files their final names."""
        for name in SPLITS:
            self._path(name, ".part").replace(self._path(name))


ATTEMPTS = 3  # questions that are tried for each one wanted
FIRST, CHUNK = 8, 200  # people at a time


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
            for chunk in in_blocks(people, FIRST, CHUNK):
                await self._chunk(bench, chunk, given, held_out, sink)
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
        ]
        rows = ((kind, count, f"{longer[kind] / count:.0%}") for kind, count in sorted(kinds.items()))
        return "\n".join([*lines, *table(("rejected answer", "pairs", "chosen is longer"), rows)])


def _may(bench: Bench, held_out: HeldOut, person: Person) -> bool:
    why = held_out.why(person)
    if why:
        bench.reject(person.id, why, about=person.id, by="rule:held-out")
    return not why


def _benchmark_questions(bench: Bench) -> Iterator[str]:
    """What this build's own benchmark asks."""
    if "questions" in bench.config.sections:
        for row in bench.read_rows("questions"):
            yield row["text"]


def _questions(bench: Bench, section: PairsSection) -> Iterator[tuple[str, str]]:
    """The questions of the user's file, each with its file and line, from the beginning again when it ends."""
    path = bench.config.place(section.questions)
    while True:
        found = False
        for number, row in read_lines(path):
            found = True
            yield required_text(row, "prompt", path, number).strip(), f"{path.name}#{number}"
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
