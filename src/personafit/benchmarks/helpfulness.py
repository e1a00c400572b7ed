"""Pairs that are nobody's: two rated answers to one prompt, far enough apart, from a file in HelpSteer2's layout.

Where a prompt is a conversation, its turns are parted there by the marks of the model it was made for; here each says who speaks.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from personafit._errors import UserError, located
from personafit.benchmarks.lines import read_lines

GAP = 2  # points of helpfulness between the answers, as the paper asks for
TURN = re.compile(r"\n?<extra_id_1>(User|Assistant)\n")


@dataclass(frozen=True, slots=True)
class RatedPair:
    """One prompt with a better and a worse answer."""

    line: int
    prompt: str
    better: str
    worse: str
    gap: float


def rated_pairs(path: Path) -> Iterator[RatedPair]:
    """Every two answers that follow each other on one prompt, `GAP` or more points apart."""
    before: tuple[dict[str, Any], float] | None = None
    for number, row in read_lines(path):
        points = _checked(row, path, number)
        if before is None or before[0]["prompt"] != row["prompt"]:
            before = (row, points)
            continue
        other, gap = before[0], before[1] - points
        better, worse = (other, row) if gap > 0 else (row, other)
        if abs(gap) >= GAP:
            yield RatedPair(number, _spoken(row["prompt"]), better["response"], worse["response"], abs(gap))
        before = None


def _spoken(prompt: str) -> str:
    """The prompt with its speakers named, where it has several turns."""
    first, *rest = TURN.split(prompt)
    if not rest:
        return prompt
    turns = [("User", first), *zip(rest[::2], rest[1::2], strict=True)]
    return "\n\n".join(f"{who}: {text.strip()}" for who, text in turns if text.strip())


def _checked(row: dict[str, Any], path: Path, number: int) -> float:
    for field in ("prompt", "response", "helpfulness"):
        if field not in row:
            raise UserError(f"{located(path, number, field)} is missing; HelpSteer2's layout is wanted.")
    for field in ("prompt", "response"):
        if not isinstance(row[field], str) or not row[field].strip():
            raise UserError(f"{located(path, number, field)} must be a text that is not empty.")
    points = row["helpfulness"]
    if isinstance(points, bool) or not isinstance(points, int | float):
        raise UserError(f"{located(path, number, 'helpfulness')} must be a number, not {points!r:.40}.")
    return float(points)
