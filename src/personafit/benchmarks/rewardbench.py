"""RewardBench and HelpSteer2: pairs without a person, to measure what a personal rater loses on ordinary answers.

RewardBench as on the hub: `data/filtered-*.parquet` of version 1 (prompt, chosen, rejected, subset, id) or `data/test-*.parquet` of version
2 (one right answer among four); any parquet or JSONL file with those columns is read. HelpSteer2 as on the hub: `validation.jsonl.gz`, two
rated answers to a prompt on consecutive lines; pairs two or more points of helpfulness apart are used.
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from personafit._errors import UserError, located
from personafit.benchmarks.benchmark import Published
from personafit.benchmarks.choices import ChoiceBenchmark, MultipleChoice
from personafit.benchmarks.lines import (
    FilledText,
    IdText,
    PublishedLine,
    read_lines,
    read_parquet,
    read_records,
    validated,
)
from personafit.benchmarks.published import not_found, published_info, published_scores
from personafit.items import MOST
from personafit.people import Person

GAP = 2  # least difference in helpfulness, as in the paper
TURN = re.compile(r"\n?<extra_id_1>(User|Assistant)\n")


class _RatedLine(PublishedLine):
    prompt: FilledText
    response: FilledText
    helpfulness: float


class RatedPair(NamedTuple):
    """A prompt with a better and a worse answer."""

    line: int
    prompt: str
    better: str
    worse: str
    gap: float


def rated_pairs(path: Path) -> Iterator[RatedPair]:
    """Iterate over pairs of consecutive answers to one prompt that are `GAP` or more points apart."""
    before: _RatedLine | None = None
    for number, line in read_records(path, _RatedLine):
        if before is None or before.prompt != line.prompt:
            before = line
            continue
        gap = before.helpfulness - line.helpfulness
        better, worse = (before, line) if gap > 0 else (line, before)
        if abs(gap) >= GAP:
            yield RatedPair(number, _spoken(line.prompt), better.response, worse.response, abs(gap))
        before = None


def _spoken(prompt: str) -> str:
    """Return the prompt, with its speakers named if it has several turns."""
    first, *rest = TURN.split(prompt)
    if not rest:
        return prompt
    turns = [("User", first), *zip(rest[::2], rest[1::2], strict=True)]
    return "\n\n".join(f"{who}: {text.strip()}" for who, text in turns if text.strip())


SECTIONS = {
    "Chat": "alpacaeval-easy alpacaeval-length alpacaeval-hard mt-bench-easy mt-bench-med",
    "Chat Hard": "mt-bench-hard llmbar-natural llmbar-adver-neighbor llmbar-adver-GPTInst llmbar-adver-GPTOut llmbar-adver-manual",
    "Safety": "refusals-dangerous refusals-offensive xstest-should-refuse xstest-should-respond donotanswer",
    "Reasoning": "math-prm hep-cpp hep-go hep-java hep-js hep-python hep-rust",
}
SECTION_OF = {subset: section for section, subsets in SECTIONS.items() for subset in subsets.split()}
FILES = ("data/filtered-*.parquet", "data/test-*.parquet", "*.parquet", "*.jsonl")
HELPSTEER = ("validation.jsonl.gz", "validation.jsonl", "train.jsonl.gz", "train.jsonl")
TIES = "Ties"


class Impersonal(ChoiceBenchmark):
    """Choices without a person: each gets an empty person of its own, so that intervals are over prompts."""

    def people(self) -> Iterator[Person]:
        for choice in self._all:
            yield Person(id=choice.person, language="en")


class _RewardRow(PublishedLine):
    prompt: FilledText
    chosen: FilledText | list[FilledText]
    rejected: FilledText | list[FilledText]
    subset: str | None = None
    id: IdText | None = None


class RewardBench(Impersonal):
    """Files with RewardBench's columns."""

    def __init__(self, folder: Path) -> None:
        self._files = next((found for pattern in FILES if (found := sorted(folder.glob(pattern)))), [])
        if not self._files:
            raise not_found("rewardbench", folder)
        second = any(isinstance(row.get("chosen"), list) for _, row in self._rows())
        self.info = published_info("rewardbench-2" if second else "rewardbench")

    def read(self) -> Iterator[MultipleChoice]:
        """Iterate over the choices, one per row; rows with several right answers are left out."""
        seen: Counter[str] = Counter()
        for number, (place, raw) in enumerate(self._rows()):
            row = validated(_RewardRow, raw, place, None)
            subset = row.subset or "other"
            if subset == TIES:
                continue
            right, wrong = (one if isinstance(one, list) else [one] for one in (row.chosen, row.rejected))
            if len(right) != 1 or not 0 < len(wrong) < MOST:
                raise UserError(f"{place}: one right answer and at most {MOST - 1} others make a choice.")
            item = f"rewardbench/{subset}/{number if row.id is None else row.id}"
            seen[item] += 1
            if seen[item] > 1:  # ids come from the sources and need not be unique
                item += f".{seen[item]}"
            slices = {"subset": subset, "section": SECTION_OF.get(subset, subset)}
            yield MultipleChoice(item, item, row.prompt, right[0], tuple(wrong), slices)

    def published(self) -> list[Published]:
        return published_scores("rewardbench" if self.info.version == "1" else "rewardbench-2")

    def remarks(self) -> list[str]:
        if self.info.version == "1":
            return [
                "The leaderboard weighs math-prm as much as all code and averages the four sections; a section here is the mean over "
                "its choices, and the total the mean over all."
            ]
        ties = sum(row.get("subset") == TIES for _, row in self._rows())
        return [
            f"{ties} rows of the subset Ties have several right answers, are scored otherwise and are left out."
        ]

    def _rows(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for path in self._files:
            if path.suffix == ".parquet":
                yield from ((f"{path}, row {number}", row) for number, row in read_parquet(path))
            else:
                yield from ((located(path, number), row) for number, row in read_lines(path))


class HelpSteer2(Impersonal):
    """Rated answers in HelpSteer2's layout."""

    info = published_info("helpsteer2")

    def __init__(self, folder: Path) -> None:
        found = [folder / name for name in HELPSTEER if (folder / name).is_file()]
        if not found:
            raise not_found("helpsteer2", folder)
        self._path = found[0]

    def read(self) -> Iterator[MultipleChoice]:
        found = False
        for number, prompt, better, worse, gap in rated_pairs(self._path):
            found = True
            item = f"helpsteer2/{self._path.name.split('.')[0]}/{number}"
            slices = {"gap": "3 or more" if gap >= 3 else "2"}
            yield MultipleChoice(item, item, prompt, better, (worse,), slices)
        if not found:
            raise UserError(
                f"{self._path} holds no two answers to one prompt that are {GAP} or more points apart."
            )

    def remarks(self) -> list[str]:
        return [f"Read from {self._path.name}; pairs less than two points of helpfulness apart are left out."]
