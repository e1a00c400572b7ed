"""Votes on a study's items: simulated, or people's from files; where people have not voted yet, the line waits for them.

Simulated raters are models that vote, or rules. Everything they say is marked simulated. A rule rater likes answers of which a
large share of the words is found in what is known of the person, so that length by itself earns nothing, and has moods. They
show the line; they say nothing about what people think.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from personafit._errors import UserError, located
from personafit._hashing import draw, hash_text
from personafit.benchmarks.lines import read_lines, required_text
from personafit.build.asking import Generation, Target, verdict
from personafit.build.bench import Bench, RequestBatch, Waiting
from personafit.build.prompts import PROMPTS, WORDINGS
from personafit.build.rows import Scratch
from personafit.build.sections import StudiesSection, expected_questions
from personafit.build.step import BuildStep, ExpectedAsks
from personafit.build.studies.ballots import Ballot, Ballots, write_study
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
        found.append(vote(ballot, rater, max(range(len(likings)), key=likings.__getitem__)))
    return found


def _words(text: str) -> set[str]:
    """Words that are not all too common, and pairs of Chinese characters."""
    found = stems(text)
    wide = {a + b for a, b in pairwise(found) if len(a + b) == 2 and not (a + b).isascii()}
    return wide | {word for word in found if len(word) >= SHORTEST_WORD}


def _mood(*parts: str) -> float:
    """A draw of a Gumbel distribution, as of somebody whose choices follow a logit."""
    return -math.log(-math.log((int(hash_text("taste", *parts)[:12], 16) + 0.5) / 16**12))


async def model_votes(
    bench: Bench, ballots: Ballots, count: int, models: Sequence[Model], label: str
) -> Iterator[list[Judgment]]:
    """The votes of models on each ballot; each sees the answers in an order of its own, and what cannot be read is skipped."""
    batches = [
        RequestBatch(model, partial(_wanted, bench.seed, ballots, model), count, label) for model in models
    ]
    said = await bench.ask_each(*batches)
    return (
        [_said(bench.seed, model, ballot, answer) for model, answer in zip(models, answers, strict=True)]
        for ballot, answers in zip(ballots(), zip(*said, strict=True), strict=True)
    )


def _said(seed: int, model: Model, ballot: Ballot, answer: Generation) -> Judgment:
    rater = f"{SIMULATED}{model.name}"
    if answer.text is None:
        return Judgment(item=ballot.item.id, rater=rater, status=answer.status, extra={"why": answer.reason})
    return vote(ballot, rater, _order(seed, model.name, ballot)[LETTERS.index(answer.text)])


def vote(ballot: Ballot, rater: str, choice: int) -> Judgment:
    """One vote; for a pair also which way the scale tips."""
    value = None if len(ballot.answers) != 2 else (1.0 if choice == 0 else -1.0)
    extra = {"perspective": "third-party"}
    return Judgment(
        item=ballot.item.id, rater=rater, status=Status.OK, label=str(choice), value=value, extra=extra
    )


def _wanted(seed: int, ballots: Ballots, model: Model) -> Iterator[Target]:
    for ballot in ballots():
        person, letters = ballot.person, tuple(LETTERS[: len(ballot.answers)])
        shown = [
            ANSWER[person.language].format(letter=letter, text=ballot.texts[place])
            for letter, place in zip(letters, _order(seed, model.name, ballot), strict=True)
        ]
        values: dict[str, object] = {
            "person": render_person(person),
            "question": ballot.item.prompt,
            "answers": "\n\n".join(shown),
            "letters": ", ".join(letters),
        }
        key, parents = f"{ballot.item.id}/{model.name}", tuple(ballot.item.products)
        yield verdict(key, VOTE, person.language, values, letters, person.id, parents)


def _order(seed: int, rater: str, ballot: Ballot) -> list[int]:
    places = range(len(ballot.answers))
    return sorted(places, key=lambda place: draw("side", seed, rater, ballot.item.id, place, among=2**63))


FOLDER = "studies"
STUDIES = ("truth", "pairs")
"""The first part of the ids of what is voted on."""
QUESTION = "fit"


class StudyVotes:
    """All votes of a study, kept on disk: those on each item in turn, in the order of the ballots."""

    def __init__(self, rows: Scratch, simulated: bool) -> None:
        self._rows, self.simulated = rows, simulated

    @property
    def gold(self) -> str:
        """What the majority is called as a rater."""
        return "majority(simulated raters)" if self.simulated else "majority(raters)"

    def __iter__(self) -> Iterator[list[dict[str, Any]]]:
        return (row["votes"] for row in self._rows)


def labels(rows: Sequence[dict[str, Any]]) -> Counter[str]:
    """How many voted for which answer."""
    return Counter(row["label"] for row in rows if row.get("label") is not None)


async def voted(bench: Bench, study: str, title: str, ballots: Ballots, count: int) -> StudyVotes:
    """Everybody's votes on some items; the folder that people vote from is written in any case."""
    section, config = bench.config.section(StudiesSection), bench.config
    folder = bench.out / FOLDER / study
    write_study(folder, f"{config.build.name}-{study}", title, list(config.build.languages), ballots, count)
    simulated = section.voters == "simulated"
    if simulated:
        if models := _voting(bench):
            given = await model_votes(bench, ballots, count, models, f"{study} votes")
        else:
            given = (rule_votes(one, section.raters, bench.seed) for one in ballots())
    else:
        by = _from_people([config.place(path) for path in section.votes], study, ballots, folder)
        _check_enough(study, by, section.raters, count, folder, config.build.languages)
        simulated = any(row.rater.startswith(SIMULATED) for rows in by.values() for row in rows)
        given = (by.get(one.item.id, []) for one in ballots())
    rows = bench.scratch("votes")
    for votes in given:
        rows.add({"votes": [one.model_dump(mode="json", exclude_defaults=True) for one in votes]})
    return StudyVotes(rows, simulated)


