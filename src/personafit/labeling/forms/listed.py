"""Pages that ask the same of every entry of a list: a field for each entry, numbered as the rater sees them."""

from collections.abc import Sequence

from personafit.labeling.records import Arrangement, Field, Option, Page


def listed_fields(
    page: Page,
    arrangement: Arrangement,
    question: str,
    texts: Sequence[str],
    options: list[Option],
    low: str = "",
    high: str = "",
) -> list[Field]:
    """One field for each entry, in the order shown. Where a page is about one item, entries are its targets."""
    return [
        Field(
            code=f"{question}.{number}",
            question=question,
            item=page.items[0] if page.targets else page.items[place],
            target=page.targets[place] if page.targets else "",
            options=options,
            text=texts[place],
            low=low,
            high=high,
            place=place,
        )
        for number, place in enumerate(arrangement.places, 1)
    ]
