"""Every prompt is there in both languages with the same gaps, belongs to its step, and so does every reason for asking again."""

import ast
import string
from importlib import import_module
from pathlib import Path

import pytest

from personafit import factory
from personafit.factory import PromptTemplate, Unfit
from personafit.factory.prompts import again_words
from personafit.factory.registry import ROOMS, steps_of

HERE = Path(factory.__file__).parent
PROMPTS = {prompt.name: prompt for step in steps_of(ROOMS) for prompt in step.prompts}


def _gaps(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize("name", sorted(PROMPTS))
def test_a_prompt_has_both_languages_and_the_same_gaps(name: str) -> None:
    prompt = PROMPTS[name]
    for texts in filter(None, (prompt.user, prompt.system)):
        assert set(texts) == {"en", "zh"}
        assert _gaps(texts["en"]) == _gaps(texts["zh"])
        wide = sum("\u4e00" <= character <= "\u9fff" for character in texts["zh"])
        assert wide > 0.2 * len(texts["zh"])
        assert not any("\u4e00" <= character <= "\u9fff" for character in texts["en"])
    assert prompt.version >= 1


def test_no_prompt_is_outside_its_steps_fingerprint() -> None:
    found = set()
    for path in HERE.glob("*/prompts.py"):
        module = import_module(f"personafit.factory.{path.parent.name}.prompts")
        found |= {value.name for value in vars(module).values() if isinstance(value, PromptTemplate)}
    assert found == set(PROMPTS)


def test_every_reason_for_asking_again_is_in_both_languages() -> None:
    bare = [
        f"{path.name}:{node.lineno}"
        for path in HERE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Unfit" and len(node.args) != 2
    ]
    assert not bare
    unfit = Unfit("it is empty", "内容是空的")
    again = again_words(unfit.said("zh"), "zh")
    assert "内容是空的" in again
    assert not any(character.isascii() and character.isalpha() for character in again)
    assert unfit.said("en") == str(unfit) == "it is empty"
