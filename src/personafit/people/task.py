"""What a person wants done in a dialogue: the task, its goal, the preferences that bear on it, and the situation."""

from pydantic import Field

from personafit.people.person import PersonRecord


class Task(PersonRecord):
    """One thing a person wants from an assistant, over one or several domains."""

    id: str = Field(min_length=1, description="Unique for the person, such as 'SD-Books-task-1'.")
    person: str = Field(description="Id of the person who wants it.")
    domains: list[str] = Field(
        min_length=1, description="The domains it touches; several make it multi-domain."
    )
    description: str = Field(description="What the task is about, for readers.")
    intent: str = Field(min_length=1, description="What the person sets out to do, in a sentence.")
    goal: str = Field(min_length=1, description="When it is done; judges of completion read this.")
    preferences: list[str] = Field(
        default_factory=list,
        description="Paths of the person's facets that bear on it, such as 'Books.Preferred Genres'.",
    )
    situation: dict[str, str] = Field(
        default_factory=dict, description="Where and when: location, device, time of day, and the like."
    )

    @property
    def kind(self) -> str:
        """SD for one domain, MD for several."""
        return "SD" if len(self.domains) == 1 else "MD"
