"""A small world of answer pairs for tests: a folder in the published layout, one in ours, and an endpoint that plays all parts."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from personafit import Part, Shown
from personafit.items.preference import CONTEXT, PREFER, shown_content
from tests.scripted import write_lines
from tests.stub_endpoint import BEHAVIOURS, Body, StubEndpoint, completion, saying

ATTRIBUTES = ("The user is a vegetarian.", "The user keeps bees.", "The user lives in Oslo.")


def pair(
    order: tuple[int, int] = (0, 1),
    attributes: Sequence[str] = ATTRIBUTES[:2],
    answers: tuple[str, str] = ("Fry an egg.", "As a vegetarian you may fry tofu."),
    sample: int = 0,
) -> Shown:
    """One pair as a rater sees it."""
    prompt = "What shall I cook?"
    parts = tuple(Part("item-1", f"a{number}", text) for number, text in enumerate(attributes))
    return Shown(
        question=PREFER,
        about="item-1",
        content=shown_content("hash", prompt, answers, parts),
        person="ann",
        prompt=prompt,
        parts=parts,
        texts=answers,
        context=CONTEXT,
        order=order,
        place="".join(map(str, order)),
        sample=sample,
    )


def write_pairs(folder: Path, users: int = 4, generators: Sequence[str] = ("gpt-9", "claude-9")) -> Path:
    """A folder with response_pairs.jsonl as published; gpt-9 names attributes, the other does not."""
    folder.mkdir(exist_ok=True)
    rows: list[dict[str, Any]] = []
    for user in range(users):
        for index, prompt in enumerate(["What shall I cook?", "Where shall I go?"]):
            for generator in generators:
                names = generator.startswith("gpt")
                said = "Since you keep bees, add honey." if names else "Add some honey to it, slowly."
                rows.append(
                    {
                        "user": f"u{user}",
                        "prompt_index": index,
                        "prompt": prompt,
                        "generator": generator,
                        "attributes": [
                            {"attribute": "The user keeps bees.", "is_relevant": True},
                            {"attribute": f"The user lives in town {user}.", "is_relevant": user % 2 == 0},
                            {"attribute": "The user likes jazz.", "is_relevant": False},
                        ],
                        "generic": f"Try something simple, number {user}.",
                        "personalized": f"Try something simple, number {user}. {said}",
                    }
                )
    write_lines(folder / "response_pairs.jsonl", rows)
    return folder


def write_preferences(folder: Path, people: int = 8) -> Path:
    """A benchmark folder of preference items with authors' gold: odd people prefer the generic answer."""
    folder.mkdir(exist_ok=True)
    toml = 'name = "little"\nversion = "1"\nlanguage = ["en"]\ngold = "author"\ncoverage_bar = 0.95\n'
    (folder / "benchmark.toml").write_text(toml, encoding="utf-8")
    everyone = [
        {"id": f"p{n}", "language": "en", "attributes": [{"id": "a", "text": ATTRIBUTES[1]}]}
        for n in range(people)
    ]
    write_lines(folder / "people.jsonl", everyone)
    products: list[dict[str, Any]] = [{"id": "bees", "kind": "attribute", "text": ATTRIBUTES[1]}]
    items, gold = [], []
    for n in range(people):
        named = "Since you keep bees, use honey." if n % 2 else "Use honey, it keeps for years."
        products += [
            {"id": f"g{n}", "kind": "answer", "text": f"Bake bread {n}.", "maker": "writer"},
            {"id": f"p{n}", "kind": "answer", "text": f"Bake bread {n}. {named}", "maker": "writer"},
        ]
        items.append(
            {
                "id": f"i{n}",
                "kind": "preference",
                "person": f"p{n}",
                "prompt": "What shall I bake?" if n < people // 2 else f"What shall I bake on day {n}?",
                "products": [f"g{n}", f"p{n}", "bees"],
            }
        )
        mark = 2 if n % 2 else 4
        gold.append(
            {
                "item": f"i{n}",
                "question": "preference",
                "target": "bees",
                "rater": "author",
                "label": str(mark),
                "value": mark,
            }
        )
    for name, rows in (("products", products), ("items", items), ("gold", gold)):
        write_lines(folder / f"{name}.jsonl", rows)
    return folder


def plays_all_parts(monkeypatch: pytest.MonkeyPatch, endpoint: StubEndpoint, like: str = "Since you") -> None:
    """The endpoint writes answers, picks entry 1 of every list, and as a judge prefers the answer that says `like`."""
    monkeypatch.setitem(BEHAVIOURS, "parts", saying(lambda body: completion(body, _said(body, like))))
    endpoint.behave("parts")


def _said(body: Body, like: str) -> str:
    first = body["messages"][0]["content"]
    if body["messages"][0]["role"] == "system":
        known = re.findall(r"^- The user (.*)\.$", first, re.MULTILINE)
        return (
            "A plain answer."
            if not known
            else f"A plain answer. Since you {known[0]}, a better one. Told {len(known)}."
        )
    if "numbered list says" in first:
        return "[1]"
    shown = re.findall(r"<answer_[AB]>\n(.*?)\n</answer_[AB]>", first, re.DOTALL)
    count = len(
        re.findall(r"^\d+\. ", first.split("<attributes>")[1].split("</attributes>")[0], re.MULTILINE)
    )
    mark = 3 if (like in shown[0]) == (like in shown[1]) else 5 if like in shown[1] else 1
    return json.dumps({str(number): mark for number in range(1, count + 1)})
