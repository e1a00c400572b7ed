"""Which language somebody writes in: by script where that settles it, else by a small statistical model.

Chat turns are short and mixed, so the answer is about all of a person's words in a conversation together. A language that
holds a good part of them beside the first is named too.
"""

import re
from collections import Counter

from personafit._errors import UserError

UNKNOWN = "und"
LOOKED_AT = 4_000  # characters: more change nothing
LEAST_LETTERS = 12  # fewer letters of an alphabet are no evidence of a language
MIXED = 0.25  # share of the characters from which on a second script counts

_SCRIPTS = (
    ("ja", re.compile("[\u3040-\u30ff]")),
    ("zh", re.compile("[\u3400-\u9fff\U00020000-\U0002ffff]")),
    ("ko", re.compile("[\u1100-\u11ff\uac00-\ud7af]")),
    ("th", re.compile("[\u0e00-\u0e7f]")),
    ("he", re.compile("[\u0590-\u05ff]")),
    ("el", re.compile("[\u0370-\u03ff]")),
)
_LETTER = re.compile(r"[^\W\d_]")
_CODE = re.compile(r"```.*?(?:```|\Z)|https?://\S+", re.DOTALL)
WEIGHT = 3  # letters of an alphabet say about as much as one sign of a script that writes syllables or words


def languages(text: str) -> list[str]:
    """The languages of a text, the main one first; `und` where it cannot be told."""
    text = _CODE.sub(" ", text[: 2 * LOOKED_AT])[:LOOKED_AT]
    counts: Counter[str] = Counter()
    rest = text
    for language, pattern in _SCRIPTS:
        counts[language] = WEIGHT * len(pattern.findall(rest))
        rest = pattern.sub(" ", rest)
    if counts["ja"]:  # Japanese is written with Chinese characters too
        counts["ja"] += counts.pop("zh")
    letters = len(_LETTER.findall(rest))
    if letters >= LEAST_LETTERS:
        counts[_by_letters(rest)] += letters
    total = sum(counts.values())
    found = [name for name, count in counts.most_common() if count and count >= MIXED * total]
    return found or [UNKNOWN]


def _by_letters(text: str) -> str:
    try:
        import py3langid  # loads its model on the first call
    except ImportError as error:
        raise UserError(
            "Telling languages apart needs py3langid: pip install 'personafit[stages]' brings it."
        ) from error

    language, _ = py3langid.classify(text)
    return str(language)
