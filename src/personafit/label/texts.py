"""Texts of the interface and comprehension checks, from the catalogue of each language beside this file."""

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
"""By language and form: questions with options and the index of the right one."""
TEXTS: dict[str, dict[str, str]] = _CATALOGUES
ATTENTION: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("attention.toml").read_text(encoding="utf-8")
)
"""By form: the attention page, whose texts say what to answer, with its key."""


def text(language: str, key: str, **parts: object) -> str:
    """Return a text by key; an unknown key is returned unchanged, so that forms may use plain text."""
    found = TEXTS[language].get(key, key)
    return found.format(**parts) if parts else found


def in_words(language: str, value: Any) -> Any:
    """Return a nested value with all text keys replaced by their texts."""
    if isinstance(value, dict):
        return {name: in_words(language, one) for name, one in value.items()}
    if isinstance(value, list):
        return [in_words(language, one) for one in value]
    return text(language, value) if isinstance(value, str) else value
