"""`personafit best-of`: of several answers to each question, the one that fits the person best by a rater."""

import asyncio
from pathlib import Path
from typing import Annotated

import orjson
import typer
from rich.table import Table

from personafit._errors import UserError
from personafit.best_of.choosing import BestOfChoices
from personafit.best_of.running import BestOf, Carried, carry_out
from personafit.cli.common import console, hint, print_json, say_end, store_url
from personafit.cli.options import BudgetOption, JsonOption, RetryOption, StoreOption
from personafit.engine import Bars
from personafit.reporting import Result
from personafit.statistics import Estimate
from personafit.store import Store


def best_of(
    prompts: Annotated[
        Path,
        typer.Argument(help="JSONL: person, question and answers on each line; see docs/reward-raters.md."),
    ],
    rater: Annotated[str, typer.Option(help="Who chooses: reward:PATH, or any other rater.")],
    out: Annotated[Path, typer.Option(help="JSONL file to write: the choices, with all scores.")],
    data: Annotated[
        Path | None, typer.Option(help="Benchmark folder with the people that lines name by id.")
    ] = None,
    view: Annotated[str, typer.Option(help="What the rater sees of the person.")] = "profile",
    system: Annotated[
        str | None, typer.Option(help="Model that makes the answers, where lines have none.")
    ] = None,
    samples: Annotated[int, typer.Option(min=1, help="Answers the system makes to each question.")] = 4,
    given: Annotated[str, typer.Option(help="What the system is told of the person.")] = "profile",
    temperature: Annotated[float, typer.Option(min=0, help="How freely the system answers.")] = 0.8,
    length_control: Annotated[
        bool, typer.Option(help="Take out of the scores what length alone explains.")
    ] = True,
    seed: Annotated[int, typer.Option(help="Seed of all draws.")] = 0,
    budget: BudgetOption = None,
    retry: RetryOption = None,
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """Choose among answers by a rater, with length taken out of its scores; the same command resumes.

    What is chosen stands beside what the scores alone would choose and what choosing the longest would.

    **Examples**

        personafit best-of candidates.jsonl --rater reward:my-reward --out best.jsonl

        personafit best-of questions.jsonl --system openai:MODEL@URL --samples 8 --rater reward:my-reward --out best.jsonl
    """
    asked = BestOf(
        prompts=prompts,
        rater=rater,
        data=data,
        view=view,
        system=system,
        given=given,
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
    code = _say_end(carried)
    choice = carried.choice
    if choice is not None and code != 130:
        _write(out, choice)
        if json:
            print_json("best-of", _results(choice, asked, carried.fingerprint))
        else:
            _print(choice, asked, out)
        missed = sum(row.chosen is None for row in choice.rows)
        if missed:
            hint(f"personafit: nothing could be chosen for {missed:,} of {len(choice.rows):,} questions.")
            code = max(code, 1)
    if code:
        raise typer.Exit(code)


def _write(out: Path, choice: BestOfChoices) -> None:
    try:
        with out.open("wb") as file:
            for row in choice.rows:
                file.write(orjson.dumps(row.as_dict(), option=orjson.OPT_APPEND_NEWLINE))
    except OSError as error:
        raise UserError(f"{out} cannot be written ({error.strerror}); choose another with --out.") from error


def _results(choice: BestOfChoices, asked: BestOf, fingerprint: str) -> list[Result]:
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


def _print(choice: BestOfChoices, asked: BestOf, out: Path) -> None:
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
    console().print(table)
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


def _say_end(carried: Carried) -> int:
    code = 0
    for summary in carried.summaries:
        code = max(code, say_end(summary))
        if summary.interrupted:
            break
    return code
