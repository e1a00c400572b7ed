"""Small worlds for tests: scripted models, pairs and recordings in files, runs inside this process."""

import asyncio
import csv
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from personafit import ChatReply, Part, Shown, Store
from personafit.benchmarks import Benchmark, Finished, RunConfig
from personafit.cli import main
from personafit.contexts import Context
from personafit.engine import Silence
from personafit.items import FIT
from personafit.items.relevance import ALONE, CONTEXTS, LIST, PAIR, with_parts
from personafit.models import ChatRequest
from personafit.run import execute

SHOWN_UNDER = ("profile", "none", "wrong:profile")


@dataclass
class ScriptedModel:
    """A model that gives the replies of a list in turn and remembers what it was asked."""

    replies: list[ChatReply]
    name: str = "scripted"
    settings: dict[str, Any] = field(default_factory=lambda: {"kind": "scripted"})
    endpoint: str = "scripted"
    max_concurrency: int = 1
    price: tuple[float, float] | None = (0.0, 0.0)
    asked: list[ChatRequest] = field(default_factory=list)
    closed: bool = False

    async def chat(self, request: ChatRequest) -> ChatReply:
        """The next reply; more calls than replies are an error of the rater's."""
        self.asked.append(request)
        return self.replies[len(self.asked) - 1]

    async def close(self) -> None:
        """Remember that it was closed."""
        self.closed = True


def shown(
    texts: Sequence[str] = ("tea", "coffee"),
    order: tuple[int, ...] = (0, 1),
    person: str = "Likes: tea",
    prompt: str = "What shall I drink?",
    sample: int = 0,
    values: tuple[str, ...] = ("tea",),
) -> Shown:
    """One pair as a rater sees it."""
    context = Context("profile", person, values, "ann") if person else Context("none", "", (), None)
    return Shown(
        question=FIT,
        about="item-1",
        content="hash",
        person="ann",
        prompt=prompt,
        parts=(Part("item-1"),),
        texts=tuple(texts),
        context=context,
        context_id=context.id,
        order=order,
        place="".join(map(str, order)),
        sample=sample,
    )


def listed(*attributes: str, prompt: str = "What shall I drink?", context: str = "none") -> Shown:
    """A list of attributes as a rater sees it."""
    parts = tuple(
        Part(f"i{number}", text=text, content=f"h{number}") for number, text in enumerate(attributes)
    )
    whole = Shown(
        question=LIST if len(parts) > 1 else PAIR,
        about="group@ann",
        content="",
        person="ann",
        prompt="" if context == ALONE else prompt,
        parts=parts,
        context=CONTEXTS[context],
    )
    return with_parts(whole, parts)


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """A JSONL file."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def write_pairs(path: Path, rows: Sequence[Mapping[str, str]]) -> Path:
    """A CSV of pairs; every row must have the same columns."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def simple_pairs(people: int, questions: int = 1, **more: str) -> list[dict[str, str]]:
    """Pairs of which the chosen answer is the longer one; each question is another person's too."""
    return [
        {
            "person": f"person{person}",
            "person.Job": f"job number {person}",
            "question": f"Question {question}?",
            "chosen": f"A fitting answer, {person}/{question}",
            "rejected": f"No, {person}/{question}",
            **more,
        }
        for person in range(people)
        for question in range(questions)
    ]


def run(store: Store, config: RunConfig) -> Finished:
    """Carry out a run in this process."""
    return asyncio.run(execute(store, config, Silence()))


HERE = (str(Path(__file__).parents[1]), sys.prefix, sys.base_prefix)
_INSTALLED: set[str] = set()
"""Modules that no test made: there are thousands, and looking at each again takes longer than many a command."""


def imported_from(folder: str) -> list[str]:
    """The names of modules that were imported from a test's folder."""
    found = []
    for name in sys.modules.keys() - _INSTALLED:
        file = str(getattr(sys.modules[name], "__file__", None) or "")
        if not file or file.startswith(HERE):
            _INSTALLED.add(name)
        elif file.startswith(folder):
            found.append(name)
    return found


def invoke(monkeypatch: pytest.MonkeyPatch, folder: Path, *arguments: str, code: int = 0) -> None:
    """The `personafit` command in this process, in a folder; insists on the exit code.

    Far cheaper than a new process each time; that the real command is the same is tested once.
    """
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    own = imported_from(f"{folder}{os.sep}")
    for name in imported_from(f"{folder.parent}{os.sep}"):  # another test's module of the same name
        if name not in own:
            del sys.modules[name]
    monkeypatch.setattr(sys, "argv", ["personafit", *arguments])
    try:
        main()
        ended: Any = 0
    except SystemExit as end:
        ended = end.code or 0
    assert ended == code, f"exit {ended}, not {code}: {arguments}"


def write_recording(
    path: Path,
    benchmark: Benchmark,
    decide: Callable[[str, int, str], str | None],
    contexts: Sequence[str] = SHOWN_UNDER,
) -> Path:
    """A recording for `replay:`; `decide(context, number of the item, order)` says `right`, `wrong`, any other reply,
    or None for an ask that was never recorded and so fails."""
    gold = {row.item: int(row.label or "") for row in benchmark.gold()}
    rows = []
    for number, item in enumerate(benchmark.items()):
        for context in contexts:
            for order in ("01", "10"):
                said = decide(context, number, order)
                if said is None:
                    continue
                letters = {"right": "AB"[order.index(str(gold[item.id]))]}
                letters["wrong"] = "BA"["AB".index(letters["right"])]
                rows.append({"key": f"{item.id}|{context}|{order}|0", "reply": letters.get(said, said)})
    return write_lines(path, rows)
