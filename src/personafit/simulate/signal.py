"""How a user agent says that it goes on, is satisfied or gives up: one marker at the very end of its reply.

A marker anywhere else is just text, and what the assistant says can never end a dialogue. A reply is taken apart here and
nowhere else, so that a stored reply reads today as it did when it came in.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

import orjson

SIGNAL_VERSION = "1"
"""Of how a reply is taken apart; a change raises it."""
LONGEST = 20_000  # characters in a turn: more is no message anybody would read


class Signal(StrEnum):
    """What the user agent means to do next."""

    CONTINUE = "[CONTINUE]"
    SATISFIED = "[SATISFIED]"
    GIVE_UP = "[GIVE UP]"


_MARKERS = "|".join(re.escape(signal) for signal in Signal)
_BEFORE = "*_`\"'"  # marks of emphasis and quotation that may stand around the marker
_LAST = re.compile(rf"({_MARKERS})[*_`\"'.]*\Z")
_ANY = re.compile(_MARKERS)
_FENCE = re.compile(r"\A```(?:json)?\s*|\s*```\Z")
_THOUGHT = re.compile(r"\A\s*<thinking>(.*?)</thinking>", re.DOTALL)
_TOOL_KEYS = {"tool_calls", "tool_call", "function_call", "function", "tool", "arguments", "parameters"}
_TOOL_TAG = re.compile(r"\A<(tool_call|function_call|\|python_tag\|)>?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class UserMessage:
    """A reply taken apart."""

    text: str
    signal: Signal | None = None
    thought: str | None = None


def read_user(reply: str) -> UserMessage:
    """What a user agent thought, said and signalled."""
    thought = None
    if match := _THOUGHT.match(reply):
        thought, reply = match[1].strip(), reply[match.end() :]
    text, signal = reply.strip(), None
    if match := _LAST.match(text, max(0, text.rfind("["))):
        before = text[: match.start()].rstrip(_BEFORE)
        if not before or before[-1].isspace():
            signal, text = Signal(match[1]), before.rstrip()
    return UserMessage(text, signal, thought)


def fault_of_user(said: UserMessage, opening: bool) -> str | None:
    """Why the user's words cannot be used, as a clause; None if they can. Only who goes on has to say something."""
    if not said.text and (opening or said.signal in (None, Signal.CONTINUE)):
        return "the user agent said nothing"
    if said.text.startswith("<thinking>"):
        return "the user agent did not come to the end of its thoughts"
    return _too_long(said.text, "the user agent")


def fault_of_assistant(text: str) -> str | None:
    """Why the assistant's words cannot be used, as a clause; None if they can."""
    if not text:
        return "the assistant said nothing"
    if "[" in text and not _ANY.sub("", text).strip():
        return "the assistant said nothing but the user's end signal"
    if _is_tool_call(text):
        return "the assistant sent a tool call instead of words, and there are no tools here"
    return _too_long(text, "the assistant")


def harmless(text: str) -> str:
    """An assistant's words as the user agent sees them: a marker in them is no marker any more."""
    if "[" not in text:
        return text
    return _ANY.sub(lambda match: match[0].replace("[", "(").replace("]", ")"), text)


def _too_long(text: str, who: str) -> str | None:
    return f"{who} said {len(text):,} characters, more than {LONGEST:,}" if len(text) > LONGEST else None


def _is_tool_call(text: str) -> bool:
    if text[0] not in "<`{[":
        return False
    if _TOOL_TAG.match(text):
        return True
    bare = _FENCE.sub("", text)
    if bare[:1] not in "{[" or len(bare) > LONGEST:
        return False
    try:
        value = orjson.loads(bare)
    except orjson.JSONDecodeError:
        return False
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, dict) and bool(_TOOL_KEYS & first.keys())
