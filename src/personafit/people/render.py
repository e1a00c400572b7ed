"""How a person is put into words for a reader: one rendering, used for models and people alike.

The rendering is part of the instrument: change it and `RENDERING` must change, since scores may move.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping

from personafit.people.person import FacetValue, Person

RENDERING = "outline-1"
"""Names the way people are put into words; it is part of every fingerprint that depends on it."""


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
    """Every value as text, in order, lists opened up, no keys; what overlap is counted on."""
    values: list[str] = []
    for value in facets.values():
        values.extend(value if isinstance(value, list) else [str(value)])
    return values


def names_of(facets: Mapping[str, FacetValue]) -> list[str]:
    """What the person is called: whole names first, then given and family names; whatever the case of the key.

    A name of somebody or something else, such as `Pets.Name`, is none of the person's. Parts that are common words as well are
    left out, since they would be found everywhere.
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
    """The facets at or below any of the given paths, in the person's own order."""
    wanted = tuple(fields)
    return {
        path: value
        for path, value in facets.items()
        if any(path == field or path.startswith(f"{field}.") for field in wanted)
    }


def render_person(person: Person, facets: Mapping[str, FacetValue] | None = None) -> str:
    """The person's facets, or those given, as an outline."""
    return render_facets(person.facets if facets is None else facets)


def render_facets(facets: Mapping[str, FacetValue]) -> str:
    """Facets as an indented outline; underscores in keys become spaces."""
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
