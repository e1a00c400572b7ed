"""`attributes:all|human|matched`: statements about the person, all of them or those that were found to matter for the question.

All of them are on the person's record. Which ones matter is known for the question at hand only: from people's answers
(`human`) or a relevance rater's (`matched`), and whoever has them makes the builder with what was chosen for each item.
"""

from collections.abc import Mapping, Sequence

from personafit._errors import UserError
from personafit.contexts.context import Context, ContextBuilder, People
from personafit.people import Person
from personafit.store import Item

ALL, HUMAN, MATCHED = "all", "human", "matched"


class AttributesContext:
    """A list of attributes; `chosen` says which ones for each item, None tells all that are on the person's record."""

    def __init__(self, name: str, chosen: Mapping[str, Sequence[str]] | None = None) -> None:
        self.name = name
        self._chosen = chosen

    def build(self, person: Person, item: Item) -> Context:
        """The attributes as a list; nothing where none was chosen."""
        if self._chosen is None:
            texts = tuple(attribute.text for attribute in person.attributes)
        elif person.id != item.person:
            raise UserError(
                f"wrong:{self.name} makes no sense: what matters was found for {item.person}; use wrong:attributes:all."
            )
        else:
            texts = tuple(self._chosen.get(item.id, ()))
        told = "\n".join(f"- {' '.join(text.split())}" for text in texts)
        return Context(self.name, told, texts, person.id if texts else None)

    def covers(self, person: Person, item: Item) -> bool:
        """Whether there is anything to tell of the person, so that they can stand in for somebody."""
        return self._chosen is not None or bool(person.attributes)


def attributes_context(argument: str, people: People, seed: int) -> ContextBuilder:
    """Make `attributes:all`; the others need to know what was found to matter."""
    if argument == ALL:
        if not any(person.attributes for person in people.values()):
            raise UserError("attributes:all: nobody here has attributes on record.")
        return AttributesContext(f"attributes:{ALL}")
    if argument == HUMAN or argument.partition(":")[0] == MATCHED:
        raise UserError(
            f"attributes:{argument} is known in `personafit run responses` only, where it is said which attributes matter for "
            "a question; attributes:all works anywhere."
        )
    raise UserError(
        f"attributes:{argument}: there are attributes:all, attributes:human, attributes:matched and attributes:matched:RATER."
    )
