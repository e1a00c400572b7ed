"""Votes on a study's items: simulated, or people's from files; the build stops and waits if people have not voted yet.

Simulated raters are rules, and their votes are marked as simulated. A rule rater prefers answers with a large share of words known
about the person, so that length alone earns nothing, plus noise. They exercise the pipeline and say nothing about what people think.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from personafit._errors import UserError, counted, located
from personafit._hashing import content_hash, draw, hash_text
from personafit.benchmarks import Benchmark, BenchmarkInfo, write_folder
from personafit.benchmarks.lines import read_lines, required_text
from personafit.build.bench import Bench, Stopped
from personafit.build.config import BuildConfig, ConfigSection
from personafit.build.step import BuildStep
from personafit.build.studies.balance import BALANCED, REPORTED
from personafit.people import Person, facet_values
from personafit.raters.text import stems
from personafit.store import Item, Judgment, Product, Status


@dataclass(frozen=True)
class AnsweredQuestion:
    """A question with its person and all its answers."""

    question: dict[str, Any]
    person: Person
    answers: tuple[dict[str, Any], ...]

    @property
    def id(self) -> str:
        return str(self.question["id"])


def answered_questions(bench: Bench) -> list[AnsweredQuestion]:
    """Return all questions with their answers, ordered by person."""
    people = {person.id: person for person in bench.people()}
    answers: dict[str, list[dict[str, Any]]] = {}
    for row in bench.read_rows("answers"):
        answers.setdefault(row["question"], []).append(row)
    return [
        AnsweredQuestion(row, people[row["person"]], tuple(answers.get(row["id"], ())))
        for row in bench.read_rows("questions")
    ]


@dataclass(frozen=True)
class Ballot:
    """An item with everything a rater sees."""

    item: Item
    person: Person
    answers: tuple[dict[str, Any], ...]
    """Rows of the answers, in the order of the item's products."""

    @property
    def texts(self) -> list[str]:
        return [row["text"] for row in self.answers]


def ballot(study: str, asked: AnsweredQuestion, answers: Sequence[dict[str, Any]], bench: Bench) -> Ballot:
    """Return an item with answers in a drawn order; its id depends on the answers, so that votes apply to these only."""
    name = f"{study}/{asked.id}/{content_hash(sorted(row['id'] for row in answers))[:8]}"
    key = ("shown", bench.seed, bench.take, name)
    shown = tuple(sorted(answers, key=lambda row: draw(*key, row["id"], among=2**63)))
    item = Item(
        id=name,
        person=asked.person.id,
        prompt=asked.question["text"],
        products=[row["id"] for row in shown],
        group=asked.id,
        slices={"half": asked.question["half"], "category": asked.question["category"]},
    )
    return Ballot(item, asked.person, shown)


class _Study(Benchmark):
    """Ballots as a benchmark without judgments, which hides who made each answer and why."""

    def __init__(self, info: BenchmarkInfo, ballots: Sequence[Ballot]) -> None:
        self.info, self._ballots = info, ballots

    def people(self) -> Iterator[Person]:
        return iter({one.person.id: one.person for one in self._ballots}.values())

    def products(self) -> Iterator[Product]:
        for one in self._ballots:
            for row in one.answers:
                yield Product(id=row["id"], kind="answer", text=row["text"])

    def items(self) -> Iterator[Item]:
        return (one.item for one in self._ballots)


SIMULATED = "simulated:"
FIT = 12.0  # utility of an answer made only of known words over one with none
SHORTEST_WORD = 4
STUDIES = ("truth", "pairs")
"""First parts of the ids of items that are voted on."""
QUESTION = "fit"
BALANCE, SAME, MAJORITY = "rule:balance-3", "rule:same-1", "rule:majority-1"


