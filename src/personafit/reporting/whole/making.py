"""The chapters on what was made before anything was judged: the three stages with their error flow, and trained raters."""

from collections.abc import Mapping
from typing import Any

from personafit.reporting.number_tables import NumberRow
from personafit.reporting.sections import Cell
from personafit.reporting.stages.page import Body, flow_body, sources_body
from personafit.reporting.stages.results import flow_of
from personafit.reporting.whole.collected import Collected
from personafit.reporting.whole.content import (
    Chapter,
    Grid,
    Picture,
    Piece,
    Prose,
    Sentences,
    made_chapter,
    percent_cell,
    text_grid,
    true_minus,
)
from personafit.reporting.whole.curves import CAPTION, LOSS, Training, tier_name, training_figure
from personafit.reporting.whole.fitted import fitted_pieces
from personafit.statistics import Estimate

# What is known of a trained model, and which of it are rules that read nothing.
MEASURES = {
    "accuracy": None,
    "gain_over_overlap": None,
    "overlap": "most overlap",
    "length": "longest answer",
}
SETTINGS = ("preset", "swap", "lora", "epochs", "batch", "rate", "max_tokens", "seed", "held_out")


def stages(given: Collected) -> Chapter:
    """From conversations to attributes to what matters to a response, and where the end result is lost."""
    parts = {name: _body_pieces(flow_body(*flow_of(found), found)) for name, found in given.flows.items()}
    parts |= {name: _body_pieces(sources_body([], found)) for name, found in given.extractions.items()}
    return made_chapter(
        "stages",
        "Three stages and their error flow",
        "From conversations to attributes, from attributes to those that matter, from those to a response. Each stage can be "
        "people’s or a model’s, which says where the end result is lost.",
        parts,
        "No error flow was given: `personafit extraction flow DIR --data LABELS --matcher SPEC --out flow` makes one; name the "
        "folder flow beside the runs.",
    )


def _body_pieces(body: Body) -> list[Piece]:
    pieces: list[Piece] = [Prose(body.warning, "warning")] if body.warning else []
    if body.facts:
        pieces.append(Prose(" · ".join(body.facts), "small"))
    pieces.append(Sentences([true_minus(text) for text in body.sentences]))
    if body.figure is not None:
        pieces.append(Picture(body.figure_title, body.caption, body.figure))
    for table in body.tables:
        pieces.append(text_grid(table["title"], table["caption"], table["headings"], table["rows"]))
    return [*pieces, Sentences(body.notes, small=True)]


def training(given: Collected) -> Chapter:
    """How raters that were trained here came to be."""
    return made_chapter(
        "training",
        "Training",
        "Raters that were trained or fitted on people’s judgments: on whom, and what they are worth on those left out.",
        {name: _training_pieces(one) for name, one in given.trainings.items()}
        | {name: fitted_pieces(one) for name, one in given.fitted.items()},
        "No training was given: `personafit train reward --base MODEL --data DIR --out FOLDER` trains one, `train pairwise`, "
        "`train preference`, `train verifier` and `train matcher` fit small ones; name FOLDER beside the runs.",
    )


def training_words(one: Training) -> list[str]:
    """What the curves come to."""
    said = []
    losses = one.points(LOSS)
    if losses:
        said.append(
            f"The loss went from {losses[0][1]:.3f} (step {losses[0][0]:,.0f}) to {losses[-1][1]:.3f} (step {losses[-1][0]:,.0f})."
        )
    reached = [
        f"{tier_name(name)} {100 * points[-1][1]:.1f} %" for name in one.tiers if (points := one.points(name))
    ]
    if reached:
        said.append(f"At the last reading on people held out: {', '.join(reached)}.")
    return said or ["Nothing was logged yet."]


def _training_pieces(one: Training) -> list[Piece]:
    pieces: list[Piece] = [Sentences(training_words(one))]
    if (figure := training_figure(one)) is not None:
        pieces.append(Picture("While it trained", CAPTION, figure))
    names = [LOSS, *(name for name in ("eval_loss", *one.tiers) if one.points(name))]
    rows = [
        NumberRow([f"{row['step']:.0f}"], [_reading(row.get(name), name) for name in names])
        for row in one.steps
        if any(name in row for name in names[1:]) or len(names) == 1
    ]
    headings = ["loss of the batch", "loss held out", *(f"{tier_name(name)}, %" for name in one.tiers)]
    pieces.append(
        Grid(
            "Readings",
            "At every evaluation, no intervals.",
            ["step"],
            headings[: len(names)],
            rows,
            folded=True,
        )
    )
    return [*pieces, *_quality(one.facts)]


def _reading(value: float | None, name: str) -> Cell:
    if value is None:
        return Cell()
    return Cell(f"{value:.3f}" if name.endswith(LOSS) else f"{100 * value:.1f}", sort=value)


def _quality(facts: Mapping[str, Any]) -> list[Piece]:
    """What the model is worth in the end, on people held out, and how it was trained."""
    if not facts:
        return [Prose("The training is not finished: it has no personafit.json yet.", "small")]
    rows = []
    for kind, found in facts.get("metrics", {}).items():
        for name, control in MEASURES.items():
            figures = found.get(name)
            if figures is None:
                continue
            by_tier = {"all": figures} if "value" in figures else figures
            rows.append(([f"{kind} pairs", name.replace("_", " ")], by_tier, control))
    tiers = list(dict.fromkeys(tier for _, by_tier, _ in rows for tier in by_tier))
    filled = [
        NumberRow(names, [_figure(by_tier.get(tier), "gain" in names[1]) for tier in tiers], control)
        for names, by_tier, control in rows
    ]
    told = [
        f"{name.replace('_', ' ')} {_setting(value)}"
        for name, value in facts.get("settings", {}).items()
        if name in SETTINGS
    ]
    how = Prose(f"Base {facts.get('base')}, {facts.get('steps')} steps; {', '.join(told)}.", "small")
    caption = "On people the model was not trained on: shares in %, gains in points, 95 % intervals over people below."
    return [Grid("The result", caption, ["pairs", "measure"], tiers, filled), how] if filled else [how]


def _setting(value: object) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else f"{value}"


def _figure(found: Mapping[str, Any] | None, signed: bool) -> Cell:
    estimate = None if found is None else Estimate(found["value"], found["low"], found["high"], 0, 0)
    return percent_cell(estimate, signed)
