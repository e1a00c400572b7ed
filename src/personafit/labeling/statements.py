"""Statements about people beside the conversations they are said to come from, with the turns they point to.

A benchmark's authors state what is true; the starter set adds what only seems so, and `personafit extract run` what an extractor found.
Every statement points to some turn: one that points nowhere would give itself away, so it gets the turn most like it.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import orjson

from personafit.people import Conversation, Turn
from personafit.stages.records import Label, StageFile, before_refinement

_WORDS = re.compile(r"[^\W\d_]{4,}|[\u3400-\u9fff]")
SHOWN = ("user", "assistant")


class Statement(NamedTuple):
    """One thing said about a person."""

    id: str
    text: str
    evidence: list[int]
    """Turns of the conversation, from 0."""
    label: Label | None
    """What is known of it, where something is."""
    reason: str = ""
    """Why, as a key of the interface's texts."""


Stated = tuple[Conversation, list[Statement]]


def of_benchmark(conversations: Iterable[Conversation], traps: Path | None) -> Iterator[Stated]:
    """What the authors say is true, and what the traps say that is not."""
    false = _traps(traps) if traps is not None else {}
    for conversation in conversations:
        statements = [
            Statement(one.id, one.text, _turns(one.evidence, conversation, one.text), "accepted", "why.said")
            for one in conversation.attributes
        ]
        for number, (text, failure) in enumerate(false.get(conversation.id, ()), 1):
            name = f"{conversation.id}/trap-{number}"
            statements.append(
                Statement(name, text, [_nearest(text, conversation)], "rejected", f"why.{failure}")
            )
        if statements:
            yield conversation, statements


def of_stages(folder: Path) -> Iterator[Stated]:
    """What an extractor found, as it stood before it was refined."""
    files = StageFile(folder)
    found: dict[str, list[tuple[str, str, list[str]]]] = {}
    for one in before_refinement(files.read_attributes()):
        found.setdefault(one.conversation, []).append((one.id, one.text, one.evidence))
    for staged in files.read_conversations():
        if staged.id in found:
            turns = [
                Turn(role=turn.role if turn.role in SHOWN else "system", text=turn.text or turn.note or "")
                for turn in staged.turns
            ]
            conversation = Conversation(id=staged.id, person=staged.person, turns=turns)
            yield (
                conversation,
                [
                    Statement(name, text, _turns(evidence, conversation, text), None)
                    for name, text, evidence in found[staged.id]
                ],
            )


def _traps(path: Path) -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for line in path.read_bytes().splitlines():
        row = orjson.loads(line)
        found.setdefault(row["conversation"], []).append((row["text"], row["failure"]))
    return found


def _turns(evidence: Iterable[str], conversation: Conversation, text: str) -> list[int]:
    """The turns of this conversation among the evidence, or the one most like the statement."""
    turns = []
    for one in evidence:
        name, _, number = one.rpartition("#")
        if name == conversation.id and number.isdecimal() and int(number) < len(conversation.turns):
            turns.append(int(number))
    return turns or [_nearest(text, conversation)]


def _nearest(text: str, conversation: Conversation) -> int:
    words = _words(text)
    shared = [len(words & _words(turn.text)) for turn in conversation.turns]
    return shared.index(max(shared))


def _words(text: str) -> set[str]:
    return set(_WORDS.findall(text.lower()))
