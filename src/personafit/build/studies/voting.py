"""Votes on a study's items: simulated, or people's from files; where people have not voted yet, the line waits for them.

Simulated raters are models that vote, or rules. Everything they say is marked simulated. A rule rater likes answers of which a
large share of the words is found in what is known of the person, so that length by itself earns nothing, and has moods. They
show the line; they say nothing about what people think.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from personafit._errors import UserError, located
from personafit._hashing import draw, hash_text
from personafit.benchmarks.lines import read_lines, required_text
from personafit.build.asking import Generation, Target, verdict
from personafit.build.bench import Bench, Stopped
from personafit.build.config import BuildConfig, ConfigSection
from personafit.build.prompts import PROMPTS, WORDINGS
from personafit.build.questions.lists import expected_questions
from personafit.build.step import BuildStep, ExpectedAsks
from personafit.build.studies.balance import BALANCED, REPORTED
from personafit.build.studies.ballots import Ballot, write_study
from personafit.models import Model
from personafit.people import facet_values, render_person
from personafit.raters.text import stems
from personafit.store import Judgment, Status

VOTE = PROMPTS["studies.vote"]
ANSWER: dict[str, str] = WORDINGS["votes"]
SIMULATED = "simulated:"
LETTERS = "ABCDEFGH"
FIT = (
    12.0  # how much more a rule rater likes an answer all of whose words are known than one none of whose are
)
SHORTEST_WORD = 4
STUDIES = ("truth", "pairs")
"""The first part of the ids of what is voted on."""
QUESTION = "fit"
BALANCE, SAME, MAJORITY = "rule:balance-3", "rule:same-1", "rule:majority-1"


class StudiesSection(ConfigSection):
    """What the two studies are asked for."""

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
        description="Balance overlap with the profile as well; not where our own simulated raters vote, who go by it.",
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
        named = config.models.raters
        if self.voters == "simulated" and named and len(named) < self.raters:
            yield (
                f"raters = {self.raters}, but [models] raters names {len(named)}: name {self.raters - len(named)} more, set raters "
                "lower, or leave [models] raters out for our own simulated raters"
            )
        yield from config.missing("votes", *self.votes)


class StudyStep(BuildStep):
    """A step that has answers voted on."""

    uses = ("memories", "features")
    section = StudiesSection
    version = 4
    prompts = (VOTE,)

    def outside(self, bench: Bench) -> Any:
        section = bench.config.section(StudiesSection)
        return [bench.config.hashes(section.votes), [model.settings for model in voting_models(bench)]]


def voting_models(bench: Bench) -> list[Model]:
    """The models that vote; none where people or our own simulated raters do."""
    section = bench.config.section(StudiesSection)
    specs = bench.config.models.raters[: section.raters] if section.voters == "simulated" else []
    return [bench.models.spec(spec) for spec in specs]


def balanced_rules(bench: Bench) -> int:
    """How many of the rules in `REPORTED` pairs are balanced for, from the first on."""
    section = bench.config.section(StudiesSection)
    by_rules = section.voters == "simulated" and not bench.config.models.raters
    return 0 if not section.balanced else len(REPORTED if section.overlap and not by_rules else BALANCED)


def expected_votes(bench: Bench, items: int, tokens: int) -> Iterator[ExpectedAsks]:
    """A vote by each model that votes on so many items for each question."""
    for model in voting_models(bench):
        yield ExpectedAsks("votes", model, expected_questions(bench.config) * items, tokens, 1)


class StudyVotes:
    """All votes of a study, those on each ballot in turn."""

    def __init__(self, votes: Sequence[list[Judgment]]) -> None:
        self.by_ballot = votes
        self.simulated = any(one.rater.startswith(SIMULATED) for given in votes for one in given)
        self.gold = "majority(simulated raters)" if self.simulated else "majority(raters)"
        """What the majority is called as a rater."""


def labels(votes: Sequence[Judgment]) -> Counter[str]:
    """How many voted for which answer."""
    return Counter(one.label for one in votes if one.label is not None)


async def voted(bench: Bench, study: str, title: str, ballots: Sequence[Ballot]) -> StudyVotes:
    """Everybody's votes on some items; the folder that people vote from is written in any case."""
    section, build = bench.config.section(StudiesSection), bench.config.build
    folder = bench.out / "studies" / study
    write_study(folder, f"{build.name}-{study}", title, list(build.languages), ballots)
    if section.voters == "people":
        paths = [bench.config.place(path) for path in section.votes]
        return StudyVotes(_from_people(paths, study, ballots, folder, section.raters, build.languages))
    if models := voting_models(bench):
        return StudyVotes(await _model_votes(bench, ballots, models, f"{study} votes"))
    return StudyVotes([rule_votes(one, section.raters, bench.seed) for one in ballots])


