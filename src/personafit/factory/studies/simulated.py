"""Simulated raters: models that vote, or rules with a taste of their own. Everything they say is marked simulated.

A rule rater likes answers of which a large share of the words is found in what is known of the person, so that length by itself earns
nothing; each has a leaning of its own towards long or short answers, and a mood. They show the line; they say nothing about what
people think.
"""

import math
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise

from personafit._hashing import draw, hash_text
from personafit.factory.asking import Generation, Target, chosen
from personafit.factory.bench import Bench, RequestBatch
from personafit.factory.studies.ballots import Ballot, Ballots
from personafit.factory.studies.prompts import ANSWER, VOTE
from personafit.models import Model
from personafit.people import facet_values, render_person
from personafit.raters.dialogues.counting.words import stems
from personafit.store import Judgment, Status

SIMULATED = "simulated:"
LETTERS = "ABCDEFGH"
# How much more a rule rater likes an answer all of whose words are known than one none of whose are.
FIT = 12.0
SHORTEST_WORD, SHORT_WIDE = 4, 2
LEANING = 0.6  # how far single raters lean towards long or short answers


def rule_votes(ballot: Ballot, raters: int, seed: int) -> list[Judgment]:
    """The votes of so many rule raters."""
    known, asked = _words("\n".join(_known(ballot))), _words(ballot.item.prompt)
    shares = [_share(text, known, asked) for text in ballot.texts]
    lengths = [math.log(max(1, len(text))) for text in ballot.texts]
    found = []
    for number in range(1, raters + 1):
        rater = f"{SIMULATED}rule-{number}"
        lean = LEANING * (2 * _uniform(seed, rater) - 1)
        likings = [
            FIT * share + lean * length + _mood(seed, rater, ballot.item.id, row["id"])
            for share, length, row in zip(shares, lengths, ballot.answers, strict=True)
        ]
        found.append(vote(ballot, rater, max(range(len(likings)), key=likings.__getitem__)))
    return found


async def model_votes(
    bench: Bench, ballots: Ballots, count: int, specs: Sequence[str], label: str
) -> Iterator[list[Judgment]]:
    """The votes of models on each ballot; each sees the answers in an order of its own, and what cannot be read is skipped."""
    models = [bench.model_of(spec) for spec in specs]
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
        language = ballot.person.language
        letters = tuple(LETTERS[: len(ballot.answers)])
        order = _order(seed, model.name, ballot)
        shown = [
            ANSWER[language].format(letter=letter, text=ballot.texts[place])
            for letter, place in zip(letters, order, strict=True)
        ]
        yield Target(
            f"{ballot.item.id}/{model.name}",
            VOTE,
            language,
            {
                "person": render_person(ballot.person),
                "question": ballot.item.prompt,
                "answers": "\n\n".join(shown),
                "letters": ", ".join(letters),
            },
            kind="verdict",
            read=chosen(letters),
            letters=letters,
            about=ballot.person.id,
            parents=tuple(ballot.item.products),
            max_tokens=8,
            temperature=0.0,
        )


def _order(seed: int, rater: str, ballot: Ballot) -> list[int]:
    places = range(len(ballot.answers))
    return sorted(places, key=lambda place: draw("side", seed, rater, ballot.item.id, place, among=2**63))


def _known(ballot: Ballot) -> list[str]:
    facets = {path: value for path, value in ballot.person.facets.items() if path != "Name"}
    return [*facet_values(facets), *(one.text for one in ballot.person.attributes)]


def _share(text: str, known: set[str], asked: set[str]) -> float:
    own = _words(text) - asked
    return len(own & known) / max(1, len(own))


def _words(text: str) -> set[str]:
    """Words that are not all too common, and pairs of Chinese characters."""
    found = stems(text)
    wide = {a + b for a, b in pairwise(found) if not (a + b).isascii() and len(a + b) == SHORT_WIDE}
    return wide | {word for word in found if len(word) >= SHORTEST_WORD}


def _uniform(*parts: str | int) -> float:
    return (int(hash_text("taste", *map(str, parts))[:12], 16) + 0.5) / 16**12


def _mood(*parts: str | int) -> float:
    return -math.log(-math.log(_uniform(*parts)))
