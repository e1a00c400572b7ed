"""Figures of a run of dialogues beyond its lines: by turn and domain, effects of contexts, the simulated user, agreement, failure modes."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import polars as pl

from personafit.kinds.dialogue_scores import (
    BOUNDS,
    BY_KIND,
    DIALOGUE_METRICS,
    HEADLINES,
    METRICS,
    NOT_JUDGED,
    DialogueRun,
)
from personafit.kinds.lines import Line, Metric, RunLines
from personafit.raters.counting import Counted, Mark, UserFaults, user_faults
from personafit.reports.line_results import (
    differences_of,
    line_coverage,
    record,
    results_of,
    worst_coverage,
)
from personafit.reports.result import Result
from personafit.statistics import Estimate

LAST_TURN = 10


def dialogue_results(held: DialogueRun, opened: RunLines) -> list[Result]:
    """Every number of a run but differences between groups."""
    by_turn = Metric(
        "personalization",
        "value",
        BOUNDS["personalization"],
        by=(("turn",),),
        answered="",
        note="marks of single turns; longer dialogues are other dialogues",
        how="",
    )
    by_domain = Metric("coverage", "share", by=(("tasks", "domain"),), answered="", note=NOT_JUDGED, how="")
    judged = [line for line in opened.lines if "personalization" in line.frame.columns]
    counted = [line for line in opened.lines if line.rater is None]
    turns = replace(opened, lines=[_turns(held, line) for line in judged], metrics=[by_turn], slices=())
    domains = replace(
        opened, lines=[_domains(held, line) for line in counted], metrics=[by_domain], slices=()
    )
    return [
        *results_of(opened),
        *results_of(turns),
        *results_of(domains),
        *(result for line in counted for result in _stops(line)),
    ]


def _turns(held: DialogueRun, line: Line) -> Line:
    """Personalization exchange by exchange, as far as there are any without a gap."""
    marks = held.turn_marks.filter(rater=line.fingerprint, view=line.view)
    rows = line.frame.join(marks.drop("rater", "view"), on="item", how="inner", maintain_order="left")
    met = set(rows["exchange"])
    last = next((turn for turn in range(1, LAST_TURN + 1) if turn not in met), LAST_TURN + 1)
    rows = rows.filter(pl.col("exchange").is_between(1, last - 1)).sort("exchange", maintain_order=True)
    turn = pl.col("exchange").cast(pl.String)
    return replace(line, frame=rows.with_columns(turn=turn))


def _domains(held: DialogueRun, line: Line) -> Line:
    """In tasks of several domains, how much of each domain's preferences was brought in."""
    rows = []
    for unit in line.frame.filter(pl.col("whole"), pl.col("tasks") == "MD").iter_rows(named=True):
        counted = held.counted[unit["item"]]
        for domain in counted.dialogue.task.domains:
            share = counted.coverage(domain=domain)
            if share is not None:
                same = {name: unit[name] for name in ("unit", "person", "prompt", "tasks")}
                rows.append(same | {"domain": domain, "share": share, "asked": 1})
    texts = dict.fromkeys(("unit", "person", "prompt", "tasks", "domain"), pl.String)
    schema = {**texts, "share": pl.Float64, "asked": pl.Int64}
    return replace(line, frame=pl.DataFrame(rows, schema=schema))


def _stops(line: Line) -> Iterator[Result]:
    """How dialogues ended, as shares of those planned."""
    planned, held = len(line.frame), line.frame.filter("held")
    for stop, count in sorted(held["stop"].value_counts().iter_rows()):
        share = Estimate(count / planned if planned else None, None, None, planned, held["person"].n_unique())
        note = f"{count} of {planned} planned dialogues"
        yield record(line, Metric("stopped", note=note), (("stop", stop),), share, None, False)


def dialogue_coverage(held: DialogueRun, lines: Sequence[Line]) -> tuple[str, float] | None:
    """The assistant, context and judge with the least coverage."""
    judged = [line for line in lines if line.view == held.views[0] and "completion" in line.frame.columns]
    return worst_coverage(
        (
            f"{line.system} given {line.given}, judged by {line.rater} ({question})",
            line_coverage(line.frame, Metric(question, answered=f"{name}.answered")),
            True,
        )
        for line in judged
        for question, name in METRICS.items()
    )


