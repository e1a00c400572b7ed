"""Specs: how a model or rater is named on the command line, such as `openai:gpt-4.1@http://host/v1,effort=low`.

The grammar is `KIND[:NAME][@URL][,OPTION=VALUE]...`; each kind defines its own options.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from personafit._errors import UserError
from personafit._secrets import refuse_secrets


@dataclass(frozen=True)
class GivenCallable:
    """A callable passed in this process, under the name specs use for it."""

    function: Any
    identity: str  # hash, version or random name in fingerprints
    anew: bool = False  # whether its behaviour cannot be identified, so that it is asked anew each time


NONE: Mapping[str, GivenCallable] = MappingProxyType({})
GIVEN: ContextVar[Mapping[str, GivenCallable]] = ContextVar("GIVEN", default=NONE)
"""Callables that `python:NAME` may name, besides those in modules."""
IMPORTING: ContextVar[str] = ContextVar("IMPORTING", default="")
"""The module that is being imported for a spec; empty otherwise."""


@contextmanager
def giving(callables: Mapping[str, GivenCallable]) -> Iterator[None]:
    """Let `python:NAME` refer to these callables within the block."""
    token = GIVEN.set(callables)
    try:
        yield
    finally:
        GIVEN.reset(token)


_OPTION = re.compile(r",([a-z_]+)=([^,]*)$")


@dataclass(frozen=True, slots=True)
class Spec:
    """A parsed spec."""

    text: str
    kind: str
    name: str = ""
    url: str | None = None
    options: dict[str, str] = field(default_factory=dict)

    def allow(self, options: Iterable[str]) -> None:
        """Raise a UserError for an option that this kind does not have."""
        known = sorted(options)
        for option in self.options:
            if option not in known:
                listed = ", ".join(known) if known else "none"
                raise UserError(f"{self.text}: unknown option '{option}'; {self.kind} knows {listed}.")

    def number(self, option: str, default: float, least: float = 0.0) -> float:
        """Return an option as a finite number of at least `least`."""
        given = self.options.get(option)
        if given is None:
            return default
        try:
            value = float(given)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and value >= least):
            raise UserError(f"{self.text}: {option} must be a number of at least {least:g}, not '{given}'.")
        return value

    def price(self) -> tuple[float, float] | None:
        """Return the option `price=IN/OUT` in USD per million tokens; None if it is not given."""
        if "price" not in self.options:
            return None
        try:
            low, _, high = self.options["price"].partition("/")
            price = float(low), float(high or low)
            if all(math.isfinite(part) and part >= 0 for part in price):
                return price
        except ValueError:
            pass
        raise UserError(f"{self.text}: price is IN/OUT in USD per million tokens, such as price=0.4/1.6.")


def parse_spec(text: str) -> Spec:
    """Parse a spec; whether its kind exists is checked by the registry that looks it up."""
    refuse_secrets(text)
    try:
        text.encode()
    except UnicodeEncodeError:  # command line bytes that are not UTF-8
        raise UserError(f"{text!r} is not a spec: it is not UTF-8.") from None
    text = text.strip().removesuffix(":")
    rest, options = text, {}
    while match := _OPTION.search(rest):
        options[match[1]] = match[2]
        rest = rest[: match.start()]
    kind, _, name = rest.partition(":")
    url = None
    if "@" in name and kind in ("openai", "reward"):
        name, _, url = name.partition("@")
        url = url.rstrip("/")
    if not kind:
        raise UserError(f"'{text}' is not a spec; write KIND:NAME, such as rule:length or openai:MODEL@URL.")
    if kind == "python" and name in GIVEN.get():
        text = name  # a callable passed in this process is named without the prefix
    return Spec(text=text, kind=kind, name=name, url=url, options=options)