def rule_votes(ballot: Ballot, raters: int, seed: int) -> list[Judgment]:
    """The votes of so many rule raters."""
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
    """Words that are not all too common, and pairs of Chinese characters."""
    found = stems(text)
    wide = {a + b for a, b in pairwise(found) if len(a + b) == 2 and not (a + b).isascii()}
    return wide | {word for word in found if len(word) >= SHORTEST_WORD}


def _mood(*parts: str) -> float:
    """A draw of a Gumbel distribution, as of somebody whose choices follow a logit."""
    return -math.log(-math.log((int(hash_text("taste", *parts)[:12], 16) + 0.5) / 16**12))


async def _model_votes(
    bench: Bench, ballots: Sequence[Ballot], models: Sequence[Model], label: str
) -> list[list[Judgment]]:
    """The votes of models on each ballot; each sees the answers in an order of its own, and what cannot be read is skipped."""
    batches = [(model, [_to_vote(bench.seed, ballot, model) for ballot in ballots]) for model in models]
    by_model = await bench.ask_each(batches, label)
    return [
        [_said(bench.seed, model, ballot, answer) for model, answer in zip(models, answers, strict=True)]
        for ballot, answers in zip(ballots, zip(*by_model, strict=True), strict=True)
    ]


def _to_vote(seed: int, ballot: Ballot, model: Model) -> Target:
    person, letters = ballot.person, tuple(LETTERS[: len(ballot.answers)])
    shown = [
        ANSWER[person.language].format(letter=letter, text=ballot.texts[place])
        for letter, place in zip(letters, _order(seed, model.name, ballot), strict=True)
    ]
    values = {
        "person": render_person(person),
        "question": ballot.item.prompt,
        "answers": "\n\n".join(shown),
        "letters": ", ".join(letters),
    }
    key, parents = f"{ballot.item.id}/{model.name}", tuple(ballot.item.products)
    return verdict(key, VOTE, person.language, values, letters, person.id, parents)


def _said(seed: int, model: Model, ballot: Ballot, answer: Generation) -> Judgment:
    rater = f"{SIMULATED}{model.name}"
    if answer.text is None:
        return Judgment(item=ballot.item.id, rater=rater, status=answer.status, extra={"why": answer.reason})
    return _vote(ballot, rater, _order(seed, model.name, ballot)[LETTERS.index(answer.text)])


def _order(seed: int, rater: str, ballot: Ballot) -> list[int]:
    places = range(len(ballot.answers))
    return sorted(places, key=lambda place: draw("side", seed, rater, ballot.item.id, place, among=2**63))


def _vote(ballot: Ballot, rater: str, choice: int) -> Judgment:
    """One vote; for a pair also which way the scale tips."""
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
    """People's votes on each ballot, every line checked; they are waited for until half of the items have them all."""
    known = {ballot.item.id: ballot for ballot in ballots}
    by: dict[str, dict[str, Judgment]] = {}
    for path in paths:
        for number, row in read_lines(path):
            if row.get("role", "item") != "item" or row.get("question", QUESTION) != QUESTION:
                continue
            item = required_text(row, "item", path, number)
            if item.partition("/")[0] != study and item.partition("/")[0] in STUDIES:
                continue  # of the other study
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
    """What to do now; each language has raters of its own."""
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