# -- contexts -----------------------------------------------------------------------------------------------------------

_WORSE = re.compile(r"I~(?P<kind>[a-z]+):(?P<amount>[\d.]+)")


def context_effects(opened: RunLines) -> list[Result]:
    """Each context against none, a wrong person's against the right one, a worse history against the full one."""
    return differences_of(opened, _pairs(opened.lines), "effect", BY_KIND, covered=lambda line: None)


def _pairs(lines: Sequence[Line]) -> Iterator[tuple[Line, Line, str]]:
    here = {(line.system, line.given, line.fingerprint, line.view): line for line in lines}
    for line in lines:
        for base in _bases(str(line.given)):
            other = here.get((line.system, base, line.fingerprint, line.view))
            if other is not None:
                yield line, other, base


def _bases(given: str) -> list[str]:
    """What a context is compared with."""
    bases = [] if given == "none" else ["none"]
    if not given.startswith("wrong:") and given != "none":
        bases.append(f"wrong:{given}")
    plain = _WORSE.sub("I", given)
    return [*bases, plain] if plain != given else bases


# -- the simulated user -------------------------------------------------------------------------------------------------

FAULTS = {
    "contradicted": "said something against its own profile",
    "leaked": "told preferences unasked in its first turn",
    "early": "was satisfied although the judges say the task was not done",
    "late": "went on although there was nothing left to do",
    "echoed": "repeated the assistant or spoke in its role",
}


# Leaving out what the judges called undone would raise the score by itself, so `early` and `late` leave nothing out.
SPOILING = frozenset({"contradicted", "leaked", "echoed"})


UserAudit = dict[str, UserFaults]
"""Dialogue id to its user's faults, for dialogues that ran to an end."""


def audit_simulator(run: DialogueRun) -> UserAudit:
    """Look for the user's faults in every dialogue."""
    completed = run.marks.filter(question="completion").group_by("item").agg(pl.col("value").mean())
    verdicts = dict(completed.iter_rows())
    return {
        item: user_faults(counted, verdicts.get(item))
        for item, counted in run.counted.items()
        if counted.dialogue.stop.whole
    }


def audit_results(run: DialogueRun, opened: RunLines, audit: UserAudit) -> list[Result]:
    """How often each fault occurred, what helped or hurt the assistant, and the scores without those dialogues."""
    found: list[Result] = []
    for line in opened.lines:
        if line.rater is None:
            found += _faults(line, audit)
        elif line.view == run.views[0] and "personalization" in line.frame.columns:
            found += _without(line, audit)
    return found


def _faults(line: Line, audit: UserAudit) -> list[Result]:
    held = line.frame.filter("held")
    items, people = set(held.filter("whole")["item"]), held["person"].n_unique()
    faults = [audit[item] for item in items]
    counts = {kind: sum(kind in one.found for one in faults) for kind in FAULTS}
    counts |= {"helped": sum(one.helped for one in faults), "hurt": sum(one.hurt for one in faults)}
    found = []
    for kind, count in counts.items():
        share = Estimate(count / len(items) if items else None, None, None, len(items), people)
        note = f"{count} of {len(items)} dialogues; counted, not judged"
        found.append(record(line, Metric(f"user_{kind}", note=note), (), share, None, False))
    return found


def _without(line: Line, audit: UserAudit) -> list[Result]:
    held = line.frame.filter("held")
    spoilt = [item for item, one in audit.items() if not SPOILING.isdisjoint(one.found)]
    kept = held.filter(~pl.col("item").is_in(spoilt))
    note = f"without dialogues the simulated user spoilt; {len(kept)} of {len(held)} dialogues are left"
    return [
        record(
            line,
            replace(metric, note=note, how=""),
            (("simulator", "unspoilt"),),
            metric.of(kept),
            None,
            False,
        )
        for metric in DIALOGUE_METRICS
        if metric.name in HEADLINES
    ]


# -- failure modes ------------------------------------------------------------------------------------------------------

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
