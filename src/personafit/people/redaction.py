"""Taking e-mail addresses, phone numbers, card numbers and keys out of people's texts.

What is found is replaced by a word that says what stood there. The rules prefer to be right: a number that only might be
somebody's phone stays, because dates, prices and part numbers are what people talk about. Names and addresses of places
are not looked for; a text that went through here is not anonymous.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

EMAIL, PHONE, CARD, KEY = "e-mail", "phone", "card", "key"
KINDS = (EMAIL, PHONE, CARD, KEY)


@dataclass(frozen=True, slots=True)
class RedactedText:
    """A text with personal data replaced, and how many of each kind were found."""

    text: str
    counts: Counter[str]


def redact(text: str) -> RedactedText:
    """The text with every finding replaced by its kind in brackets."""
    counts: Counter[str] = Counter()
    for kind, pattern, is_one in _RULES:
        text = _replace(text, kind, pattern, is_one, counts)
    return RedactedText(text, counts)


def redacted(text: str) -> str:
    """The text alone."""
    return redact(text).text


def luhn(digits: str) -> bool:
    """Whether the last digit checks the others, as on payment cards."""
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


_BRANDS = (  # first digits and lengths of cards in use
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
    """Whether a number that is written like a phone number is as long as one."""
    return 8 <= len(_digits(text)) <= 15


def _is_secret(text: str) -> bool:
    """Whether a value named as a secret looks like one: long, and not a word or a placeholder."""
    text = text.rstrip(".!?:)")
    mixed = any(c.isdigit() for c in text) and any(c.isalpha() for c in text)
    return len(text) >= 8 and (mixed or bool(re.search(r"[!@#$%^&*=+~]", text))) and text[0] not in "<[{*$"


def _rules() -> Iterator[tuple[str, re.Pattern[str], Callable[[str], bool] | None]]:
    yield (
        KEY,
        re.compile(
            r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL
        ),
        None,
    )
    yield (
        KEY,
        re.compile(
            r"(?<![A-Za-z0-9_-])(?:"
            r"sk-[A-Za-z0-9_-]{16,}|(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{16,}|gsk_[A-Za-z0-9]{16,}|xai-[A-Za-z0-9]{16,}"
            r"|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}"
            r"|hf_[A-Za-z0-9]{16,}|npm_[A-Za-z0-9]{20,}|pypi-[A-Za-z0-9_-]{20,}|xox[abeprs]-[A-Za-z0-9-]{10,}"
            r"|(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{20,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"
            r"|eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"
            r")(?![A-Za-z0-9_-])"
        ),
        None,
    )
    yield (
        KEY,
        re.compile(
            r"(?i)(?:(?<![a-z0-9_-])(?:[a-z0-9]{1,40}[_-]){0,6}(?:api[ _-]?key|access[ _-]?token|secret(?:[ _-]?key)?|password|passwd|pwd|token)"
            r"|密码|口令|密钥)[\"']?\s*(?:is\s*[:=]?|=|:|：|是|为)\s*[\"'`]?(?P<secret>[^\s\"'`,;，。；]{8,200})"
        ),
        _is_secret,
    )
    yield KEY, re.compile(r"://[^\s/:@]{1,100}:(?P<secret>[^\s/@\[]{1,200})@"), None
    yield (
        EMAIL,
        re.compile(
            r"(?<![A-Za-z0-9._%+@-])[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}@(?:[A-Za-z0-9-]{1,63}\.){1,5}[A-Za-z]{2,24}"
            r"(?![A-Za-z0-9-]|\.[A-Za-z0-9])"
        ),
        None,
    )
    yield (
        CARD,
        re.compile(
            r"(?<![A-Za-z0-9_.,/-])(?:\d{4}([ -])\d{4}\1\d{4}\1\d{1,7}|\d{4}([ -])\d{6}\2\d{4,5})(?![A-Za-z0-9_/-])"
        ),
        _is_card,
    )
    yield CARD, re.compile(r"(?<![A-Za-z0-9_.,/-])\d{13,19}(?![A-Za-z0-9_/-])"), _is_card
    yield (
        PHONE,
        re.compile(r"(?<![\w+.])\+\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d{1,5}(?:[ .-]?\d{2,5}){1,4}(?!\d)"),
        _is_phone,
    )
    yield (
        PHONE,
        re.compile(r"(?<![\w.+-])(?:1[ .-])?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}(?![\w-])"),
        None,
    )
    yield PHONE, re.compile(r"(?<![\dA-Za-z.+_-])1[3-9]\d(?:[ -]?\d{4}){2}(?![\dA-Za-z_-])"), None
    yield (
        PHONE,
        re.compile(
            r"(?<![\dA-Za-z.+_-])0(?:7\d{3} ?\d{3} ?\d{3}|20 ?\d{4} ?\d{4}|1\d{2,3} \d{3} ?\d{3,4})(?![\dA-Za-z_-])"
        ),
        None,
    )
    yield PHONE, re.compile(r"(?<![\dA-Za-z.+_-])0\d{2,3}-\d{7,8}(?![\dA-Za-z_-])"), None
    yield (
        PHONE,
        re.compile(
            r"(?i)(?:\b(?:phone|mobile|cell|tel|telephone|whatsapp)\b(?: ?(?:number|no\.?))?|电话|手机|手机号|微信)"
            r"(?:\s*(?:is|is:|=|:|：|是|为))\s*(?P<secret>\(?\d[\d ().-]{5,18}\d)(?!\d)"
        ),
        _is_phone,
    )


_RULES = tuple(_rules())
