"""Questions of ours with the features they came from: one of them is shown with each ask, as a model of manner."""

from dataclasses import dataclass
from functools import cache

import orjson

from personafit._hashing import draw
from personafit.factory.questions.scenarios import data_text


@dataclass(frozen=True, slots=True)
class Example:
    """One question, whose it is, and what it came from."""

    id: str
    language: str
    features: tuple[str, ...]
    category: str
    scenario: str
    text: str


@cache
def examples() -> tuple[Example, ...]:
    """All of them, in the order of the file."""
    found = []
    for line in data_text("examples.jsonl").splitlines():
        row = orjson.loads(line)
        for number, one in enumerate(row["questions"], 1):
            found.append(
                Example(
                    id=f"{row['id']}/{number}",
                    language=row["language"],
                    features=tuple(row["features"][place] for place in one["features"]),
                    category=one["category"],
                    scenario=one["scenario"],
                    text=one["text"],
                )
            )
    return tuple(found)


def example_for(language: str, *key: str | int) -> Example:
    """One in the language, drawn by the key."""
    mine = [one for one in examples() if one.language == language]
    return mine[draw("example", *key, among=len(mine))]
