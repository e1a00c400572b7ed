"""Ways to disguise an instruction: invisible characters, look-alike letters, encodings, and a long way before it."""

import base64
import codecs

_LOOKALIKES = str.maketrans("aceiopxyACEHOPTX", "асеіорхуАСЕНОРТХ")  # Latin to Cyrillic
_RADICALS = str.maketrans(
    "一人大小子心手文日月木水火生用白目立老自至行見言走足身金長門雨高",
    "⼀⼈⼤⼩⼦⼼⼿⽂⽇⽉⽊⽔⽕⽣⽤⽩⽬⽴⽼⾃⾄⾏⾒⾔⾛⾜⾝⾦⾧⾨⾬⾼",
)
ZERO_WIDTH = "\u200b"


def zero_width(text: str) -> str:
    """A zero-width space after every character: filters that look for words find none."""
    return "".join(character + ZERO_WIDTH for character in text)


def backwards(text: str) -> str:
    """Written backwards behind an override of direction: it shows forwards on a screen."""
    return f"\u202e{text[::-1]}\u202c"


def in_tags(text: str) -> str:
    """In tag characters, which no font shows: ASCII only."""
    return "".join(chr(0xE0000 + ord(character)) for character in text if character.isascii())


def lookalike(text: str) -> str:
    """Latin letters as Cyrillic ones, Chinese characters as radicals of the same look."""
    return text.translate(_LOOKALIKES).translate(_RADICALS)


def wide(text: str) -> str:
    """Latin letters in full width."""
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)


def in_base64(text: str) -> str:
    """Base64 of the text."""
    return base64.b64encode(text.encode()).decode()


def in_rot13(text: str) -> str:
    """Latin letters moved by thirteen."""
    return codecs.encode(text, "rot13")


def in_hex(text: str) -> str:
    """The bytes of the text in hexadecimal."""
    return text.encode().hex()


def filler(language: str, length: int) -> str:
    """Neutral sentences of exactly so many characters: what stands where an attack would, and what pads one."""
    sentences = _FILLER["zh" if language.startswith("zh") else "en"]
    return (sentences * (length // len(sentences) + 1))[:length]


_FILLER = {
    "en": (
        "The museum opens at nine and closes at five. Rain is expected in the north by the evening. A bus leaves from the "
        "square every quarter of an hour. The river is lower than it was in spring. Paper is made from wood and water. "
        "The library lends maps as well as books. Most of the houses in the street have red roofs. "
    ),
    "zh": (
        "博物馆上午九点开门，下午五点关门。北部傍晚有雨。广场上每隔一刻钟有一班公共汽车。河水比春天低一些。纸是用木头和水做成的。"
        "图书馆除了书也借地图。这条街上的房子多半是红屋顶。"
    ),
}
