"""How well each rater works: hidden items with a known answer, time, and what should be looked at.

Nothing here decides anything: it says what stands out, and a person decides.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import polars as pl

from personafit.labeling.forms.questions import ChoiceForm
from personafit.labeling.records import Role
from personafit.labeling.studies import Studies
from personafit.labeling.votes import study_votes, unshuffled

FEWEST_GOLD = 3
LOW_GOLD = 0.6
HASTY = 1 / 3  # of the study's median time
FEWEST_TIMED = 5
ONE_SIDED = 0.85
FEWEST_SIDES = 15


@dataclass(frozen=True)
class GoldScore:
    """How many items with a known answer were answered, and how many correctly."""

    right: int = 0
    answered: int = 0

    @property
    def share(self) -> float | None:
        """The share that is right."""
        return self.right / self.answered if self.answered else None


def check_raters(studies: Studies, name: str, role: Role) -> dict[str, GoldScore]:
    """Each rater's answers to hidden items of this role against their keys; who cannot tell is not right."""
    votes = study_votes(studies, name, (role,), excluded=True)
    form = studies.form(name)
    right = {
        (page.id, field.item, field.question, field.target): label
        for page in studies.pages(name, (role,))
        for field in form.fields(page, unshuffled(page))
        if (label := form.right(page, field)) is not None
    }
    found: dict[str, GoldScore] = {}
    columns = ("rater", "page", "item", "question", "target", "label")
    for rater, page, item, question, target, label in votes.select(columns).iter_rows():
        expected = right.get((page, item, question, target))
        if expected is not None:
            before = found.get(rater, GoldScore())
            found[rater] = GoldScore(before.right + (label == expected), before.answered + 1)
    return found


def page_seconds(votes: pl.DataFrame) -> pl.DataFrame:
    """How long each rater had each page before them until its last answer."""
    return votes.filter(pl.col("seconds") > 0).group_by("rater", "page").agg(pl.col("seconds").max())


def shown_places(votes: pl.DataFrame) -> pl.DataFrame:
    """Where the chosen answer stood on the page: rater and place from 0; only where labels are answers, and no marks of them."""
    chosen = votes.filter((pl.col("question") == ChoiceForm.name) & pl.col("label").is_not_null())
    rows = [
        (rater, question, order.index(label))
        for rater, question, order, label in chosen.select("rater", "question", "order", "label").iter_rows()
    ]
    schema = {"rater": pl.String, "question": pl.String, "place": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def concerns(
    gold: GoldScore,
    attention: GoldScore,
    seconds: float | None,
    timed: int,
    usual: float | None,
    places: Mapping[int, int],
) -> Iterable[str]:
    """What stands out about a rater, by key of the interface's texts."""
    if attention.answered and attention.right < attention.answered:
        yield "r.concern.attention"
    if gold.answered >= FEWEST_GOLD and (gold.share or 0.0) < LOW_GOLD:
        yield "r.concern.gold"
    if seconds is not None and usual is not None and timed >= FEWEST_TIMED and seconds < HASTY * usual:
        yield "r.concern.hasty"
    chosen = sum(places.values())
    if chosen >= FEWEST_SIDES and max(places.values()) >= ONE_SIDED * chosen:
        yield "r.concern.side"
