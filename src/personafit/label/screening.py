"""Write screening decisions back to a build: lines that raters reject are marked in its review queue.

A line is dropped if most raters would drop it; a tie keeps it, unless it was adjudicated. Votes and reasons are stored in the queue beside
the decision. The next `build` replaces what was dropped.
"""

from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

from personafit._errors import UserError
from personafit.build.bench import write_rows
from personafit.build.review import DROP, PEOPLE, QUESTIONS, read_review, review_file
from personafit.label.forms.questions import REASON, SCREENED
from personafit.label.records import Arrangement, Role
from personafit.label.sources import SCREEN, queue_text, read_queue
from personafit.label.studies import Studies
from personafit.label.votes import adjudicated_votes, study_votes, tally

STEPS = dict(zip(SCREENED, (PEOPLE, QUESTIONS), strict=True))
"""Review queue for each screening question."""


class Decisions(NamedTuple):
    """Number of queue lines screened, dropped and tied."""

    screened: int
    dropped: int
    ties: int


def write_decisions(studies: Studies, name: str, folder: Path) -> dict[str, Decisions]:
    """Write a study's decisions, votes and reasons into the review queues of its build; return counts by queue."""
    if studies.form(name).name != SCREEN:
        raise UserError(f"{name} asks {studies.form(name).name} and screens nothing.")
    votes: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    reasons: dict[tuple[str, str], str] = {}
    for row in study_votes(studies, name).iter_rows(named=True):
        rater = f"{row['kind']}:{row['rater']}"
        if row["question"] == REASON and row["text"]:
            reasons[row["item"], rater] = row["text"].strip()
        elif row["label"] is not None:
            votes[row["question"], row["item"]][rater] = row["label"]
    if not votes:
        raise UserError(f"{name} has no votes yet; `personafit label status {name}` says how far it is.")
    queues = _queues_of(studies, name, folder)
    decided = dict(adjudicated_votes(studies, name).select("item", "label").iter_rows())
    own = {f"{kind}:{seat.code}" for seat in studies.seats(name) for kind in ("human", "simulated")}
    found = {}
    for question, step in STEPS.items():
        ties = [
            _decide(row, votes[question, item], reasons, own, decided.get(item))
            for item, row in queues[step].items()
            if (question, item) in votes
        ]
        dropped = sum(
            row["decision"] == DROP for item, row in queues[step].items() if (question, item) in votes
        )
        found[step] = Decisions(len(ties), dropped, sum(ties))
        if ties:
            write_rows(review_file(folder, step), queues[step].values())
    return found


def _decide(
    row: dict[str, Any],
    given: dict[str, str],
    reasons: dict[tuple[str, str], str],
    own: set[str],
    label: str | None,
) -> bool:
    """Fill in a line of a queue; return whether the votes are tied and not adjudicated.

    Votes of other studies are kept and counted; a line that was dropped by hand stays dropped.
    """
    before = row.get("votes", {})
    by_hand = label is None and bool(row["decision"]) and tally(before.values()).majority != DROP
    votes = {rater: vote for rater, vote in before.items() if rater not in own} | given
    counted = tally(votes.values())
    why = [
        reasons[row["id"], rater]
        for rater, vote in given.items()
        if vote == DROP and (row["id"], rater) in reasons
    ]
    row["decision"] = DROP if by_hand or (label or counted.majority) == DROP else ""
    row["votes"] = votes
    row["reasons"] = list(dict.fromkeys([*row.get("reasons", []), *why]))
    return label is None and counted.majority is None


def _queues_of(studies: Studies, name: str, folder: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the review queues of a build; raise `UserError` unless they hold what the study asks about, with the same texts."""
    read_queue(folder)  # raises if the folder is no build
    queues, form = {step: read_review(folder, step) for step in STEPS.values()}, studies.form(name)
    dropped = {key for key, row in queues[PEOPLE].items() if row["decision"]}
    for page in studies.pages(name, (Role.ITEM,)):
        for field in form.fields(page, Arrangement.stored(page)):
            if field.question == REASON:
                continue
            step = STEPS[field.question]
            row = queues[step].get(field.item)
            shown = page.content["profile"] if step == PEOPLE else field.text
            if row is None and page.person in dropped:
                continue  # removed together with the person
            if row is None or queue_text(row) not in ("", shown):
                raise UserError(
                    f"{name} asks about '{field.item}', which is {'not' if row is None else 'another'} in "
                    f"{review_file(folder, step)}: the study is of another build, or the build has changed; make a study of it with "
                    f"`personafit label new NAME --from {folder}`."
                )
    return queues
