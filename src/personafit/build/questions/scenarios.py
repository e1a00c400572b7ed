"""What questions are about, and questions of ours: eight categories with their scenarios, examples of manner, and the pool.

The pool of general questions is ours, small, or that of the user's files.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from personafit._errors import UserError, located
from personafit._hashing import draw
from personafit.benchmarks.lines import read_lines, required_text
from personafit.build.asking import WIDE
from personafit.build.config import meant
from personafit.build.corpus import text_lines
from personafit.build.prompts import DATA
from personafit.models.embeddings import Embedder, Vectors


@dataclass(frozen=True, eq=False)
class Scenario:
    """One kind of occasion on which somebody asks."""

    category: str
    name: str
    titles: Mapping[str, str]
    """How it is called, by language."""
    templates: Mapping[str, list[str]]
    """Questions of ours for it, by language."""


@dataclass(frozen=True, eq=False)
class Category:
    """One of the eight kinds of question."""

    name: str
    titles: Mapping[str, str]
    published: str
    """Its name in Table 5 of PersonaFeedback."""
    share: float
    """Its share there, from 0 to 1."""
    scenarios: tuple[Scenario, ...]


@cache
def data_text(name: str) -> str:
    """One of our data files."""
    return (DATA / name).read_text(encoding="utf-8")


@cache
def _tree() -> dict[str, Any]:
    return tomllib.loads(data_text("scenarios.toml"))


@cache
def categories() -> dict[str, Category]:
    """The categories by name, in the order of their published shares."""
    found = {}
    for row in _tree()["category"]:
        name, (published, percent) = row["name"], row["published"]
        scenarios = tuple(
            Scenario(
                name, one["name"], {"en": one["name"], "zh": one["zh"]}, {"en": one["ask"], "zh": one["wen"]}
            )
            for one in row["scenario"]
        )
        titles = {"en": row["en"], "zh": row["zh"]}
        found[name] = Category(name, titles, published, percent / 100, scenarios)
    return found


def published_shares() -> dict[str, float]:
    """The shares of Table 5; rounded there, they miss 1 by a ten-thousandth."""
    return {category.name: category.share for category in categories().values()}


def template_question(scenario: Scenario, language: str, *key: str | int) -> str:
    """A question of ours for a scenario, drawn by the key."""
    gap = {"en": "when", "zh": "shi"}[language]
    wordings = scenario.templates[language]
    wording = wordings[draw("template", *key, among=len(wordings))]
    fillings: list[str] = _tree()[gap]
    return wording.replace(f"{{{gap}}}", fillings[draw("filling", *key, among=len(fillings))])


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
    for row in map(orjson.loads, data_text("examples.jsonl").splitlines()):
        for number, one in enumerate(row["questions"], 1):
            features = tuple(row["features"][place] for place in one["features"])
            id_, language = f"{row['id']}/{number}", row["language"]
            found.append(Example(id_, language, features, one["category"], one["scenario"], one["text"]))
    return tuple(found)


def example_for(language: str, *key: str | int) -> Example:
    """One in the language, drawn by the key."""
    mine = [one for one in examples() if one.language == language]
    return mine[draw("example", *key, among=len(mine))]


class Topics:
    """Knows our questions for every scenario."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, tuple[Vectors, list[int]]] = {}

    def nearest(self, text: str, language: str) -> list[Scenario]:
        """All scenarios, those nearest to a text first."""
        vectors, owners = self._ours(language)
        likeness = vectors @ self._embedder.embed([text])[0]
        order = dict.fromkeys(owners[place] for place in np.argsort(-likeness, kind="stable").tolist())
        return [_all_scenarios()[owner] for owner in order]

    def _ours(self, language: str) -> tuple[Vectors, list[int]]:
        if language not in self._known:
            said = [
                (text, owner)
                for owner, one in enumerate(_all_scenarios())
                for text in (one.titles[language], *one.templates[language])
            ]
            vectors = self._embedder.embed([text for text, _ in said])
            self._known[language] = (vectors, [owner for _, owner in said])
        return self._known[language]


@cache
def _all_scenarios() -> tuple[Scenario, ...]:
    return tuple(one for category in categories().values() for one in category.scenarios)


OWN = "pool:personafit-1"


@dataclass(frozen=True, slots=True)
class PoolQuestion:
    """One question of a pool."""

    text: str
    language: str
    source: str
    """The file and line it is from."""
    category: str = ""
    """Empty where the file does not say."""
    scenario: str = ""


def read_pool(paths: Sequence[Path]) -> Iterator[PoolQuestion]:
    """All questions of the files, or ours where there are none."""
    if not paths:
        for number, line in enumerate(data_text("pool.jsonl").splitlines(), 1):
            yield _entry(orjson.loads(line), f"{OWN}#{number}")
    for path in paths:
        yield from _rows(path) if path.suffix == ".jsonl" else _lines(path)


def _rows(path: Path) -> Iterator[PoolQuestion]:
    for number, row in read_lines(path):
        required_text(row, "text", path, number)
        category, scenario = row.get("category") or "", row.get("scenario") or ""
        if category and category not in categories():
            raise UserError(
                f"{located(path, number, 'category')}: there is no category '{category}'; {meant(str(category), list(categories()))}."
            )
        known = [one.name for one in categories()[category].scenarios] if category else []
        if scenario and scenario not in known:
            raise UserError(
                f"{located(path, number, 'scenario')}: there is no scenario '{scenario}' of that category; {meant(str(scenario), known)}."
            )
        yield _entry(row, f"{path.name}#{number}")


def _lines(path: Path) -> Iterator[PoolQuestion]:
    for number, line in enumerate(text_lines(path, "pool"), 1):
        if line.strip():
            yield _entry({"text": line}, f"{path.name}#{number}")


def _entry(row: dict[str, Any], source: str) -> PoolQuestion:
    text = " ".join(str(row["text"]).split())
    return PoolQuestion(text, language_of(text), source, row.get("category") or "", row.get("scenario") or "")


def language_of(text: str) -> str:
    """The language a question is in: zh where a third of its characters are Chinese."""
    return "zh" if len(WIDE.findall(text)) > len(text) / 3 else "en"
