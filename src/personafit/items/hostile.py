"""Hostile text that tries to steer a judge: removing invisible characters, and signs by which attempts can be detected.

`cleaned` removes invisible characters and marks their removal: a model reads hidden characters, a person does not. `signs` is a set of
simple rules. They find clumsy attempts and are easily evaded, so they warn and never change a score.
"""

import base64
import binascii
import codecs
import re

from personafit.items.reading import expression, words_of

# Always hidden: control characters, zero-width marks, fillers, overrides of direction, tag characters, long runs of variation
# selectors. Joiners count only beside scripts that never join; emoji, Arabic or Hindi need them.
HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u115f\u1160\u180e\u200b\u2060-\u2064\u206a-\u206f\u3164\ufeff\uffa0]"
    "|[\u202a-\u202e\u2066-\u2069]"
    "|(?<![\U0001f3f4\U000e0020-\U000e007f])[\U000e0000-\U000e007f]+"
    "|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2,}"
    "|(?<=[\u0000-\u05bf\u3000-\u9fff])[\u200c\u200d]|[\u200c\u200d](?=[\u0000-\u05bf\u3000-\u9fff])"
)
MARK = "[{count} invisible characters left out]"

HIDES = "hidden characters"
MIXES = "mixed scripts"
IMITATES = "imitates the prompt"
ADDRESSES = "addresses the judge"
ENCODES = "encoded text"
ACTS = "active markup"
SIGNS = (HIDES, MIXES, IMITATES, ADDRESSES, ENCODES, ACTS)

_MIXED = re.compile(r"[A-Za-z][Ͱ-ϿЀ-ӿ]|[Ͱ-ϿЀ-ӿ][A-Za-z]|[⺀-⿟]|[Ａ-Ｚａ-ｚ]{4}")
_SIGNS = words_of("hostile")
_IMITATION = expression(_SIGNS["imitation"], re.IGNORECASE | re.MULTILINE)
_ADDRESS, _ACTIVE = expression(_SIGNS["address"]), expression(_SIGNS["active"])
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{16,}={0,2}(?![A-Za-z0-9+/=])")
_HEX = re.compile(r"(?<![0-9A-Fa-f])(?:[0-9A-Fa-f]{2}[\s:]?){16,}(?![0-9A-Fa-f])")


def hidden_count(text: str) -> int:
    """Return the number of invisible characters in a text."""
    return sum(len(found[0]) for found in HIDDEN.finditer(text))


def cleaned(text: str) -> str:
    """Return the text without invisible characters, with a visible note at its end if there were any."""
    count = hidden_count(text)
    return f"{HIDDEN.sub('', text)} {MARK.format(count=count)}" if count else text


def signs(text: str) -> tuple[str, ...]:
    """Return the signs of an attempt to steer the judge of a text, as far as rules can tell."""
    visible = HIDDEN.sub("", text)
    found = {
        HIDES: len(visible) < len(text),
        MIXES: _MIXED.search(visible),
        IMITATES: _IMITATION.search(visible),
        ADDRESSES: _ADDRESS.search(visible),
        ENCODES: _hides_words(visible),
        ACTS: _ACTIVE.search(visible),
    }
    return tuple(sign for sign, there in found.items() if there)


def _hides_words(text: str) -> bool:
    """Return whether the text contains encoded words: base64 or hex of a sentence, or a sentence in rot13."""
    for pattern, decode in ((_BASE64, base64.b64decode), (_HEX, bytes.fromhex)):
        for found in pattern.finditer(text):
            try:
                words = decode(found[0].replace(":", "")).decode("utf-8")
            except (binascii.Error, UnicodeDecodeError, ValueError):
                continue
            if " " in words or any(character > "\u2fff" for character in words):
                return True
    turned = codecs.encode(text, "rot13")
    return bool(_ADDRESS.search(turned)) and not _ADDRESS.search(text)
