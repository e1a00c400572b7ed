"""A small relevance world in the published layout: users, prompts and attributes whose labels follow a rule."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from personafit.benchmarks import Controls
from personafit.items.relevance import ALONE
from personafit.kinds.relevance import RelevanceKind
from tests.scripted import write_lines

Row = dict[str, Any]

# A module of scripted models and raters. The models read what they are shown, so that a test can say who picks what: the
# pair model says yes to anything about tea or dogs, the list model picks tea alone.
MODULE = """
import json
import re

def pairs(messages):
    known = re.search(r"<known>\\n(.*?)\\n</known>", messages[0]["content"], re.S)[1]
    return "yes" if "tea" in known or "dog" in known else "no"

def lists(messages):
    known = re.search(r"<known>\\n(.*?)\\n</known>", messages[0]["content"], re.S)[1]
    lines = [line.partition(". ") for line in known.splitlines()]
    return json.dumps([int(number) for number, _, text in lines if "tea" in text])

def both(messages):
    return lists(messages) if "numbered list" in messages[0]["content"] else pairs(messages)

def grades(messages):
    known = messages[0]["content"]
    return "3" if "tea" in known else "2" if "dog" in known else "1" if "job" in known else "0"

def mumbling(messages):
    return "who knows"

def naming_others(messages):
    return "[1, 5000]"

CALLS = []

def breaking_once(prompt, attributes, person):
    CALLS.append(person.id)
    if len(CALLS) == 2:
        raise RuntimeError("down")
    return ["tea" in text for text in attributes]

def tea(prompt, attributes, person):
    return ["tea" in text for text in attributes]

def scores(prompt, attributes, person):
    return [2.0 if "tea" in text else 1.0 if "dog" in text else 0.0 for text in attributes]
"""


def row(user: int, prompt: int, attribute: str, **more: Any) -> Row:
    """One line of relevance.jsonl; tea is relevant."""
    return {
        "user": f"u{user:02}",
        "prompt_index": prompt,
        "prompt": f"What shall I drink, number {prompt}?",
        "attribute": attribute,
        "reason": f"They said so in chat {user}.",
        "relevant": "tea" in attribute,
        "model_votes": {"gpt-5.4": "tea" in attribute or "dog" in attribute},
        **more,
    }


def rows(users: int = 8, prompts: int = 4, each: int = 2) -> list[Row]:
    """Lists of five attributes; every user meets `each` of the prompts."""
    return [
        row(user, (user + step) % prompts, attribute)
        for user in range(users)
        for step in range(each)
        for attribute in (
            f"The user likes tea of kind {user}.",
            f"The user may have dog number {user}.",
            f"The user has job {user}.",
            f"The user has job {user + 100}.",
            f"The user lives in town {user}.",
        )
    ]


def write_world(
    folder: Path, lines: Iterable[Row], change: Callable[[list[Row]], None] | None = None
) -> Path:
    """The folder with relevance.jsonl in it, changed as told."""
    folder.mkdir(exist_ok=True)
    listed = list(lines)
    if change is not None:
        change(listed)
    write_lines(folder / "relevance.jsonl", listed)
    return folder


def write_module(folder: Path, name: str) -> str:
    """The scripted models as a module of that name; returns the name."""
    (folder / f"{name}.py").write_text(MODULE, encoding="utf-8")
    return name


def leave_out_embedding(patch: pytest.MonkeyPatch) -> None:
    """Run the free rules alone as controls: embedding every attribute takes longer than all the rest."""
    controls = Controls(contexts=[ALONE], raters=["rule:always-yes", "rule:bm25"])
    patch.setattr(RelevanceKind, "controls", controls)
