"""What questions are about: eight categories with sub-scenarios and their published shares, in a data file of our own."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from personafit._hashing import draw

DATA = "personafit.factory.questions"


@dataclass(frozen=True, slots=True)
class Scenario:
    """One kind of occasion on which somebody asks."""

    category: str
    name: str
    titles: tuple[tuple[str, str], ...]
    """How it is called, by language."""
    templates: tuple[tuple[str, tuple[str, ...]], ...]
    """Questions of ours for it, by language."""

    def title(self, language: str) -> str:
        """How it is called in a language."""
        return dict(self.titles)[language]


@dataclass(frozen=True, slots=True)
class Category:
    """One of the eight kinds of question."""

    name: str
    titles: tuple[tuple[str, str], ...]
    published: str
    """Its name in Table 5 of PersonaFeedback."""
    share: float
    """Its share there, from 0 to 1."""
    scenarios: tuple[Scenario, ...]

    def title(self, language: str) -> str:
        """How it is called in a language."""
        return dict(self.titles)[language]


@cache
def data_text(name: str) -> str:
    """One of our data files."""
    return files(DATA).joinpath(f"data/{name}").read_text(encoding="utf-8")


@cache
def _tree() -> dict[str, Any]:
    return tomllib.loads(data_text("scenarios.toml"))


@cache
def categories() -> dict[str, Category]:
    """The categories by name, in the order of their published shares."""
    return {
        row["name"]: Category(
            name=row["name"],
            titles=(("en", row["en"]), ("zh", row["zh"])),
            published=row["published"][0],
            share=row["published"][1] / 100,
            scenarios=tuple(
                Scenario(
                    category=row["name"],
                    name=one["name"],
                    titles=(("en", one["name"]), ("zh", one["zh"])),
                    templates=(("en", tuple(one["ask"])), ("zh", tuple(one["wen"]))),
                )
                for one in row["scenario"]
            ),
        )
        for row in _tree()["category"]
    }


def published_shares() -> dict[str, float]:
    """The shares of Table 5; rounded there, they miss 1 by a ten-thousandth."""
    return {category.name: category.share for category in categories().values()}


def template_question(scenario: Scenario, language: str, *key: str | int) -> str:
    """A question of ours for a scenario, drawn by the key."""
    gap = {"en": "when", "zh": "shi"}[language]
    wordings = dict(scenario.templates)[language]
    wording = wordings[draw("template", *key, among=len(wordings))]
    fillings: list[str] = _tree()[gap]
    return wording.replace(f"{{{gap}}}", fillings[draw("filling", *key, among=len(fillings))])
