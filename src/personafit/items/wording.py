"""The words that raters are asked in, kept as data beside the code."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def _file() -> dict[str, Any]:
    return tomllib.loads((files(__package__) / "wordings.toml").read_text(encoding="utf-8"))


def words_of(section: str) -> dict[str, str]:
    """The texts of one question by their names; `section` is its table in wordings.toml, such as `relevance.pair`."""
    found = _file()
    for name in section.split("."):
        found = found[name]
    return found
