"""No pattern of ours takes much longer than a text of four times the length should."""

import importlib
import inspect
import pkgutil
import re
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from re import _constants as constants
from re import _parser as parser
from typing import Any

import pytest

import personafit

SIZES = (500, 2_000, 8_000)  # characters
QUICK = 0.001  # seconds: less says nothing about growth; what is quadratic needs more for 2,000 characters
LONG = 1.0  # seconds: too long whatever it grows like
SLOWER = 9.0  # times for four times the length: 4 is linear, 16 quadratic
PARTS = 2  # of the patterns, tried side by side
ALWAYS = " \n\t.a1-*#`|<>\"'_你"


Find = Callable[[str], Any]
"""Looks for a pattern in a text as our code does."""


def compiled() -> Iterator[tuple[str, tuple["re.Pattern[Any]", Find]]]:
    """Every pattern that is compiled when a module of ours is imported, by where it is, and how it is used."""
    seen: set[int] = set()
    for module in pkgutil.walk_packages(personafit.__path__, "personafit."):
        if "migrations" in module.name or module.name.endswith("__main__"):
            continue
        try:
            loaded = importlib.import_module(module.name)
        except ImportError:  # an extra that is not installed here
            continue
        for name, value in vars(loaded).items():
            for pattern in found_in(value):
                if id(pattern) not in seen and not name.startswith("__"):
                    seen.add(id(pattern))
                    used = set(re.findall(rf"\b{name}\.(\w+)\(", inspect.getsource(loaded)))
                    whole = next(iter(used), "") if used in ({"fullmatch"}, {"match"}) else ""
                    yield f"{module.name}.{name}", (pattern, getattr(pattern, whole or "findall"))


def found_in(value: Any, depth: int = 3) -> Iterator["re.Pattern[Any]"]:
    """The patterns in a value, also in containers, dataclasses and classes of ours."""
    if isinstance(value, re.Pattern):
        yield value
    elif depth:
        inner: Iterable[Any] = ()
        if isinstance(value, dict):
            inner = value.values()
        elif isinstance(value, list | tuple | set | frozenset):
            inner = value
        elif getattr(type(value), "__module__", "").startswith("personafit") or isinstance(value, type):
            inner = vars(value).values() if hasattr(value, "__dict__") else ()
        for one in inner:
            yield from found_in(one, depth - 1)


def letters_of(pattern: "re.Pattern[Any]") -> list[str]:
    """One character for every kind of character that a pattern speaks of."""
    found: dict[str, None] = dict.fromkeys(ALWAYS)

    def walk(node: Any) -> None:
        if isinstance(node, parser.SubPattern | list | tuple):
            operation = node[0] if isinstance(node, tuple) and node else None
            if operation is constants.LITERAL or operation is constants.NOT_LITERAL:
                found[chr(node[1])] = None
            elif operation is constants.RANGE:
                found[chr(node[1][0])] = None
            else:
                for one in node:
                    walk(one)

    walk(parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG))
    return list(found)


def beginning(pattern: "re.Pattern[Any]") -> str:
    """The characters that every match begins with."""
    found = ""
    for operation, value in parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG):
        if operation is not constants.LITERAL:
            break
        found += chr(value)
    return found


def texts(pattern: "re.Pattern[Any]") -> Iterator[tuple[str, str, str]]:
    """What is repeated, and what stands before and after it: runs of one character or of two."""
    letters, start = letters_of(pattern), beginning(pattern)
    words = re.findall(r"[^\W\d_]{3,}", pattern.pattern)[:3] if isinstance(pattern.pattern, str) else []
    for one in letters:
        yield one, start, "\0"
        yield one, "x", "x"
    for one in letters[:24]:
        for other in (" ", "\n", *letters[len(ALWAYS) :][:6]):
            if one != other:
                yield one + other, "", "\0"
    for word in words:
        yield f"{word} ", "", "\0"


def seconds(find: Find, text: str) -> float:
    """Processor time that it takes to find a pattern in a text, at best of two."""

    def once() -> float:
        started = time.process_time()
        find(text)
        return time.process_time() - started

    first = once()
    return first if first < QUICK else min(first, once())


def is_slow(find: Find, unit: str, before: str, after: str) -> bool:
    """Whether the time grows faster than the text does."""
    times: list[float] = []
    for size in SIZES:
        times.append(seconds(find, before + unit * (size // len(unit)) + after))
        if times[-1] > LONG:
            return True
        if size == SIZES[1] and times[-1] < QUICK / 2:
            return False
    return any(b > SLOWER * a and b > QUICK for a, b in pairwise(times))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_no_pattern_takes_much_more_than_four_times_as_long_for_four_times_the_text(part: int) -> None:
    patterns = [(where, *one) for where, one in compiled() if isinstance(one[0].pattern, str)]
    assert len(patterns) > 50
    found = [
        (where, pattern.pattern, text)
        for where, pattern, find in patterns[part::PARTS]
        for text in texts(pattern)
        if is_slow(find, *text) and is_slow(find, *text) and is_slow(find, *text)  # or the machine was busy
    ]
    assert not found
