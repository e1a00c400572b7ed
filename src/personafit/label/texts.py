"""What the interface says, in each language that has a catalogue beside this file: texts by key, and each form's comprehension check."""

import tomllib
from pathlib import Path
from typing import Any

_CATALOGUES: dict[str, dict[str, Any]] = {
    language: tomllib.loads(Path(__file__).with_name(f"texts.{language}.toml").read_text(encoding="utf-8"))
    for language in ("en", "zh")
}
QUIZZES: dict[str, dict[str, list[dict[str, Any]]]] = {
    language: catalogue.pop("quiz") for language, catalogue in _CATALOGUES.items()
}
"""By language and form: question, options and the index of the right one."""
TEXTS: dict[str, dict[str, str]] = _CATALOGUES
ATTENTION: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("attention.toml").read_text(encoding="utf-8")
)
"""By form: the page whose texts say what to answer, with the key."""


def text(language: str, key: str, **parts: object) -> str:
    """A text by key; one that is no key stands for itself, so that forms may use plain words."""
    found = TEXTS[language].get(key, key)
    return found.format(**parts) if parts else found


def in_words(language: str, value: Any) -> Any:
    """Whatever holds keys of texts, with the texts in their place."""
    if isinstance(value, dict):
        return {name: in_words(language, one) for name, one in value.items()}
    if isinstance(value, list):
        return [in_words(language, one) for one in value]
    return text(language, value) if isinstance(value, str) else value
