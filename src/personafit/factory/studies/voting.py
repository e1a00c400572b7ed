"""Votes on a study's items: simulated, or people's from files; where people have not voted yet, the line waits for them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from personafit._errors import UserError, located
from personafit._hashing import hash_text
from personafit.benchmarks.lines import read_lines, required_text
from personafit.factory.bench import Bench, Stopped
from personafit.factory.studies.ballots import Ballot, write_study
from personafit.factory.studies.config import StudiesSection
from personafit.factory.studies.simulated import SIMULATED, model_votes, rule_votes, vote
from personafit.store import Judgment, Status

FOLDER = "studies"
STUDIES = ("truth", "pairs")
"""The first part of the ids of what is voted on."""
QUESTION = "fit"


@dataclass(frozen=True)
class Votes:
    """All votes of a study."""

    rows: list[Judgment]
    simulated: bool

    @property
    def gold(self) -> str:
        """What the majority is called as a rater."""
        return "majority(simulated raters)" if self.simulated else "majority(raters)"

    def counts(self) -> dict[str, Counter[str]]:
        """Votes by item and label."""
        found: dict[str, Counter[str]] = {}
        for row in self.rows:
            if row.label is not None:
                found.setdefault(row.item, Counter())[row.label] += 1
        return found


def voters(bench: Bench) -> Any:
    """Whatever outside the config shapes votes: models that vote, and files of people's votes."""
    section = bench.config.section(StudiesSection)
    files = [hash_text(bench.config.place(path).read_bytes()) for path in section.votes]
    models = bench.config.models.raters[: section.raters] if section.voters == "simulated" else []
    return [files, [bench.model_of(spec).settings for spec in models]]


async def voted(bench: Bench, study: str, title: str, ballots: Sequence[Ballot]) -> Votes:
    """Everybody's votes on some items; the folder that people vote from is written in any case."""
    section, config = bench.config.section(StudiesSection), bench.config
    folder = bench.out / FOLDER / study
    write_study(folder, f"{config.build.name}-{study}", title, list(config.build.languages), ballots)
    if section.voters == "simulated":
        specs = config.models.raters[: section.raters]
        if specs:
            rows = await model_votes(bench, ballots, specs, f"{study} votes")
        else:
            rows = list(rule_votes(ballots, section.raters, bench.seed))
        return Votes(rows, True)
    paths = [config.place(path) for path in section.votes]
    rows = _from_people(paths, study, ballots, folder)
    if not rows:
        raise Stopped(_waiting(study, folder, section.raters, config.build.languages), 1)
    given = Counter(row.item for row in rows)
    ready = sum(given[one.item.id] >= section.raters for one in ballots)
    if 2 * ready < len(ballots):
        raise Stopped(
            f"{study}: {ready:,} of {len(ballots):,} items have {section.raters} votes, as raters in [studies] asks; wait for the "
            "others, or set raters lower.",
            1,
        )
    return Votes(rows, any(row.rater.startswith(SIMULATED) for row in rows))


def _from_people(
    paths: Sequence[Path], study: str, ballots: Sequence[Ballot], folder: Path
) -> list[Judgment]:
    """The votes on these items in some files; every line is checked."""
    known = {ballot.item.id: ballot for ballot in ballots}
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
    return list(found.values())


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
