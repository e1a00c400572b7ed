"""Review queues: what a step kept, what reviewers decided about it, and the card's section on that.

`review/STEP.jsonl` lists what a step kept. A row with the decision `drop` is replaced when the same build is run again. One reviewer
sets it by hand, or several vote in a study of the labelling app, whose export writes decision, votes by rater, and reasons into the rows.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from personafit._errors import UserError, located
from personafit.benchmarks.lines import read_lines, required_text
from personafit.build.bench import write_rows
from personafit.build.step import table
from personafit.statistics.agreement_intervals import TableFigure, table_agreement

KEEP, DROP, DROPPED = "keep", "drop", "dropped in review"
REVIEWER = "a person"
PEOPLE, QUESTIONS = "people", "questions"
SAID = ("decision", "votes", "reasons")
"""Fields of a row that reviewers fill in."""


def review_file(out: Path, step: str) -> Path:
    """Return the path of a step's queue."""
    return out / "review" / f"{step}.jsonl"


def read_review(out: Path, step: str) -> dict[str, dict[str, Any]]:
    """Read the rows of a queue by id; empty if there is no queue yet."""
    path, rows = review_file(out, step), dict[str, dict[str, Any]]()
    for number, row in read_lines(path) if path.is_file() else ():
        decision = row.get("decision") or ""
        if decision not in ("", DROP):
            raise UserError(
                f"{located(path, number, 'decision')}: '{decision}' is not {DROP}; leave it empty to keep the row."
            )
        votes = row.get("votes", {})
        if not isinstance(votes, dict) or not {KEEP, DROP}.issuperset(map(str, votes.values())):
            raise UserError(
                f"{located(path, number, 'votes')}: must be {KEEP} or {DROP} by rater, as `label export` writes it."
            )
        rows[required_text(row, "id", path, number)] = {**row, "decision": decision}
    return rows


def read_drops(out: Path, step: str) -> set[str]:
    """Return the ids dropped in review."""
    return {key for key, row in read_review(out, step).items() if row["decision"]}


def write_review(out: Path, step: str, rows: Iterable[dict[str, Any]]) -> None:
    """Write a step's queue; votes on unchanged rows are kept, and dropped rows stay dropped."""
    (out / "review").mkdir(exist_ok=True)
    before, kept = read_review(out, step), []
    for row in rows:
        known = before.pop(row["id"], {})
        same = {**known, **row} == known
        said = {name: known[name] for name in SAID if same and name in known}
        kept.append({"decision": "", **said, **row})
    dropped = (before[key] for key in sorted(before) if before[key]["decision"])
    write_rows(review_file(out, step), [*kept, *dropped])


def describe_review(out: Path) -> str:
    """Return the card's section on review: decisions, number of raters, and agreement; empty if nobody reviewed anything."""
    queues = {step: list(read_review(out, step).values()) for step in (PEOPLE, QUESTIONS)}
    rows = [(step, *_figures(queue)) for step, queue in queues.items() if _said(queue)]
    if not rows:
        return ""
    simulated = sum(
        rater.startswith("simulated:") for rater in _raters([*queues[PEOPLE], *queues[QUESTIONS]])
    )
    columns = ("", "raters", "screened", "votes", "dropped", "by hand", "kept unseen", "agreement", "α")
    told = [
        "What most raters would drop was dropped and replaced; a tie keeps. *By hand* are drops that no rater voted for, *kept unseen* "
        "is what was kept and nobody screened, *agreement* is the share of pairs of votes that are the same, α is Krippendorff's."
    ]
    if simulated:
        told.append(f"**{simulated} of the raters are simulated**: their votes are not votes of people.")
    return "\n".join(["## Screening by people", "", *table(columns, rows), "", " ".join(told)])


def _said(queue: list[dict[str, Any]]) -> bool:
    return any(row["decision"] or row.get("votes") for row in queue)


def _raters(queue: list[dict[str, Any]]) -> list[str]:
    return sorted({rater for row in queue for rater in row.get("votes", {})})


def _figures(queue: list[dict[str, Any]]) -> Iterator[int | str]:
    """Yield the table cells of a step: counts, then agreement if there are two raters or more."""
    raters, seen = _raters(queue), [row for row in queue if row.get("votes")]
    yield from (len(raters), len(seen), sum(len(row["votes"]) for row in seen))
    yield sum(bool(row["decision"]) for row in seen)
    yield sum(bool(row["decision"]) for row in queue if not row.get("votes"))
    yield sum(not row["decision"] for row in queue if not row.get("votes"))
    codes = np.full((len(seen), len(raters)), -1)
    for place, row in enumerate(seen):
        for rater, vote in row["votes"].items():
            codes[place, raters.index(rater)] = vote == DROP
    people = np.array(
        [str(row["person"] if isinstance(row.get("person"), str) else row["id"]) for row in seen]
    )
    shown: dict[TableFigure, str] = {"percent": "{:.0%}", "nominal": "{:.2f}"}
    for figure, pattern in shown.items():
        found = table_agreement(codes, people, None, figure).value if len(raters) > 1 else None
        yield "–" if found is None else pattern.format(found)
