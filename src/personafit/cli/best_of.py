"""`personafit data best-of`: choose the best of several answers by a rater, and say what length alone would have chosen."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import orjson
import typer

from personafit._errors import UserError, writing
from personafit.api.gate import say_end
from personafit.api.places import hint, results_object, store_url
from personafit.cli.common import print_object
from personafit.cli.options import BudgetOption, JsonOption, RetryOption, SeedOption, StoreOption
from personafit.reports.result import Result
from personafit.store import Store

if TYPE_CHECKING:
    from personafit.best_of import BestOfChoices


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

    **Examples**

        personafit data best-of candidates.jsonl --rater reward:my-reward --out best.jsonl

        personafit data best-of questions.jsonl --system openai:MODEL@URL --samples 8 --rater reward:my-reward --out best.jsonl
    """
    from personafit.best_of import BestOf, run_best_of
    from personafit.engine import Bars

    asked = BestOf(
        prompts=prompts,
        rater=rater,
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
        carried = asyncio.run(run_best_of(opened, asked, progress))
    code = 0
    for summary in carried.summaries:
        code = max(code, say_end(summary))
        if summary.interrupted:
            break
    choice = carried.choice
    if choice is not None and code != 130:
        with writing(out):
            out.write_bytes(b"".join(orjson.dumps(row.as_dict()) + b"\n" for row in choice.rows))
        same, note = choice.same_as_longest(), _control_note(choice)
        if json:
            figure = Result.of(
                same,
                metric="same_as_longest",
                rater=rater,
                system=system,
                given=system_context if system else None,
                view=context,
                coverage=choice.coverage,
                fingerprint=carried.fingerprint,
                note=note,
            )
            print_object(results_object("best-of", [figure]))
        else:
            if note:
                print(note)
            if same.value is not None:
                print(f"{100 * same.value:.1f} % of the choices are the longest answer.")
            print(f"Coverage {100 * choice.coverage:.1f} %. Choices: {out}")
        missed = sum(row.chosen is None for row in choice.rows)
        if missed:
            hint(f"personafit: nothing could be chosen for {missed:,} of {len(choice.rows):,} questions.")
            code = max(code, 1)
    if code:
        raise typer.Exit(code)


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
