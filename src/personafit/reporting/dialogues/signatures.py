"""Failure signatures: patterns of scores that say where an assistant fails, each with turns that show it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from personafit.kinds.lines import Line, RunLines
from personafit.raters.dialogues.counting import Counted, Mark
from personafit.reporting.dialogues.loading import DialogueRun

STUCK = (1.7, 2.3)  # a mean mark in here, with most single marks at 2
STUCK_SHARE = 0.6
COMPLETE = 0.9
LOW_MARK = 2.5
MD_COMPLETE = 0.75
FEWEST = 5  # dialogues below which a pattern is no pattern
EVIDENCE = 3
QUOTE = 240


@dataclass(frozen=True)
class Evidence:
    """One turn that shows a signature."""

    dialogue: str
    turn: int
    """From 1, as the page counts."""
    quote: str
    why: str


@dataclass(frozen=True)
class Signature:
    """A pattern that was found."""

    name: str
    system: str
    given: str
    rater: str
    sentence: str
    evidence: Sequence[Evidence]


def find_signatures(run: DialogueRun, opened: RunLines) -> list[Signature]:
    """Every signature of every assistant, context and judge; what fails on purpose, as controls do, has none."""
    return [
        signature
        for line in opened.lines
        if line.control in (None, "no context")
        and "personalization" in line.frame.columns
        and line.view == run.views[0]
        for signature in _of(run, line)
    ]


def _of(run: DialogueRun, line: Line) -> Iterator[Signature]:
    marks = line.frame.drop_nulls("personalization").with_columns(value=pl.col("personalization"))
    done = line.frame.drop_nulls("completion").with_columns(value=pl.col("completion"))
    who = {"system": str(line.system), "given": str(line.given), "rater": str(line.rater)}
    mean = _mean(marks["value"])
    completed = _mean(done["value"])
    at_two = _mean(marks["value"].round() == 2)
    if len(marks) >= FEWEST and STUCK[0] <= mean <= STUCK[1] and at_two >= STUCK_SHARE:
        twos = marks.filter(pl.col("value").round() == 2)["item"].to_list()
        cause = (
            "it was told nothing about the person, so it can hardly do more than follow"
            if line.given == "none"
            else "it was told about the person and still waits to be told again"
        )
        yield Signature(
            "stuck near 2",
            sentence=f"Personalization is stuck near 2 (mean {mean:.2f}, {100 * at_two:.0f} % of dialogues at 2): {cause}.",
            evidence=_evidence(run, twos, ("reasks", "covers")),
            **who,
        )
    if len(marks) >= FEWEST and len(done) >= FEWEST and completed >= COMPLETE and mean < LOW_MARK:
        finished = done.filter(pl.col("value") > 0.5)["item"].to_list()
        low = marks.filter(pl.col("value") <= 2, pl.col("item").is_in(finished))["item"].to_list()
        yield Signature(
            "done but impersonal",
            sentence=f"Tasks get done ({100 * completed:.0f} %) without fitting the person (personalization {mean:.2f}): the user does the personalizing.",
            evidence=_evidence(run, low, ("reasks", "contradicts", "covers")),
            **who,
        )
    several = done.filter(pl.col("tasks") == "MD")
    share = _mean(several["value"])
    if len(several) >= FEWEST and share < MD_COMPLETE:
        undone = several.filter(pl.col("value") < 0.5)["item"].to_list()
        lost = sum(len(run.counted[item].lost()) for item in undone)
        cap = sum(run.counted[item].dialogue.stop == "cap" for item in undone)
        yield Signature(
            "several domains fail",
            sentence=(
                f"Only {100 * share:.0f} % of tasks over several domains get done (bar {100 * MD_COMPLETE:.0f} %): in the {len(undone)} undone "
                f"ones {lost} preferences were lost after a change of domain and {cap} ran into the cap."
            ),
            evidence=_evidence(run, undone, ("contradicts", "reasks"), lost=True),
            **who,
        )


def _evidence(
    run: DialogueRun, items: Sequence[str], kinds: Sequence[str], lost: bool = False
) -> list[Evidence]:
    """The most telling turn of the first dialogues that have one; where none has, their last turn."""
    found: list[Evidence] = []
    for item in items:
        counted = run.counted[item]
        marks = (counted.lost() if lost else []) or _ranked(counted, kinds)
        if marks:
            found.append(_quoted(counted, marks[0]))
        if len(found) == EVIDENCE:
            return found
    for item in items:
        if len(found) < EVIDENCE and item not in {one.dialogue for one in found}:
            turn = run.counted[item].dialogue.turns[-1]
            found.append(
                Evidence(item, turn.index + 1, turn.text[:QUOTE], "the last turn; nothing was counted")
            )
    return found


def _ranked(counted: Counted, kinds: Sequence[str]) -> list[Mark]:
    marks = [mark for mark in counted.of(*kinds) if mark.kind != "covers" or mark.when == "after"]
    return sorted(marks, key=lambda mark: kinds.index(mark.kind))


WHY = {
    "reasks": "asks for what was known",
    "contradicts": "goes against",
    "covers": "brings in only after the user",
}


def _quoted(counted: Counted, mark: Mark) -> Evidence:
    text = counted.dialogue.turns[mark.turn].text
    start = max(0, mark.start - QUOTE // 3)
    return Evidence(
        counted.dialogue.id, mark.turn + 1, text[start : start + QUOTE], f"{WHY[mark.kind]}: {mark.path}"
    )


def _mean(values: pl.Series) -> float:
    return float(values.sum()) / len(values) if len(values) else 0.0
