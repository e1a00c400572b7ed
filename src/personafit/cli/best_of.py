"""`personafit data best-of`: choose the best of several answers by a rater, and say what length alone would have chosen."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import orjson
import typer
from rich.console import Console
from rich.table import Table

from personafit._errors import UserError, writing
from personafit.cli.common import console, hint, print_json, say_end, store_url
from personafit.cli.options import BudgetOption, JsonOption, RetryOption, SeedOption, StoreOption
from personafit.reports import Result
from personafit.statistics import Estimate
from personafit.store import Store

if TYPE_CHECKING:
    from personafit.best_of import BestOf, BestOfChoices


def best_of(
    prompts: Annotated[
        Path,
        typer.Argument(
            metavar="FILE.jsonl",
            help="person, question and answers on each line; see docs/guides/training.md.",
        ),
    ],
    rater: Annotated[str, typer.Option(metavar="SPEC", help="Rater that chooses, such as reward:PATH.")],
    out: Annotated[
        Path, typer.Option(metavar="FILE.jsonl", help="Output file: the choices, with all scores.")
    ],
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Benchmark folder with the people that lines name by id."),
    ] = None,
    context: Annotated[
        str, typer.Option(metavar="CTX", help="What the rater is told about the person.")
    ] = "profile",
    system: Annotated[
        str | None, typer.Option(metavar="SPEC", help="Model that makes the answers, where lines have none.")
    ] = None,
    samples: Annotated[
        int, typer.Option(min=1, metavar="N", help="Answers the system makes to each question.")
    ] = 4,
    system_context: Annotated[
        str, typer.Option(metavar="CTX", help="What the system is told about the person.")
    ] = "profile",
    temperature: Annotated[
        float, typer.Option(min=0, metavar="X", help="Sampling temperature of the system.")
    ] = 0.8,
    length_control: Annotated[
        bool, typer.Option(help="Remove what length alone explains from the scores.")
    ] = True,
    seed: SeedOption = 0,
    budget: BudgetOption = None,
    retry: RetryOption = None,
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """Choose the best of several answers to each question by a rater, controlled for length; the same command resumes.

    The choice is shown beside what the raw scores and what choosing the longest answer would give.

    **Examples**

        personafit data best-of candidates.jsonl --rater reward:my-reward --out best.jsonl

        personafit data best-of questions.jsonl --system openai:MODEL@URL --samples 8 --rater reward:my-reward --out best.jsonl
    """
    from personafit.best_of import BestOf, carry_out
    from personafit.engine import Bars

    asked = BestOf(
        prompts=prompts,
        rater=rater,
        data=data,
        view=context,
        system=system,
        given=system_context,
        count=samples,
        temperature=temperature,
        control_length=length_control,
        seed=seed,
        budget=budget,
        retry=frozenset(retry or []),
    )
    if out.is_dir() or not out.absolute().parent.is_dir():
        raise UserError(f"{out} cannot be written; give --out a file in a folder that is there.")
    with Store(store_url(store)) as opened, Bars() as progress:
        carried = asyncio.run(carry_out(opened, asked, progress))
    code = 0
    for summary in carried.summaries:
        code = max(code, say_end(summary))
        if summary.interrupted:
            break
    choice = carried.choice
    if choice is not None and code != 130:
        with writing(out):
            out.write_bytes(b"".join(orjson.dumps(row.as_dict()) + b"\n" for row in choice.rows))
        if json:
            print_json("best-of", best_of_results(choice, asked, carried.fingerprint))
        else:
            print_choices(console(), choice, asked, out)
        missed = sum(row.chosen is None for row in choice.rows)
        if missed:
            hint(f"personafit: nothing could be chosen for {missed:,} of {len(choice.rows):,} questions.")
            code = max(code, 1)
    if code:
        raise typer.Exit(code)


def best_of_results(choice: "BestOfChoices", asked: "BestOf", fingerprint: str) -> list[Result]:
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


def print_choices(console: Console, choice: "BestOfChoices", asked: "BestOf", out: Path) -> None:
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


def _control_note(choice: "BestOfChoices") -> str | None:
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
