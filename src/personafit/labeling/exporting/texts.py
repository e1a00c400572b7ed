"""A page as one plain text, for tools that show a text and ask about it."""

from collections.abc import Mapping
from typing import Any


def page_text(shown: Mapping[str, Any]) -> str:
    """Everything on the page, in the order stored."""
    return "\n\n".join(f"{name.upper()}\n{_plain(value)}" for name, value in shown.items())


def _plain(value: Any, depth: int = 0) -> str:
    indent = "  " * depth
    if isinstance(value, dict) and set(value) in ({"role", "text"}, {"letter", "text"}):
        who, said = value.values()
        return f"{indent}{who}: {said}"
    if isinstance(value, dict):
        return "\n".join(f"{indent}{key}: {_plain(one, depth + 1).lstrip()}" for key, one in value.items())
    if isinstance(value, list):
        return "\n".join(
            f"{indent}[{number}] {_plain(one, depth + 1).lstrip()}" for number, one in enumerate(value, 1)
        )
    return f"{indent}{'' if value is None else value}"
