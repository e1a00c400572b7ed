"""What should not be published by accident: strings that look like e-mail addresses, telephone numbers or keys.

A simple search, made to err on the side of asking. It knows no names, addresses or identity numbers.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from personafit._errors import located
from personafit._secrets import masked
from personafit.benchmarks.hub.layouts import FOLDER_FILES
from personafit.benchmarks.lines import read_lines

# Telephone numbers are looked for where people speak or are described: answers rightly name help lines.
ABOUT_PEOPLE = ("people.jsonl", "conversations.jsonl", "tasks.jsonl")

_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,}")
_PHONE = re.compile(
    r"""(?<![\w.,/-])(?:
        \+\d[\d\s().-]{6,16}\d                   # +44 20 7946 0958
      | \(?\d{3}\)?[\s.-]\d{3}[\s.-]\d{4}        # (212) 555-0142
      | 1[3-9]\d[\s-]?\d{4}[\s-]?\d{4}           # 138 1234 5678
      | 0\d{1,4}[\s/-]\d{3,4}[\s-]?\d{3,5}       # 020 7946 0958
    )(?![\w/-])""",
    re.VERBOSE,
)


def find_private(folder: Path) -> list[str]:
    """Places that look private, a sentence part each; what stands there is not repeated."""
    found = []
    for name in FOLDER_FILES:
        path = folder / name
        if path.suffix == ".jsonl" and path.is_file():
            for number, row in read_lines(path):
                for field, text in _texts(row):
                    if kind := _kind(text, phones=name in ABOUT_PEOPLE):
                        found.append(f"{located(path, number, field)}: {kind}")
    return found


def _kind(text: str, phones: bool) -> str | None:
    if _MAIL.search(text):
        return "an e-mail address"
    if masked(text) != text:
        return "a key or password"
    if phones and _PHONE.search(text):
        return "a telephone number"
    return None


def _texts(value: Any, field: str = "") -> Iterator[tuple[str, str]]:
    """Every text of a record with its field."""
    if isinstance(value, str):
        yield field, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _texts(inner, f"{field}.{key}" if field else str(key))
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner, field)