def _check_enough(
    study: str,
    by: dict[str, list[Judgment]],
    raters: int,
    count: int,
    folder: Path,
    languages: Sequence[str],
) -> None:
    """People's votes are waited for until half of the items have them all."""
    if not by:
        raise Waiting(_waiting(study, folder, raters, languages), 1)
    ready = sum(len(rows) >= raters for rows in by.values())
    if 2 * ready < count:
        raise Waiting(
            f"{study}: {ready:,} of {count:,} items have {raters} votes, as raters in [studies] asks; wait for the others, or set "
            "raters lower.",
            1,
        )


def _from_people(
    paths: Sequence[Path], study: str, ballots: Ballots, folder: Path
) -> dict[str, list[Judgment]]:
    """The votes in some files, by item; every line is checked."""
    known = {ballot.item.id: ballot for ballot in ballots()} if paths else {}
    found: dict[tuple[str, str], Judgment] = {}
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
            one = _vote(row, known[item], path, number)
            if (one.item, one.rater) in found:
                raise UserError(f"{located(path, number)} is a second vote of {one.rater} on {item}.")
            found[one.item, one.rater] = one
    by: dict[str, list[Judgment]] = {}
    for one in found.values():
        by.setdefault(one.item, []).append(one)
    return by


def _vote(row: dict[str, Any], ballot: Ballot, path: Path, number: int) -> Judgment:
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
    return vote(ballot, rater, int(label))


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


BALANCE, SAME, MAJORITY = "rule:balance-2", "rule:same-1", "rule:majority-1"


class StudyStep(BuildStep):
    """A step that has answers voted on."""

    uses = ("memories", "features")
    section = StudiesSection
    version = 2
    prompts = (VOTE,)

    def outside(self, bench: Bench) -> Any:
        """Files of people's votes, and models that vote."""
        section = bench.config.section(StudiesSection)
        return [bench.config.hashes(section.votes), [model.settings for model in _voting(bench)]]


def _voting(bench: Bench) -> list[Model]:
    """The models that vote; none where people or our own simulated raters do."""
    section = bench.config.section(StudiesSection)
    specs = bench.config.models.raters[: section.raters] if section.voters == "simulated" else []
    return [bench.model_of(spec) for spec in specs]


def expected_votes(bench: Bench, items: int, tokens: int) -> Iterator[ExpectedAsks]:
    """A vote by each model that votes on so many items for each question."""
    for model in _voting(bench):
        yield ExpectedAsks("votes", model, expected_questions(bench.config) * items, tokens, 1)


def left_out(bench: Bench) -> list[str]:
    """What the card says of what was left out."""
    reasons = bench.reasons()
    return ["", f"Left out: {listed(reasons)}."] if reasons else []


def listed(counts: Counter[str]) -> str:
    """Counts in words."""
    return ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items()))
