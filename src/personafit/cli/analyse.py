"""`personafit aspects`, `failures` and `contrasts`, and the study behind `report --errors`: what else a stored run tells."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from personafit._errors import UserError
from personafit.cli.common import (
    console,
    judged_run,
    load_run,
    open_choices,
    out_folder,
    print_object,
    store_url,
)
from personafit.cli.options import JsonOption, RunArgument, StoreOption
from personafit.kinds.lines import RunLines
from personafit.models import make_model
from personafit.reporting import RunScores
from personafit.reporting.analysis_tables import (
    print_aspects,
    print_contrasts,
    print_failures,
    print_unit_failures,
)
from personafit.reporting.aspects import aspect_correlations, aspect_results, published_aspects, write_aspects
from personafit.reporting.contrasts import contrasts as all_contrasts
from personafit.reporting.errors import CODES, draw_errors, write_study
from personafit.reporting.failures import (
    SecondOpinion,
    answer_failures,
    ask_model,
    failure_results,
    find_rater,
)
from personafit.reporting.line_failures import Failures, line_failures
from personafit.reporting.lines import run_lines
from personafit.reporting.settings import as_dicts, print_settings, settings, write_settings
from personafit.store import Store

OutOption = Annotated[Path | None, typer.Option(help="Folder for what is written; default the run's.")]


def aspects(
    run: RunArgument, store: StoreOption = None, out: OutOption = None, json: JsonOption = False
) -> None:
    """Say what the five HelpSteer2 aspects score against gold, by tier, and how they correlate with being chosen.

    Needs a run with an `aspects:` rater. Writes the heat map as aspects.png and aspects.svg.

    **Example**

        personafit run starter --rater aspects:embedded --limit 20
        personafit aspects last
    """
    with Store(store_url(store)) as opened:
        scores = load_run(opened, run)
        results = aspect_results(scores)
        found = aspect_correlations(opened, scores)
        source, rows = published_aspects(scores)
        if json:
            body = {
                "results": [result.as_dict() for result in results],
                "correlations": [asdict(one) for one in found],
                "published": {"source": source, "rows": rows, "note": "no interval"} if rows else None,
            }
            _print_json(scores, body)
            return
        print_aspects(console(), scores, results, found)
        folder = out_folder(out, scores.run.name)
        try:
            paths = write_aspects(scores, opened, folder)
        except OSError as error:
            raise UserError(f"{folder} cannot be written ({error.strerror}).") from error
    print(f"Heat map: {', '.join(map(str, paths))}")


def failures(
    run: RunArgument,
    rater: Annotated[
        str | None, typer.Option(help="Whose choices or answers; default the first rater of the run.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="SPEC", help="A model to ask where no rule saw anything; choices.")
    ] = None,
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """Show what goes wrong: how chosen answers fall short, or where a rater is furthest from people.

    Of choices it is counted whether the chosen answers are over-personal, generic, uncomfortable, unhelpful or contradictory. Rules
    decide first; with --model, a model is asked one question about each answer no rule decided, and is paid for again each time.
    Gold's chosen and rejected answers stand beside the rater's. Of relevance, preferences and dialogues the answers are shown that
    are furthest from people's, of writing the texts that are least like the person's own.

    **Examples**

        personafit failures last

        personafit failures last --rater openai:MODEL@URL
    """
    with Store(store_url(store)) as opened:
        record = judged_run(opened, run)
        scores = open_choices(opened, record)
        if scores is None:
            if model is not None:
                kind = record.config["kind"]
                raise UserError(
                    f"--model is asked about chosen answers, and {record.name} is a {kind} run: leave it out."
                )
            lines = run_lines(opened, record)
            _show_failures(lines, line_failures(lines, rater), json)
            return
        who = find_rater(scores, rater)
        frame = answer_failures(opened, scores, who)
        opinion = None
        if model is not None:
            opinion = asyncio.run(_second_opinion(opened, scores, frame, model))
            frame = opinion.frame
        results = failure_results(scores, frame, who)
    how = "rules only" if opinion is None else f"rules, then a model: {opinion.sentence}"
    if json:
        _print_json(scores, {"results": [result.as_dict() for result in results], "note": how})
        return
    print_failures(console(), scores, results)
    print(f"{who['name']}; {how}.".replace("..", "."))


def _show_failures(opened: RunLines, found: Sequence[Failures], json: bool) -> None:
    if json:
        print_object(
            {
                "benchmark": opened.info["name"],
                "results": [result.as_dict() for one in found for result in one.results],
                "items": [{"who": one.name, **row} for one in found for row in one.units.to_dicts()],
            }
        )
        return
    for one in found:
        print_unit_failures(console(), one)


def contrasts(
    run: RunArgument, store: StoreOption = None, out: OutOption = None, json: JsonOption = False
) -> None:
    """Put the PersonaFeedback paper's takeaways to a run and to the published figures: reasoning, size, reward models, memory.

    A run with a view made from memories also gives the table and the figure of its settings, as settings.png and settings.svg.

    **Example**

        personafit contrasts last
    """
    with Store(store_url(store)) as opened:
        scores = load_run(opened, run)
        found = all_contrasts(opened, scores)
        shown = settings(scores)
    if json:
        body = {"contrasts": [contrast.as_dict() for contrast in found]}
        _print_json(scores, body | ({"settings": as_dicts(shown)} if shown else {}))
        return
    print_contrasts(console(), scores, found)
    if shown:
        print_settings(console(), shown)
        folder = out_folder(out, scores.run.name)
        try:
            print(f"Figure: {', '.join(map(str, write_settings(shown, folder)))}")
        except OSError as error:
            raise UserError(f"{folder} cannot be written ({error.strerror}).") from error


def errors_study(
    store: Store,
    scores: RunScores,
    n: int,
    tier: str | None = None,
    rater: str | None = None,
    seed: int = 0,
    out: Path | None = None,
) -> None:
    """What `report RUN --errors N --tier T` does: draw wrong choices into a study and say where it lies."""
    frame = draw_errors(store, scores, rater, n, tier, seed)
    who = find_rater(scores, rater)["name"]
    where = f" on {tier}" if tier else ""
    if frame.is_empty():
        print(f"{who} made no wrong choice{where}: there is nothing to code.")
        return
    paths = write_study(frame, out_folder(out, scores.run.name) / f"errors-{tier or 'all'}")
    fewer = "" if len(frame) == n else f" (all there are; {n} were asked for)"
    print(f"{len(frame)} wrong choices of {who}{where}{fewer}, from {frame['person'].n_unique()} people.")
    print(f"Fill `code` with one of {', '.join(CODES)}: {paths[1]} (the same rows in {paths[0].name})")


async def _second_opinion(store: Store, scores: RunScores, frame: Any, spec: str) -> SecondOpinion:
    model = make_model(spec)
    try:
        return await ask_model(store, scores, frame, model)
    finally:
        await model.close()


def _print_json(scores: RunScores, body: dict[str, Any]) -> None:
    whole = {"benchmark": scores.info["name"], **body}
    print_object(whole)
