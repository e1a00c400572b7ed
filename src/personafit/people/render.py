"""Rendering of a person as text, the same for models and human raters.

The rendering is part of the instrument: any change to it must also change `RENDERING`, since scores may move.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping

from personafit.people.person import FacetValue, Person

RENDERING = "outline-1"
"""Version of the rendering, part of every fingerprint that depends on it."""


NAME_KEYS = frozenset(
    "name fullname firstname givenname nickname preferredname displayname username 姓名 名字 昵称".split()
)
NAME_HOLDERS = re.compile(
    r"(?i)(?:demograph|basic|personal|profile|identity|user|person|about)[^.]*$|基本信息$|个人信息$"
)
COMMON_WORDS = frozenset(
    "mr mrs ms dr prof may will mark bill rose grace hope art faith joy summer june april august rich frank pat drew chase hunter "
    "young long park king song sky star angel max miles page price rob sue van von de la the".split()
)


def facet_values(facets: Mapping[str, FacetValue]) -> list[str]:
    """Return every value as text, in order, with lists flattened and keys omitted; overlap is counted on these."""
    values: list[str] = []
    for value in facets.values():
        values.extend(value if isinstance(value, list) else [str(value)])
    return values


def names_of(facets: Mapping[str, FacetValue]) -> list[str]:
    """Return the person's names: full names first, then their parts; keys are matched case-insensitively.

    Names of somebody or something else, such as `Pets.Name`, are excluded. Parts that are also common words are
    dropped, since they would match everywhere.
    """
    whole = []
    for path, value in facets.items():
        above, _, key = path.rpartition(".")
        named = re.sub(r"[\W_]", "", key).lower() in NAME_KEYS
        if named and isinstance(value, str) and (not above or NAME_HOLDERS.match(above)):
            whole.append(value.strip())
    parts = [part for name in whole for part in re.split(r"[\s·]+", name) if part.lower() not in COMMON_WORDS]
    given = [name[1:] for name in whole if re.fullmatch(r"[\u4e00-\u9fff]{3}", name)]
    return [name for name in dict.fromkeys([*whole, *parts, *given]) if len(name) > 1]


def select_facets(facets: Mapping[str, FacetValue], fields: Iterable[str]) -> dict[str, FacetValue]:
    """Return the facets at or below any of the given paths, in the person's order."""
    wanted = tuple(fields)
    return {
        path: value
        for path, value in facets.items()
        if any(path == field or path.startswith(f"{field}.") for field in wanted)
    }


def render_person(person: Person, facets: Mapping[str, FacetValue] | None = None) -> str:
    """Render the person's facets, or `facets` if given, as an outline."""
    return render_facets(person.facets if facets is None else facets)


def render_facets(facets: Mapping[str, FacetValue]) -> str:
    """Render facets as an indented outline; underscores in keys become spaces."""
    lines: list[str] = []
    open_path: list[str] = []
    for path, value in facets.items():
        *parents, leaf = path.split(".")
        shared = 0
        while shared < min(len(parents), len(open_path)) and parents[shared] == open_path[shared]:
            shared += 1
        for depth in range(shared, len(parents)):
            lines.append(f"{'  ' * depth}{_words(parents[depth])}:")
        open_path = parents
        text = "; ".join(value) if isinstance(value, list) else str(value)
        lines.append(f"{'  ' * len(parents)}{_words(leaf)}: {text}")
    return "\n".join(lines)


def _words(key: str) -> str:
    return key.replace("_", " ")


LOOKED_AT = 400  # letters; more do not change the result
_JAPANESE = ("HIRAGANA", "KATAKANA")


def main_script(text: str) -> str:
    """Return the script of most letters of a text, such as LATIN, CYRILLIC or CJK; "" without letters.

    Chinese characters in a text that also has kana count as JAPANESE.
    """
    letters = [char for char in text[: 4 * LOOKED_AT] if char.isalpha()][:LOOKED_AT]
    names = Counter(unicodedata.name(char, "").partition(" ")[0] for char in letters)
    if any(name in names for name in _JAPANESE):
        names["JAPANESE"] = sum(names.pop(name, 0) for name in (*_JAPANESE, "CJK"))
    return min(names, key=lambda name: (-names[name], name), default="")
