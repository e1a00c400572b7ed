"""What a form is: how pages are made from a source, what is asked on them, and what an answer means.

A form is one file here, one template of the same name, and its guidelines in two languages. To add one: subclass `LabelForm`, register
it in `forms/__init__.py`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from personafit._errors import UserError
from personafit.labeling.records import Arrangement, Field, Option, Page
from personafit.labeling.sources import StudySource

GUIDELINES = Path(__file__).parents[1] / "guidelines"
LANGUAGES = ("en", "zh")
YES, NO = "yes", "no"


class LabelValue(NamedTuple):
    """The label and the value of an answer, as judgments store them."""

    label: str | None
    value: float | None


class LabelForm(ABC):
    """One kind of labelling page: what it asks, how it is shown, and how its answers become judgments."""

    name: ClassVar[str]
    """As `--question` and the template's file call it."""
    kinds: ClassVar[tuple[str, ...]]
    """Kinds of item it can ask about."""
    view: ClassVar[str] = "profile"
    """What raters see of the person, as asks call it; the same as for models where the two are to be compared."""
    perspective: ClassVar[str] = "third-party"
    """Whose view raters take."""
    advances: ClassVar[bool] = False
    """Whether the next page comes by itself: where a page is one question, and its answer is all there is to it."""

    @cached_property
    def guidelines(self) -> dict[str, str]:
        """What raters are told, in Markdown, by language."""
        return {
            language: (GUIDELINES / f"{self.name}.{language}.md").read_text(encoding="utf-8")
            for language in LANGUAGES
        }

    @abstractmethod
    def pages(self, source: StudySource) -> Iterator[Page]:
        """The pages of a study of this source."""

    @abstractmethod
    def fields(self, page: Page, arrangement: Arrangement) -> list[Field]:
        """What is asked on a page, in the order shown."""

    @abstractmethod
    def shown(self, page: Page, arrangement: Arrangement) -> dict[str, Any]:
        """What the template gets: the page's texts in the order shown, and nothing that tells."""

    @abstractmethod
    def answered(self, page: Page, arrangement: Arrangement, field: Field, value: str) -> LabelValue:
        """What a rater's answer means once the order is undone."""

    def attention(self, number: int, language: str) -> Page:
        """A page that says in its text what to answer."""
        raise UserError(f"--attention: {self.name} has no pages that say what to answer.")

    def right(self, page: Page, field: Field) -> str | None:
        """The label that is right where the page has a key."""
        return page.key.get(key_name(field))

    def why(self, page: Page, field: Field) -> str:
        """Why it is right, for practice: what is known of the listed thing, or of the page."""
        reasons = page.content.get("reasons")
        return str((reasons[field.place] if reasons and field.place is not None else "") or page.why)


def key_name(field: Field) -> str:
    """What a page's key calls the field."""
    return field.question if field.place is None else f"{field.question}/{field.place}"


def scale(low: int, high: int) -> list[Option]:
    """The marks from low to high; a mark's key is the mark."""
    return [Option(value=str(mark), text=str(mark), key=str(mark)) for mark in range(low, high + 1)]


def yes_no(yes: str = YES, no: str = NO) -> list[Option]:
    """Yes or no, under the values that are sent for them."""
    return [Option(value=yes, text=YES, key="y"), Option(value=no, text=NO, key="n")]


def yes_no_answered(value: str) -> LabelValue:
    """Yes counts one, no nothing."""
    return LabelValue(value, 1.0 if value == YES else 0.0)


def attention_id(form: str, number: int) -> str:
    """What an attention page and its item are called."""
    return f"attention/{form}/{number}"
