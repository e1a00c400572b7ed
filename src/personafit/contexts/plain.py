"""Contexts that data may name: made of the person's record alone, by no model, at no address and by no plug-in."""

import re

from personafit.contexts.memories import WAYS

_PART = r"(?:D|S|I(?:~[a-z]+:[0-9.]+)*)"
SUM = rf"{_PART}(?:\+{_PART})*"
"""What a sum of D, I and S looks like, as a regular expression."""

PLAIN = (
    "none, profile[:FIELDS], attributes:all, history[:budget=N], memory[:k=N,by=WAY,budget=N], sums of D, I and S, or wrong: "
    "before one of them"
)
"""The list in words."""

_OPTION = rf"(?:(?:k|budget)=[0-9]{{1,9}}|by=(?:{'|'.join(WAYS)}))"
_PLAIN = re.compile(
    r"(?:wrong:)?(?:none|profile(?::[^\x00-\x1f]*)?|history(?::budget=[0-9]{1,9})?"
    rf"|memory(?::{_OPTION}(?:,{_OPTION})*)?"
    # The last three are how runs on attributes call what they show; no other run makes them.
    rf"|{SUM}|attributes:all|attributes:human|attributes|attribute-alone)"
)


def is_plain(name: str) -> bool:
    """Whether data may name this context."""
    return _PLAIN.fullmatch(name) is not None


def is_dis(name: str) -> bool:
    """Whether a name is a sum of D, I and S."""
    return re.match(r"[DIS](?:$|[+~])", name) is not None
