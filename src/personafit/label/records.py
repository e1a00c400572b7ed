"""What a study consists of: its settings, its pages, the fields on a page, and the order a rater sees things in.

A page holds everything that may be shown and, apart from it, what must not: which answer is right. What reaches a browser goes by
letters and places in the order shown; ids of products, makers and gold stay on the server.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict
from pydantic import Field as Described

from personafit._hashing import hash_text

Hashed = Callable[..., str]
"""Texts in sequence to a hex key, as `hash_text`."""


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

    title: str = ""  # what raters see above it
    language: Literal["en", "zh"] = "en"  # of the interface to begin with
    overlap: int = Described(9, ge=1)  # raters per item
    seats: int = Described(9, ge=1)  # raters the plan is made for
    seed: int = 0  # of all orders
    view: str = "profile"  # what raters are shown of the person
    perspective: Literal["third-party", "self"] = "third-party"  # whose view raters take
    guidelines: str = ""  # Markdown; the form's own when empty
    told: dict[str, str] = {}  # the form's guidelines by language, as they were when the study was made
    consent: str = ""  # Markdown of the consent page; a general one when empty
    quiz: list[
        dict[str, Any]
    ] = []  # a comprehension check of the study's own: question, options, right (index)
    check: bool = False  # whether raters take a comprehension check first: `quiz`, or the form's own
    completion_code: str = ""  # shown at the end, such as Prolific's
    completion_url: str = ""  # where raters go with it; Prolific's address for who came from there, if empty
    model: str = ""  # spec of the model participants talk with (chat form)
    weights: dict[
        str, float
    ] = {}  # of items drawn by --stratify: how many items of its stratum each stands for
    simulated: bool = False  # raters are simulated, and everything made of it says so
    source: str = ""  # what --from named
    signed_ids: bool = False  # whether only links made for one seat or one participant are taken
    keyed: bool = False
    """Whether orders are drawn with the store's secret, so that raters cannot work them out. Not in studies of simulated raters, who are
    the same wherever they are made, nor in those made before there was a choice."""


class Page(StudyRecord):
    """One page of a study: what may be shown, and apart from it what may not."""

    id: str  # of the item, or of the group where several items share the page
    role: Role = Role.ITEM
    person: str = ""  # whom it is about; statistics cluster on it
    items: list[str]  # ids of the items it asks about, by place where there are several
    content: dict[str, Any]  # texts the form's template shows, by place
    sides: int = 0  # how many answers stand side by side and are put in a drawn order
    places: int = 0  # how many things are listed and put in a drawn order
    targets: list[str] = []  # target of the judgment for each listed thing
    makes: str = ""  # beginning of the id of what each rater makes on the page and then judges, if anything
    key: dict[str, str] = {}  # right labels by 'QUESTION' or 'QUESTION/PLACE', as stored; never shown
    why: str = ""  # said after a practice page: why the right answer is right


class Arrangement(StudyRecord):
    """The order in which one rater sees the parts of one page, and what is theirs on it."""

    sides: list[int] = []  # which answer is A, which B, and so on
    places: list[int] = []  # which listed thing is first, and so on
    own: str = ""  # id of what the rater makes on the page, where raters make something

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

    value: str  # what the browser sends: a letter, a number or a word
    text: str  # what the button says; a key of the interface's texts, or plain text
    key: str  # the key that presses it


class Field(StudyRecord):
    """One thing asked on a page. Its texts are keys of the interface's texts, or plain text."""

    code: str  # what the browser calls it: the question, and the place shown where there are several
    question: str  # name of the question, as in judgments
    item: str  # id of the item the answer is about
    target: str = ""  # part of the item that is meant
    kind: Literal["choice", "text", "written"] = (
        "choice"  # options; a text kept as it is; a text that the question reads
    )
    options: list[Option] = []
    text: str = ""  # what is asked
    hint: str = ""  # a line below it
    low: str = ""  # what the first mark of a scale means
    high: str = ""  # what the last mark means
    cannot_tell: bool = True  # whether having no answer is offered
    required: bool = True
    place: int | None = None  # which listed thing it belongs to, by its place on the page as stored


def _shuffled(count: int, page: str, rater: str, seed: int, what: str, hashed: Hashed) -> list[int]:
    return sorted(range(count), key=lambda place: hashed(what, str(seed), page, rater, str(place)))
