"""`personafit label status`: how far a study is, how raters work, and how far they agree."""

from typing import TYPE_CHECKING

from personafit.cli.common import console, hint, print_object
from personafit.cli.label_common import Study, counted, opened_studies, plain
from personafit.cli.options import JsonOption, StoreOption

if TYPE_CHECKING:
    from personafit.labeling.overview import Overview
    from personafit.statistics import Estimate

MOST_NAMED = 12


def status(study: Study, json: JsonOption = False, store: StoreOption = None) -> None:
    """Say how far a study is, how raters work, and how far they agree.

    **Example**

        personafit label status pilot --json
    """
    from personafit.labeling.overview import overview

    with opened_studies(store) as studies:
        numbers = overview(studies, study)
    if json:
        from personafit.labeling.status import status_object

        print_object(status_object(numbers))
        return
    _print_status(numbers)


def _print_status(numbers: "Overview") -> None:
    from rich.table import Table
    from rich.text import Text

    out = console()
    study = numbers.study
    out.print(
        Text(
            f"{study.name} ({study.form}, {study.state}): {numbers.done:,} of {numbers.planned:,} pages answered, "
            f"{numbers.complete_pages:,} of {numbers.item_pages:,} items have all their raters, "
            f"{counted(numbers.free, 'free seat', 'free seats')}."
        )
    )
    raters = Table(title="Raters", title_justify="left")
    for heading in (
        "rater",
        "state",
        "done",
        "open",
        "median s",
        "with others",
        "gold",
        "attention",
        "can't tell",
        "flags",
    ):
        raters.add_column(heading, justify="left" if heading in ("rater", "state") else "right")
    for one in numbers.raters:
        raters.add_row(
            one.code + (" (simulated)" if one.kind == "simulated" else ""),
            one.state.value,
            f"{one.done}/{one.planned}",
            str(one.open) if one.open else "–",
            "–" if one.seconds is None else f"{one.seconds:.1f}",
            _figure(one.with_others),
            f"{one.gold.right}/{one.gold.answered}" if one.gold.answered else "–",
            f"{one.attention.right}/{one.attention.answered}" if one.attention.answered else "–",
            str(one.cannot_tell),
            str(one.flags),
        )
    out.print(raters)
    waiting = [one.code for one in numbers.taking_part if one.open]
    if waiting:
        hint(
            f"{counted(len(waiting), 'rater has', 'raters have')} open pages: {', '.join(waiting[:MOST_NAMED])}"
            + (" …" if len(waiting) > MOST_NAMED else "")
        )
    if not numbers.agreement:
        out.print("No agreement yet: it takes two raters who answered the same item.")
        return
    table = Table(title="Agreement, 95 % interval over people", title_justify="left")
    for heading in ("question", "raters", "items", "percent", "Fleiss", "alpha", "alpha, ordinal"):
        table.add_column(heading, justify="left" if heading == "question" else "right")
    notes: dict[str, None] = {}
    for figures in numbers.agreement:
        cells = [figures.figures.get(name) for name in ("percent", "fleiss", "nominal", "ordinal")]
        notes |= {one.note: None for one in cells if one is not None and one.note}
        table.add_row(
            plain(figures.question),
            str(figures.raters),
            str(figures.units),
            *(_figure(one) for one in cells),
        )
    out.print(table)
    for note in notes:
        out.print(Text(note, style="dim"))


def _figure(estimate: "Estimate | None") -> str:
    if estimate is None or estimate.value is None:
        return "–"
    interval = f" ({estimate.low:.2f} to {estimate.high:.2f})" if estimate.low is not None else ""
    return f"{estimate.value:.2f}{interval}"
