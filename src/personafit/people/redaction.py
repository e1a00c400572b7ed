"""Redaction of e-mail addresses, phone numbers, card numbers and keys in people's texts.

Every match is replaced by the name of its kind. The rules favour precision over recall: a number that merely might be a phone
number stays, because people talk about dates, prices and part numbers. Personal names and postal addresses are not searched for,
so a redacted text is not anonymous.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class RedactedText:
    """A text with personal data replaced, and the number of matches of each kind."""

    text: str
    counts: Counter[str]


def redact(text: str) -> RedactedText:
    """Replace every match in a text by its kind in brackets, and count the matches."""
    counts: Counter[str] = Counter()
    for kind, pattern, is_one in _RULES:
        text = _replace(text, kind, pattern, is_one, counts)
    return RedactedText(text, counts)


def redacted(text: str) -> str:
    """Return the redacted text without the counts."""
    return redact(text).text


def luhn(digits: str) -> bool:
    """Return whether the Luhn checksum holds."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if place % 2 else 1)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def _replace(
    text: str,
    kind: str,
    pattern: re.Pattern[str],
    is_one: Callable[[str], bool] | None,
    counts: Counter[str],
) -> str:
    def put(found: re.Match[str]) -> str:
        secret = found.group("secret") if "secret" in pattern.groupindex else found[0]
        if is_one is not None and not is_one(secret):
            return found[0]
        counts[kind] += 1
        return found[0].replace(secret, f"[{kind}]")

    return pattern.sub(put, text)


def _digits(text: str) -> str:
    return "".join(character for character in text if character in "0123456789")


_BRANDS = (  # prefixes and lengths of card numbers in use
    (re.compile(r"4"), (13, 16, 19)),
    (re.compile(r"5[1-5]|2(?:22[1-9]|2[3-9]|[3-6]|7[01]|720)"), (16,)),
    (re.compile(r"3[47]"), (15,)),
    (re.compile(r"6(?:011|4[4-9]|5)"), (16, 19)),
    (re.compile(r"62"), (16, 17, 18, 19)),
    (re.compile(r"35(?:2[89]|[3-8])"), (16,)),
    (re.compile(r"3(?:0[0-5]|[68])"), (14,)),
)


def _is_card(text: str) -> bool:
    digits = _digits(text)
    if len(set(digits)) == 1 or not luhn(digits):
        return False
    return any(first.match(digits) and len(digits) in lengths for first, lengths in _BRANDS)


def _is_phone(text: str) -> bool:
    """Return whether a number formatted like a phone number has 8 to 15 digits."""
    return 8 <= len(_digits(text)) <= 15


def _is_secret(text: str) -> bool:
    """Return whether a value labelled as a secret looks like one: long, and neither a word nor a placeholder."""
    text = text.rstrip(".!?:)")
    mixed = any(c.isdigit() for c in text) and any(c.isalpha() for c in text)
    return len(text) >= 8 and (mixed or bool(re.search(r"[!@#$%^&*=+~]", text))) and text[0] not in "<[{*$"


_CHECKS = {"card": _is_card, "phone": _is_phone, "secret": _is_secret}
_RULES = [
    (
        rule["kind"],
        re.compile("|".join(rule["expression"].strip("\n").split("\n"))),
        _CHECKS.get(rule.get("check")),
    )
    for rule in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["rules"]
]
