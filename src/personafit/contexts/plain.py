"""Contexts that data may name: made of the person's record alone, by no model, at no address and by no plug-in."""

import re

from personafit.contexts.dis import SUM
from personafit.contexts.retrieval import WAYS

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
