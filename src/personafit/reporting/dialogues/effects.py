"""What a context does: differences between contexts, paired by task, and the curve over worse and worse histories."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from personafit.kinds.lines import Line, RunLines
from personafit.reporting.dialogues.results import BY_KIND
from personafit.reporting.line_results import differences_of
from personafit.reporting.result import Result

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


@dataclass(frozen=True)
class CurvePoint:
    """One point of the curve over worse histories."""

    system: str
    rater: str
    kind: str
    amount: float
    completion: Result | None
    personalization: Result | None
    coverage: Result | None


def history_curve(results: list[Result]) -> list[CurvePoint]:
    """How scores fall as the history gets worse; empty where no such contexts were run."""
    found: list[CurvePoint] = []
    totals = [result for result in results if not result.slice]
    kinds = dict.fromkeys(m["kind"] for result in totals if (m := _WORSE.fullmatch(result.given or "")))
    for system in dict.fromkeys(result.system for result in totals):
        for rater in dict.fromkeys(r.rater for r in totals if r.system == system and r.rater):
            for kind in kinds:
                here = [r for r in totals if r.system == system and r.rater in (rater, None)]
                for given in dict.fromkeys(r.given for r in here):
                    match = _WORSE.fullmatch(given or "")
                    if given == "I" or (match and match["kind"] == kind):
                        by_metric = {r.metric: r for r in reversed(here) if r.given == given}
                        found.append(
                            CurvePoint(
                                str(system),
                                str(rater),
                                kind,
                                float(match["amount"]) if match else 0.0,
                                by_metric.get("completion"),
                                by_metric.get("personalization"),
                                by_metric.get("coverage_before"),
                            )
                        )
    return sorted(found, key=lambda one: (one.system, one.rater, one.kind, one.amount))