class StudiesSection(ConfigSection):
    """Settings of the two studies."""

    voters: Literal["people", "simulated"] = Field(
        "people", description="Who votes: people, in the labelling app, or simulated raters."
    )
    raters: int = Field(9, ge=3, le=99, description="Raters of each item.")
    votes: list[str] = Field(
        default_factory=list, description="Files of people's votes, as `personafit label export` writes them."
    )
    pairs: int = Field(
        2,
        ge=1,
        le=20,
        description="Most pairs drawn from the answers to each question; each answer is in one.",
    )
    balanced: bool = Field(
        True, description="Leave out pairs until length, 'you', markup and names tell nothing."
    )
    overlap: bool = Field(
        True,
        description="Balance overlap with the profile as well; not where simulated raters vote, who go by it.",
    )
    validation: float = Field(0.2, ge=0, lt=1, description="Share of the people set apart for validation.")

    @model_validator(mode="after")
    def _odd(self) -> Self:
        if self.raters % 2 == 0:
            raise ValueError(f"raters = {self.raters} can split evenly; an odd number has a majority")
        if self.votes and self.voters == "simulated":
            raise ValueError('votes are people\'s: set voters = "people", or leave votes out')
        return self

    def faults(self, config: BuildConfig) -> Iterator[str]:
        yield from config.missing("votes", *self.votes)


class StudyStep(BuildStep):
    """A step that collects votes on answers."""

    uses = ("memories", "features")
    section = StudiesSection
    version = 4

    def outside(self, bench: Bench) -> Any:
        return bench.config.hashes(bench.config.section(StudiesSection).votes)


def balanced_rules(bench: Bench) -> int:
    """Return how many rules of `REPORTED`, from the first, the pairs are balanced for."""
    section = bench.config.section(StudiesSection)
    overlap = section.overlap and section.voters == "people"
    return 0 if not section.balanced else len(REPORTED if overlap else BALANCED)


class StudyVotes:
    """All votes of a study, grouped by ballot."""

    def __init__(self, votes: Sequence[list[Judgment]]) -> None:
        self.by_ballot = votes
        self.simulated = any(one.rater.startswith(SIMULATED) for given in votes for one in given)
        self.gold = "majority(simulated raters)" if self.simulated else "majority(raters)"
        """Name of the majority as a rater."""


def said_votes(raters: Sequence[str]) -> str:
    """Return how many votes there are and of whom, given the rater of each vote."""
    kind = "simulated rater" if any(rater.startswith(SIMULATED) for rater in raters) else "rater"
    return f"{counted(len(raters), 'vote', 'votes')} of {counted(len(set(raters)), kind, f'{kind}s')}"


def labels(votes: Sequence[Judgment]) -> Counter[str]:
    """Count the votes for each answer."""
    return Counter(one.label for one in votes if one.label is not None)


def voted(bench: Bench, study: str, title: str, ballots: Sequence[Ballot]) -> StudyVotes:
    """Return the votes on some items, simulated or people's; writes the folder for people's votes in either case."""
    section, build = bench.config.section(StudiesSection), bench.config.build
    folder = bench.out / "studies" / study
    info = BenchmarkInfo(
        name=f"{build.name}-{study}", version="1", title=title, language=list(build.languages)
    )
    card = f"# {title}\n\n{counted(len(ballots), 'item', 'items')}.\n"
    write_folder(folder, _Study(info, ballots), card)
    if section.voters == "people":
        paths = [bench.config.place(path) for path in section.votes]
        return StudyVotes(_from_people(paths, study, ballots, folder, section.raters, build.languages))
    return StudyVotes([rule_votes(one, section.raters, bench.seed) for one in ballots])


def rule_votes(ballot: Ballot, raters: int, seed: int) -> list[Judgment]:
    """Return the votes of `raters` rule raters."""
    facets = {path: value for path, value in ballot.person.facets.items() if path != "Name"}
    known = _words("\n".join([*facet_values(facets), *(one.text for one in ballot.person.attributes)]))
    own = [_words(text) - _words(ballot.item.prompt) for text in ballot.texts]
    fits = [FIT * len(words & known) / max(1, len(words)) for words in own]
    found = []
    for number in range(1, raters + 1):
        rater = f"{SIMULATED}rule-{number}"
        likings = [
            fit + _mood(str(seed), rater, ballot.item.id, row["id"])
            for fit, row in zip(fits, ballot.answers, strict=True)
        ]
        found.append(_vote(ballot, rater, max(range(len(likings)), key=likings.__getitem__)))
    return found


