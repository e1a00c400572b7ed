"""What cannot be true of one and the same person, found without asking anyone: rules before money."""

from collections.abc import Iterator

from personafit.factory.people.drawing import ProfileDraft
from personafit.factory.people.elements import Element

ADULT = 18
YOUNGEST_GRADUATE = {"school": 15, "training": 18, "degree": 21, "postgraduate": 24}
YOUNGEST_PARENT_OF = {"small-children": 20, "children": 24, "grown-children": 42, "grandchildren": 46}
OLDEST_PARENT_OF = {"small-children": 50, "children": 62}


def contradictions(drawn: ProfileDraft) -> Iterator[str]:
    """Why a combination cannot be one person; nothing where it can."""
    for element in drawn.all:
        low, high = element.ages
        if not low <= drawn.age <= high:
            yield f"age {drawn.age} does not go with '{element.text}'"
    level = drawn.education.get("level")
    if drawn.age < YOUNGEST_GRADUATE.get(level, 0):
        yield f"age {drawn.age} does not go with '{drawn.education.text}'"
    if level not in drawn.job.get("education").split():
        yield f"'{drawn.education.text}' does not go with '{drawn.job.text}'"
    for tag, age in YOUNGEST_PARENT_OF.items():
        if tag in drawn.household.tags and drawn.age < age:
            yield f"age {drawn.age} does not go with '{drawn.household.text}'"
    for tag, age in OLDEST_PARENT_OF.items():
        if tag in drawn.household.tags and drawn.age > age:
            yield f"age {drawn.age} does not go with '{drawn.household.text}'"
    if drawn.age < ADULT and "adult" in {tag for element in drawn.all for tag in element.tags}:
        yield f"age {drawn.age} does not go with '{_tagged(drawn, 'adult')}'"
    for element in drawn.all:
        for other in drawn.all if element.against else ():
            if element is not other and element.against & other.tags:
                yield f"'{element.text}' does not go with '{other.text}'"


def _tagged(drawn: ProfileDraft, tag: str) -> str:
    found: Element = next(element for element in drawn.all if tag in element.tags)
    return found.text
