"""`personafit analyze`: what else a stored run tells about its raters, answers and data."""

from pathlib import Path
from typing import Annotated

import typer

from personafit import analyze as look_into
from personafit.cli.common import show_analysis
from personafit.cli.options import JsonOption, MetricOption, RunArgument, StoreOption

app = typer.Typer(no_args_is_help=True, help="Look into a run: bias, calibration, failures, power and more.")


@app.command("bias")
def bias(run: RunArgument, store: StoreOption = None, json: JsonOption = False) -> None:
    """Measure what moves each judge besides the person: position, length, mention, its own model family.

    People's own biases stand beside the judge's. For relevance: picking more than people do, hedged attributes, long lists.

    **Example**

        personafit analyze bias last
    """
    show_analysis(look_into(run, "bias", store=store), json)


@app.command("correct")
def correct(
    run: RunArgument,
    human: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.jsonl",
            help='People\'s labels, such as {"item": "answers/17/generic", "label": "answer"} on each line, or the votes.jsonl of a '
            "study. Required for choices; for other kinds the default is what people said about these items in the store.",
        ),
    ] = None,
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """Correct a judge's score with people's labels of a random part of the items (prediction-powered inference).

    Works on win rate and accuracy of choices, the share called relevant, and ratings of preferences and dialogues.

    **Examples**

        personafit analyze correct last --human labels.jsonl

        personafit analyze correct last
    """
    show_analysis(look_into(run, "correct", human=human, store=store), json)


@app.command("calibration")
def calibration(run: RunArgument, store: StoreOption = None, json: JsonOption = False) -> None:
    """Test whether a judge's confidence is calibrated, against gold and against votes.

    For choices, and for relevance raters that give probabilities.

    **Example**

        personafit analyze calibration last
    """
    show_analysis(look_into(run, "calibration", store=store), json)


@app.command("aspects")
def aspects(run: RunArgument, store: StoreOption = None, json: JsonOption = False) -> None:
    """Score the five HelpSteer2 aspects against gold, by tier, and correlate them with being chosen.

    Needs a run with an `aspects:` rater. `report --format figures` writes the heat map as a file.

    **Example**

        personafit run starter --rater aspects:embedded --limit 20
        personafit analyze aspects last
    """
    show_analysis(look_into(run, "aspects", store=store), json)


@app.command("failures")
def failures(
    run: RunArgument,
    rater: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Whose choices or answers; default the run's first rater."),
    ] = None,
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """Show failure modes: how chosen answers fall short, or where a rater is furthest from people.

    Rules count the chosen answers that take up much of the profile, are generic, name the person, refuse or contradict the
    profile. For relevance, preferences and dialogues the answers furthest from people's are shown, for writing the texts least like the
    person's own.

    **Examples**

        personafit analyze failures last

        personafit analyze failures last --rater openai:MODEL@URL
    """
    show_analysis(look_into(run, "failures", rater=rater, store=store), json)


@app.command("power")
def power(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="The pilot: a run's name, its folder, or `last`.")
    ],
    people: Annotated[
        int | None, typer.Option(min=2, metavar="N", help="People in the planned run; default as in RUN.")
    ] = None,
    items: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Items per person; default as in RUN.")
    ] = None,
    prompts: Annotated[
        int | None,
        typer.Option(min=2, metavar="N", help="Prompts, where they recur across people; default as in RUN."),
    ] = None,
    difference: Annotated[
        float | None,
        typer.Option(metavar="X", help="Say what it takes to detect this difference, such as 0.03."),
    ] = None,
    metric: MetricOption = None,
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """Compute the smallest difference a planned run can detect, and how many people, prompts or items a difference needs.

    **Examples**

        personafit analyze power last --people 100 --items 20

        personafit analyze power last --difference 0.03
    """
    found = look_into(
        run,
        "power",
        people=people,
        items=items,
        prompts=prompts,
        difference=difference,
        metric=metric,
        store=store,
    )
    show_analysis(found, json)


@app.command("retrieval")
def retrieval(
    benchmark: Annotated[
        str, typer.Argument(help="starter, or a benchmark folder with relevant_memories.jsonl.")
    ] = "starter",
    embedder: Annotated[
        str, typer.Option(metavar="SPEC", help="Embedding model: use (default), or openai:MODEL@URL.")
    ] = "",
    json: JsonOption = False,
) -> None:
    """Measure recall and precision of memory retrieval at 1, 3 and 5 memories, against those known to matter for an item.

    **Example**

        personafit analyze retrieval starter
    """
    show_analysis(look_into(benchmark, "retrieval", embedder=embedder), json)
