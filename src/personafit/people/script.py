"""The script a text is written in."""

import unicodedata
from collections import Counter

LOOKED_AT = 400  # letters: more change nothing
_JAPANESE = ("HIRAGANA", "KATAKANA")


def main_script(text: str) -> str:
    """The script that most letters of a text belong to, such as LATIN, CYRILLIC or CJK; "" without letters.

    Kana beside Chinese characters are Japanese.
    """
    letters = [char for char in text[: 4 * LOOKED_AT] if char.isalpha()][:LOOKED_AT]
    names = Counter(unicodedata.name(char, "").partition(" ")[0] for char in letters)
    if any(name in names for name in _JAPANESE):
        names["JAPANESE"] = sum(names.pop(name, 0) for name in (*_JAPANESE, "CJK"))
    return min(names, key=lambda name: (-names[name], name), default="")
