"""What the `personafit label` commands share: their arguments, the studies of a store, and how they print."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from personafit.cli.common import store_url

if TYPE_CHECKING:
    from personafit.labeling.studies import Studies

MOST = 10_000  # raters, and pages beside the items: more is a slip of the finger

Study = Annotated[str, typer.Argument(metavar="STUDY")]
Rater = Annotated[str, typer.Argument(metavar="RATER", help="Pseudonym, as `label status` prints it.")]


@contextmanager
def opened_studies(store: str | None) -> Iterator["Studies"]:
    """The studies of a store, for as long as they are needed."""
    from personafit.labeling.studies import Studies
    from personafit.store import Store

    with Store(store_url(store)) as opened:
        yield Studies(opened)


def plain(text: str) -> Any:
    """A text that may hold anything, so that nothing in it is taken for markup."""
    from rich.text import Text

    return Text(text)


def counted(number: int, one: str, many: str) -> str:
    """A number with its noun: '1 rater', '2 raters'."""
    return f"{number:,} {one if number == 1 else many}"
