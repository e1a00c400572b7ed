"""Other people's words in a prompt: between tags they cannot close or imitate, and without what no reader sees.

A tag's name ends in a hash of everything it holds; a text would have to contain a hash of itself to forge one.
"""

import re
from collections.abc import Sequence

from personafit._hashing import hash_text
from personafit.items.hostile import ADDRESSES, IMITATES, cleaned, signs

DIGITS = 8
_TAG = re.compile(r"<(?=[\s/]*[A-Za-z_]+-[0-9a-f]{4,})")
_STEERS = re.compile(
    r"\b(?:write|record|output|extract|add|note|save|state|include|say|store)\b[^.\n]{0,40}\bthat the user\b"
    r"|\bthe user (?:is|has|likes|loves|prefers|works|lives|wants)\b[^\n]{0,200}\bconfidence\b"
    r"|[\"']?(?:statement|attributes?)[\"']?\s*:\s*[\"'\[]"
    r"|\b(?:extractor|profiler|annotator)s?\b[^.\n]{0,60}\b(?:must|should|write|record|ignore)\b"
    r"|(?:写下|记录|输出|提取|添加|注明)[^。\n]{0,20}(?:用户|该用户)(?:是|有|喜欢|住|想)",
    re.IGNORECASE,
)


def nonce(texts: Sequence[str]) -> str:
    """The end of the tags' names for these texts."""
    return hash_text("material", *texts)[:DIGITS]


def tagged(name: str, mark: str, text: str, **attributes: object) -> str:
    """A text between tags of that name and mark."""
    described = "".join(f' {key}="{value}"' for key, value in attributes.items())
    return f"<{name}-{mark}{described}>\n{_TAG.sub('‹', cleaned(text))}\n</{name}-{mark}>"


def steers(text: str) -> bool:
    """Whether a text seems to tell the reader what to write, as far as rules can tell; people rarely speak so of themselves."""
    return bool(_STEERS.search(text)) or bool({ADDRESSES, IMITATES} & set(signs(text)))
