"""Raters fitted by `train pairwise`, `preference`, `verifier` and `matcher`: what their cards say, as sentences and tables of a page.

A card is written once, when the rater is; here it is read, so that the page and the card cannot differ.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from personafit._errors import UserError
from personafit.reporting.whole.content import Piece, Prose, Sentences, text_grid, true_minus

CARD, QUALITY = "card.md", "quality.json"
HELD_OUT = "Held-out quality"
CAPTION = "As in the rater’s card; 95 % intervals below."
RULE = re.compile(r"[|\s:-]+")


@dataclass(frozen=True)
class RaterCard:
    """The card of a fitted rater: a title, then paragraphs and tables."""

    folder: Path
    title: str
    blocks: tuple[str, ...]
    """Paragraphs, headings and tables, each as it stands in the card."""


def is_fitted(folder: Path) -> bool:
    """Whether a rater was fitted here."""
    return (folder / CARD).is_file() and (folder / QUALITY).is_file()


def read_fitted(folder: Path) -> RaterCard:
    """The card of a folder."""
    path = folder / CARD
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read ({error}); train again, or leave it out.") from error
    title, *blocks = [block.strip() for block in re.split(r"\n\s*\n", text) if block.strip()]
    if not title.startswith("# "):
        raise UserError(f"{path} is no card of a rater: it has no title; train again, or leave it out.")
    return RaterCard(folder, title.removeprefix("# "), tuple(blocks))


def fitted_pieces(one: RaterCard) -> list[Piece]:
    """Sentences above, then each table under its heading, and what is said of it below."""
    return list(_pieces(one))


def _pieces(one: RaterCard) -> Iterator[Piece]:
    title, tables = HELD_OUT, 0
    for block in one.blocks:
        if block.startswith("#"):
            title = block.lstrip("# ")
        elif block.startswith("|"):
            headings, *rows = [_cells(line) for line in block.splitlines() if not RULE.fullmatch(line)]
            tables += 1
            yield text_grid(title, CAPTION, headings, rows)
        elif tables:
            yield Sentences([true_minus(line) for line in block.splitlines()], small=True)
        elif block == one.blocks[0]:
            yield Sentences([f"{one.title}. {block}"])
        else:
            yield Prose(block, "small")


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]
