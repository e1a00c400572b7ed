"""Votes on a study's items: simulated, or people's from files; where people have not voted yet, the line waits for them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from personafit._errors import UserError, located
from personafit.benchmarks.lines import read_lines, required_text
from personafit.factory.bench import Bench, Waiting
from personafit.factory.rows import Scratch
from personafit.factory.studies.ballots import Ballot, Ballots, write_study
from personafit.factory.studies.config import StudiesSection
from personafit.factory.studies.simulated import SIMULATED, model_votes, rule_votes, vote
from personafit.store import Judgment, Status

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


def voters(bench: Bench) -> Any:
    """Whatever outside the config shapes votes: models that vote, and files of people's votes."""
    section = bench.config.section(StudiesSection)
    files = bench.config.hashes(section.votes)
    models = bench.config.models.raters[: section.raters] if section.voters == "simulated" else []
    return [files, [bench.model_of(spec).settings for spec in models]]


async def voted(bench: Bench, study: str, title: str, ballots: Ballots, count: int) -> StudyVotes:
    """Everybody's votes on some items; the folder that people vote from is written in any case."""
    section, config = bench.config.section(StudiesSection), bench.config
    folder = bench.out / FOLDER / study
    write_study(folder, f"{config.build.name}-{study}", title, list(config.build.languages), ballots, count)
    simulated = section.voters == "simulated"
    if simulated:
        specs = config.models.raters[: section.raters]
        if specs:
            given = await model_votes(bench, ballots, count, specs, f"{study} votes")
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
