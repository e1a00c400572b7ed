"""The figures of a best-of choice: how long the chosen answers are, and what length alone would have chosen."""

from pathlib import Path

from rich.console import Console
from rich.table import Table

from personafit.best_of.choosing import BestOfChoices
from personafit.best_of.running import BestOf
from personafit.reporting import Result
from personafit.statistics import Estimate


def best_of_results(choice: BestOfChoices, asked: BestOf, fingerprint: str) -> list[Result]:
    """The figures of a best-of choice as results."""

    def result(
        estimate: Estimate, metric: str, control: str | None = None, note: str | None = None
    ) -> Result:
        return Result.of(
            estimate,
            metric=metric,
            rater="rule:length" if control else asked.rater,
            system=asked.system,
            given=asked.given if asked.system else None,
            view=asked.view,
            coverage=choice.coverage,
            control=control,
            fingerprint=None if control else fingerprint,
            note=note,
        )

    lengths = choice.mean_lengths()
    rows = [
        result(lengths["chosen"], "chosen_length", note=_control_note(choice)),
        result(lengths["as_scored"], "chosen_length_uncontrolled"),
        result(lengths["pool"], "pool_length"),
        result(lengths["longest"], "chosen_length", control="longest answer"),
        result(choice.same_as_longest(), "same_as_longest"),
    ]
    if choice.control is not None:
        count, people = lengths["chosen"].n, lengths["chosen"].people
        for metric, value in (
            ("length_slope", choice.control.slope),
            ("length_explained", choice.control.explained),
        ):
            rows.append(
                result(Estimate(value, None, None, count, people), metric, note=_control_note(choice))
            )
    return rows


def print_choices(console: Console, choice: BestOfChoices, asked: BestOf, out: Path) -> None:
    """Print how long the chosen answers are, beside all candidates and beside choosing the longest."""
    lengths = choice.mean_lengths()
    pool = lengths["pool"].value or 0.0
    table = Table(
        "Chosen by", "Mean length", "95 %", "Of the pool's", title=f"{len(choice.rows):,} questions"
    )
    controlled = choice.control is not None and choice.control.slope is not None
    named = [("nobody: all candidates", "pool")]
    named.append((f"{asked.rater}{', length taken out' if controlled else ''}", "chosen"))
    if controlled:
        named.append((f"{asked.rater}, as scored", "as_scored"))
    named.append(("rule:length", "longest"))
    for name, key in named:
        estimate = lengths[key]
        value = estimate.value
        between = "" if estimate.low is None else f"{estimate.low:,.0f} to {estimate.high:,.0f}"
        share = "" if value is None or not pool else f"{value / pool:.2f} ×"
        table.add_row(name, "–" if value is None else f"{value:,.0f}", between, share)
    console.print(table)
    if note := _control_note(choice):
        print(note)
    same = choice.same_as_longest().value
    if same is not None:
        print(
            f"{100 * same:.1f} % of the choices are the longest answer; coverage {100 * choice.coverage:.1f} %."
        )
    print(f"Choices: {out}")


def _control_note(choice: BestOfChoices) -> str | None:
    control = choice.control
    if control is None:
        return None
    if control.slope is None:
        return "Too few questions to tell how scores go with length: they are taken as they are."
    explained = 100 * (control.explained or 0.0)
    return (
        f"Within a question, twice the length goes with {control.slope:+.3g} points of score "
        f"({explained:.1f} % of their variance); that is taken out."
    )
