"""A benchmark of forty people: questions come from many features, and no surface rule tells the better answer."""

import re
from collections import Counter
from pathlib import Path

import pytest

from personafit.models import Message
from tests.build.answers import models
from tests.build.answers.building import rows, write_config
from tests.build.builds import lines, run_build

HERE = "python:tests.build.studies.test_forty:"
QUESTIONS = 6


def writer(messages: list[Message]) -> str:
    """As able, but a feature says what one memory says, and answers quote what they are told now and then."""
    asked = messages[-1]["content"]
    if "[2, 5]" in asked:
        notes = re.findall(r"^\d+\. (.+)$", asked.partition("features")[0] or asked, re.MULTILINE)
        count = int(re.search(r"Give (\d+)", asked)[1])  # type: ignore[index]
        return "\n".join(
            f"{n}. Would be glad of advice on this: {note} [{n}]" for n, note in enumerate(notes[:count], 1)
        )
    said = models.able(messages)
    return said if "They ask: " not in asked or models.mark(asked) % 3 else said.replace("you could ", "")


def _vote(messages: list[Message], rater: int) -> str:
    """The answer that a taste likes best which goes by nothing on the surface; raters differ now and then."""
    asked = messages[-1]["content"]
    texts: dict[str, str] = dict(re.findall(r"^Answer ([A-H]):\n(.+)$", asked, re.MULTILINE))
    tastes = {letter: models.mark(text) for letter, text in texts.items()}
    if models.mark(f"{rater}{sorted(texts.values())}") % 4 == 0:
        tastes = {letter: models.mark(f"{rater}{text}") for letter, text in texts.items()}
    return max(tastes, key=tastes.__getitem__)


def first(messages: list[Message]) -> str:
    """A voter, as the two below."""
    return _vote(messages, 1)


def second(messages: list[Message]) -> str:
    """A voter."""
    return _vote(messages, 2)


def third(messages: list[Message]) -> str:
    """A voter."""
    return _vote(messages, 3)


@pytest.mark.slow
def test_no_feature_serves_a_third_of_the_questions_and_no_surface_rule_passes_55(tmp_path: Path) -> None:
    raters = ", ".join(f'"{HERE}{name}"' for name in ("first", "second", "third"))
    config = write_config(
        tmp_path,
        studies='voters = "simulated"\nraters = 3\npairs = 2',
        people=40,
        questions=f"specific = {QUESTIONS}\ngeneral = 0\nsimilarity = 1.0",
        models=f"raters = [{raters}]",
        more="[memories]\nper_person = 12\nsampled = 4\nfeatures = 3\n",
    )
    text = config.read_text(encoding="utf-8").replace(f"{models.__name__}:able", f"{__name__}:writer")
    config.write_text(text, encoding="utf-8")
    out = tmp_path / "out"
    run_build(config, out)
    people = {
        row["id"]: {one["id"]: one["text"] for one in row["attributes"]}
        for row in lines(out / "people.jsonl")
    }
    asked = rows(out, "questions")
    assert len(asked) == 40 * QUESTIONS
    for person, known in people.items():
        used = Counter(known[name] for row in asked if row["person"] == person for name in row["features"])
        assert sum(used.values()) == 3 * QUESTIONS
        assert max(used.values()) <= QUESTIONS / 3, (person, used)
    said = [row["said"] for step in ("truth", "tiers") for row in rows(out, step, "rules")]
    assert len(said) > 100
    for column in zip(*said, strict=True):
        assert 0.45 <= 0.5 + sum(column) / (2 * len(said)) <= 0.55
    assert "One feature serves at most 33%" in (out / "card.md").read_text(encoding="utf-8")
