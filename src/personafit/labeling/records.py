"""What a study consists of: its settings, its pages, the fields on a page, and the order a rater sees things in.

A page holds everything that may be shown and, apart from it, what must not: which answer is right. What reaches a browser goes by
letters and places in the order shown; ids of products, makers and gold stay on the server.
"""

from enum import StrEnum
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict
from pydantic import Field as Described

from personafit._hashing import hash_text
from personafit.labeling.keying import Hashed


class StudyRecord(BaseModel):
    """Base of a study's records: unknown fields are an error."""

    model_config = ConfigDict(extra="forbid")


class Role(StrEnum):
    """What a page is for."""

    ITEM = "item"
    """Counts."""
    PRACTICE = "practice"
    """Comes first, with feedback; does not count."""
    GOLD = "gold"
    """Looks like any other and has a known answer; measures the rater."""
    ATTENTION = "attention"
    """Says in its text what to answer."""


class RaterState(StrEnum):
    """Where a rater stands."""

    FREE = "free"
    """The seat is planned and nobody has taken it."""
    ACTIVE = "active"
    PAUSED = "paused"
    EXCLUDED = "excluded"
    DONE = "done"
    ERASED = "erased"


class StudyConfig(StudyRecord):
    """How a study was set up."""

    title: str = Described("", description="What raters see above it.")
    language: Literal["en", "zh"] = Described("en", description="Language of the interface to begin with.")
    overlap: int = Described(9, ge=1, description="Raters per item.")
    seats: int = Described(9, ge=1, description="Raters the plan is made for.")
    seed: int = Described(0, description="Of all orders.")
    view: str = Described("profile", description="What raters are shown of the person.")
    perspective: Literal["third-party", "self"] = Described(
        "third-party", description="Whose view raters take."
    )
    guidelines: str = Described("", description="Markdown; the form's own when empty.")
    consent: str = Described("", description="Markdown of the consent page; a general one when empty.")
    quiz: list[dict[str, Any]] = Described(
        default_factory=list, description="Comprehension check: question, options, right (index)."
    )
    check: bool = Described(
        False, description="Whether raters take a comprehension check first: `quiz`, or the form's own."
    )
    completion_code: str = Described("", description="Shown at the end, such as Prolific's.")
    completion_url: str = Described(
        "", description="Where raters go with it; Prolific's address for who came from there, if empty."
    )
    model: str = Described("", description="Spec of the model participants talk with (chat form).")
    weights: dict[str, float] = Described(
        default_factory=dict,
        description="Design weights of items drawn by --stratify: how many items of its stratum each stands for.",
    )
    simulated: bool = Described(False, description="Raters are simulated, and everything made of it says so.")
    source: str = Described("", description="What --from named.")
    signed_ids: bool = Described(
        False, description="Whether only links made for one seat or one participant are taken."
    )
    keyed: bool = Described(
        False,
        description="Whether orders are drawn with the store's secret, so that raters cannot work them out. Not in studies of simulated "
        "raters, who are the same wherever they are made, nor in those made before there was a choice.",
    )


class Page(StudyRecord):
    """One page of a study: what may be shown, and apart from it what may not."""

    id: str = Described(description="Item id, or group where several items share the page.")
    role: Role = Described(Role.ITEM, description="What the page is for.")
    person: str = Described("", description="Whom it is about; statistics cluster on it.")
    items: list[str] = Described(
        description="Ids of the items it asks about, by place where there are several."
    )
    content: dict[str, Any] = Described(description="Texts the form's template shows, by place.")
    sides: int = Described(0, description="How many answers stand side by side and are put in a drawn order.")
    places: int = Described(0, description="How many things are listed and put in a drawn order.")
    targets: list[str] = Described(
        default_factory=list, description="Target of the judgment for each listed thing."
    )
    makes: str = Described(
        "",
        description="Beginning of the id of what each rater makes on the page and then judges, if anything.",
    )
    key: dict[str, str] = Described(
        default_factory=dict,
        description="Right labels by 'QUESTION' or 'QUESTION/PLACE', as stored; never shown.",
    )
    why: str = Described("", description="Said after a practice page: why the right answer is right.")


class Arrangement(StudyRecord):
    """The order in which one rater sees the parts of one page, and what is theirs on it."""

    sides: list[int] = Described(default_factory=list, description="Which answer is A, which B, and so on.")
    places: list[int] = Described(default_factory=list, description="Which listed thing is first, and so on.")
    own: str = Described(
        "", description="Id of what the rater makes on the page, where raters make something."
    )

    @classmethod
    def drawn(cls, page: Page, rater: str, seed: int, hashed: Hashed = hash_text) -> Self:
        """The order for this page and rater: it depends on nothing but them, the seed and the key of the hash."""
        return cls(
            sides=_shuffled(page.sides, page.id, rater, seed, "side", hashed),
            places=_shuffled(page.places, page.id, rater, seed, "place", hashed),
            own=f"{page.makes}{hash_text('own', page.id, rater)}" if page.makes else "",
        )

    @classmethod
    def stored(cls, page: Page) -> Self:
        """The page in the order it is stored in."""
        return cls(sides=list(range(page.sides)), places=list(range(page.places)))

    @property
    def order(self) -> str:
        """The order of the answers as asks record it: '10' shows answer 0 second."""
        return "".join(map(str, self.sides))


class Option(StudyRecord):
    """One answer to choose."""

    value: str = Described(description="What the browser sends: a letter, a number or a word.")
    text: str = Described(description="What the button says; a key of the interface's texts, or plain text.")
    key: str = Described(description="The key that presses it.")


class Field(StudyRecord):
    """One thing asked on a page."""

    code: str = Described(
        description="What the browser calls it: the question, and the place shown where there are several."
    )
    question: str = Described(description="Name of the question, as in judgments.")
    item: str = Described(description="Id of the item the answer is about.")
    target: str = Described("", description="Part of the item that is meant.")
    kind: Literal["choice", "text", "written"] = Described(
        "choice", description="Options; a text that is kept as it is; or a text that the question reads."
    )
    options: list[Option] = Described(default_factory=list)
    text: str = Described("", description="What is asked; a key of the interface's texts, or plain text.")
    hint: str = Described("", description="A line below it, likewise.")
    low: str = Described("", description="What the first mark of a scale means, likewise.")
    high: str = Described("", description="What the last mark means, likewise.")
    cannot_tell: bool = Described(True, description="Whether having no answer is offered.")
    required: bool = True
    place: int | None = Described(
        None, description="Which listed thing it belongs to, by its place on the page as stored."
    )


def _shuffled(count: int, page: str, rater: str, seed: int, what: str, hashed: Hashed) -> list[int]:
    return sorted(range(count), key=lambda place: hashed(what, str(seed), page, rater, str(place)))
