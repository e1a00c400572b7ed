"""An audit by its flat records: what figures and tables are made of, whether it was made just now or read from audit.json."""

from collections.abc import Sequence

from personafit.reporting.results import Result

ALL, BUT = "all", "all but "
BLIND, INFORMED, COUNTS = "surface features, no person", "surface features with overlap", "answer counts"
RULE = "rule:"

Lines = dict[str, dict[str, Result]]


def shortcuts(results: Sequence[Result]) -> Lines:
    """Each shortcut to all pairs and every tier."""
    lines: Lines = {}
    for one in results:
        if set(one.slice) <= {"tier"} and one.rater != INFORMED:
            name = str(one.rater).removeprefix(RULE)
            lines.setdefault(name, {})[one.slice.get("tier", ALL)] = one
    return lines


def parts(results: Sequence[Result]) -> list[str]:
    """All pairs, then the tiers in their order."""
    return list(dict.fromkeys(part for line in shortcuts(results).values() for part in line))


def subsets(results: Sequence[Result]) -> Lines:
    """Each subset on which shortcuts must fail to the rules there."""
    lines: Lines = {}
    for one in results:
        if "subset" in one.slice:
            lines.setdefault(one.slice["subset"], {})[str(one.rater).removeprefix(RULE)] = one
    return lines


def field_groups(results: Sequence[Result]) -> dict[str, tuple[Result, Result]]:
    """Each group of fields to overlap with it alone, and with everything but it."""
    found = {one.slice["fields"]: one for one in results if "fields" in one.slice}
    return {name: (one, found[BUT + name]) for name, one in found.items() if BUT + name in found}