def _words(text: str) -> set[str]:
    """Return the words of at least four characters and the pairs of Chinese characters."""
    found = stems(text)
    wide = {a + b for a, b in pairwise(found) if len(a + b) == 2 and not (a + b).isascii()}
    return wide | {word for word in found if len(word) >= SHORTEST_WORD}


def _mood(*parts: str) -> float:
    """Return a Gumbel draw, as in a logit choice model."""
    return -math.log(-math.log((int(hash_text("taste", *parts)[:12], 16) + 0.5) / 16**12))


def _vote(ballot: Ballot, rater: str, choice: int) -> Judgment:
    """Return one vote; for a pair it has a signed value too."""
    value = None if len(ballot.answers) != 2 else (1.0 if choice == 0 else -1.0)
    extra = {"perspective": "third-party"}
    return Judgment(
        item=ballot.item.id, rater=rater, status=Status.OK, label=str(choice), value=value, extra=extra
    )


def _from_people(
    paths: Sequence[Path],
    study: str,
    ballots: Sequence[Ballot],
    folder: Path,
    raters: int,
    languages: Sequence[str],
) -> list[list[Judgment]]:
    """Read and check people's votes on each ballot; raise Stopped until half of the items have enough."""
    known = {ballot.item.id: ballot for ballot in ballots}
    by: dict[str, dict[str, Judgment]] = {}
    for path in paths:
        for number, row in read_lines(path):
            if row.get("role", "item") != "item" or row.get("question", QUESTION) != QUESTION:
                continue
            item = required_text(row, "item", path, number)
            if item.partition("/")[0] != study and item.partition("/")[0] in STUDIES:
                continue  # belongs to the other study
            if item not in known:
                raise UserError(
                    f"{located(path, number, 'item')}: '{item}' is not in {folder}; these are votes of another build."
                )
            one = _read_vote(row, known[item], path, number)
            if one.rater in by.setdefault(item, {}):
                raise UserError(f"{located(path, number)} is a second vote of {one.rater} on {item}.")
            by[item][one.rater] = one
    if not by:
        raise Stopped(_waiting(study, folder, raters, languages), 1)
    ready = sum(len(votes) >= raters for votes in by.values())
    if 2 * ready < len(ballots):
        raise Stopped(
            f"{study}: {ready:,} of {len(ballots):,} items have {raters} votes, as raters in [studies] asks; wait for the others, or "
            "set raters lower.",
            1,
        )
    return [list(by.get(one.item.id, {}).values()) for one in ballots]


def _read_vote(row: dict[str, Any], ballot: Ballot, path: Path, number: int) -> Judgment:
    rater = required_text(row, "rater", path, number)
    if ":" not in rater:
        rater = f"{row.get('kind') or 'human'}:{rater}"
    label = row.get("label")
    if label is None:
        return Judgment(item=ballot.item.id, rater=rater, status=Status.SKIPPED)
    if not (isinstance(label, str | int) and str(label) in {str(n) for n in range(len(ballot.answers))}):
        raise UserError(
            f"{located(path, number, 'label')}: '{label}' is none of the {len(ballot.answers)} answers, 0 to "
            f"{len(ballot.answers) - 1}."
        )
    return _vote(ballot, rater, int(label))


def _waiting(study: str, folder: Path, raters: int, languages: Sequence[str]) -> str:
    """Return instructions for collecting votes; each language has its own raters."""
    names = {language: study if len(languages) == 1 else f"{study}-{language}" for language in languages}
    new = [
        f"personafit label new {name} --from {folder} --overlap {raters} --language {language}"
        for language, name in names.items()
    ]
    export = [f"personafit label export {name} --out {name}-votes --format jsonl" for name in names.values()]
    files = " and ".join(f"{name}-votes/votes.jsonl" for name in names.values())
    return (
        f"The study '{study}' waits for people's votes, and everything up to it is kept. Now:  {'  and  '.join(new)}  ; when they "
        f"have voted:  {'  and  '.join(export)}  ; then add {files} to votes of [studies] and run the same build again."
    )
