"""The records of a study: its settings, its pages, the fields on a page, and the order in which a rater sees them.

A page keeps what may be shown apart from what must stay hidden, such as the right answer. Browsers receive only letters and positions in
the order shown; ids of products, makers and gold stay on the server.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, Literal, Self

from pydantic import AliasChoices, BaseModel, ConfigDict
from pydantic import Field as Described

from personafit._hashing import hash_text

Hashed = Callable[..., str]
"""Function from a sequence of texts to a hex key, such as `hash_text`."""


class StudyRecord(BaseModel):
    """Base of a study's records; unknown fields are an error."""

    model_config = ConfigDict(extra="forbid")


class Role(StrEnum):
    """Purpose of a page."""

    ITEM = "item"
    """Counts in the results."""
    PRACTICE = "practice"
    """Comes first, with feedback; does not count in the results."""
    GOLD = "gold"
    """Looks like an item page and has a known answer; measures the rater."""
    ATTENTION = "attention"
    """Attention check, whose text says what to answer."""


class RaterState(StrEnum):
    """State of a seat or its rater."""

    FREE = "free"
    """The seat has not been taken yet."""
    ACTIVE = "active"
    PAUSED = "paused"
    EXCLUDED = "excluded"
    DONE = "done"
    ERASED = "erased"


class StudyConfig(StudyRecord):
    """The settings of a study."""

    title: str = ""  # shown to raters above the study
    language: Literal["en", "zh"] = "en"  # initial language of the interface
    overlap: int = Described(9, ge=1)  # raters per item
    seats: int = Described(9, ge=1)  # number of seats that pages are assigned to
    seed: int = 0  # seed of all orders
    # What raters are shown; earlier studies call it `view`.
    context: str = Described("profile", validation_alias=AliasChoices("context", "view"))
    perspective: Literal["third-party", "self"] = "third-party"  # perspective from which raters answer
    guidelines: str = ""  # Markdown; empty for the form's own
    told: dict[str, str] = {}  # the form's guidelines by language, as of the study's creation
    consent: str = ""  # Markdown of the consent page; empty for a general one
    quiz: list[dict[str, Any]] = []  # custom comprehension check: question, options, right (index)
    check: bool = False  # whether raters take a comprehension check first: `quiz` or the form's
    completion_code: str = ""  # shown at the end, e.g. for Prolific
    completion_url: str = ""  # link at the end; empty for Prolific's, for raters from Prolific
    model: str = ""  # spec of the model participants talk with (chat form)
    weights: dict[str, float] = {}  # design weights of items drawn by --stratify
    simulated: bool = False  # raters are simulated, and all output says so
    source: str = ""  # the value of --from
    signed_ids: bool = False  # whether only links made for one seat or one participant are accepted
    keyed: bool = False
    """Whether orders are drawn with the store's secret, so that raters cannot compute them.

    Not for simulated raters, who must be reproducible, nor for studies made before this setting existed.
    """


class Page(StudyRecord):
    """One page of a study, with what may be shown kept apart from what must stay hidden."""

    id: str  # id of the item, or of the group if several items share the page
    role: Role = Role.ITEM
    person: str = ""  # id of the person it is about; statistics cluster on it
    items: list[str]  # ids of the items it asks about, by place if there are several
    content: dict[str, Any]  # texts shown by the form's template
    sides: int = 0  # number of answers shown side by side, in a drawn order
    places: int = 0  # number of listed entries, in a drawn order
    targets: list[str] = []  # target of the judgment for each listed entry
    makes: str = ""  # id prefix of what each rater makes on the page and then rates, if anything
    key: dict[str, str] = {}  # right labels by 'QUESTION' or 'QUESTION/PLACE', as stored; never shown
    why: str = ""  # explanation of the right answer, shown after a practice page


class Arrangement(StudyRecord):
    """The order in which one rater sees the parts of one page, and the id of what the rater makes on it."""

    sides: list[int] = []  # which answer is A, which B, and so on
    places: list[int] = []  # which listed entry is first, and so on
    own: str = ""  # id of what the rater makes on the page, if anything

    @classmethod
    def drawn(cls, page: Page, rater: str, seed: int, hashed: Hashed = hash_text) -> Self:
        """Draw the order for this page and rater; it depends only on them, the seed and the key of the hash."""
        return cls(
            sides=_shuffled(page.sides, page.id, rater, seed, "side", hashed),
            places=_shuffled(page.places, page.id, rater, seed, "place", hashed),
            own=f"{page.makes}{hash_text('own', page.id, rater)}" if page.makes else "",
        )

    @classmethod
    def stored(cls, page: Page) -> Self:
        return cls(sides=list(range(page.sides)), places=list(range(page.places)))

    @property
    def order(self) -> str:
        """The order of the answers as stored in asks: '10' shows answer 0 second."""
        return "".join(map(str, self.sides))


class Option(StudyRecord):
    """One option of a field."""

    value: str  # value the browser sends: a letter, a number or a word
    text: str  # label of the button; a key of the interface's texts, or plain text
    plain: bool = False  # whether the text is shown as it is, although it may also be a key
    key: str  # keyboard shortcut


class Field(StudyRecord):
    """One question on a page. Its texts are keys of the interface's texts, or plain text."""

    code: str  # id in the browser: the question, and the position shown if there are several
    question: str  # name of the question, as in judgments
    item: str  # id of the item the answer is about
    target: str = ""  # the part of the item that the answer is about
    kind: Literal["choice", "text", "written"] = (
        "choice"  # options; free text; a text that the question parses
    )
    options: list[Option] = []
    text: str = ""  # wording of the question
    hint: str = ""  # hint below the question
    low: str = ""  # label of the first point of a scale
    high: str = ""  # label of its last point
    cannot_tell: bool = True  # whether 'cannot tell' is offered
    required: bool = True
    place: int | None = None  # listed entry it belongs to, by its place in the stored order


def _shuffled(count: int, page: str, rater: str, seed: int, what: str, hashed: Hashed) -> list[int]:
    return sorted(range(count), key=lambda place: hashed(what, str(seed), page, rater, str(place)))
