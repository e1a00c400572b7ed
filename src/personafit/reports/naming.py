"""Names as figures show them, and what runs are called beside each other."""

import re
from collections.abc import Mapping
from typing import Any

LONGEST_NAME = 36
STYLE = re.compile(r",style=\w+")
BREAKS = re.compile(r"[\s:,/=_-]+")
FOLDERS = re.compile(r"(?<![^:,=/\s])(?:[^:,=/\s]*/){2,}")  # of a path, not of an OWNER/NAME


def lined_name(text: str) -> str:
    """A name beside a line of a figure, on two lines where it is long; folders of a path are left out first."""
    plain = shown(text)
    if len(plain) > LONGEST_NAME:
        plain = FOLDERS.sub("…/", plain)
    if len(plain) <= LONGEST_NAME:
        return plain
    breaks = [place.end() for place in BREAKS.finditer(plain[:LONGEST_NAME])]
    first = breaks[-1] if breaks and breaks[-1] > LONGEST_NAME // 3 else LONGEST_NAME
    return f"{plain[:first].rstrip()}\n{short_name(plain[first:])}"


def shown(text: str) -> str:
    """A name with a sign in the place of line breaks, direction marks and the like."""
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


def short_name(text: str) -> str:
    """Names come from outside: no line breaks or direction marks in a figure, and the middle of long ones left out."""
    plain = shown(text)
    if len(plain) <= LONGEST_NAME:
        return plain
    half = LONGEST_NAME // 2
    return f"{plain[:half]}…{plain[-half:]}"


def user_style(user: Mapping[str, Any]) -> str:
    """How a simulated user speaks, from its entry in a run's record: `vanilla`, or `cot, told its history`."""
    return str(user.get("style", "")) + (", told its history" if user.get("history") == "yes" else "")


def same_but_style(one: Mapping[str, Any], two: Mapping[str, Any]) -> bool:
    """Whether two simulated users are one model, which differ at most in style and in being told their history."""
    models = [STYLE.sub("", str(user.get("name"))) for user in (one, two)]
    return models[0] == models[1] and user_style(one) != user_style(two)
