"""How a person is put into words for a reader: one rendering, used for models and people alike.

The rendering is part of the instrument: change it and `RENDERING` must change, since scores may move.
"""

from collections.abc import Iterable, Mapping

from personafit.people.person import FacetValue, Person

RENDERING = "outline-1"
"""Names the way people are put into words; it is part of every fingerprint that depends on it."""


def facet_values(facets: Mapping[str, FacetValue]) -> list[str]:
    """Every value as text, in order, lists opened up, no keys; what overlap is counted on."""
    values: list[str] = []
    for value in facets.values():
        values.extend(value if isinstance(value, list) else [str(value)])
    return values


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
