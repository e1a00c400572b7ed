"""`personafit extract`: attributes of people from their conversations, their quality, and how errors propagate."""

from pathlib import Path
from typing import Annotated

import orjson
import typer

from personafit import Analysis
from personafit.api.extraction import extract_attributes, measure_attributes, trace_errors
from personafit.api.gate import say_end
from personafit.api.places import hint, make_folder
from personafit.api.report import print_pieces
from personafit.cli.common import console, print_object, show_analysis, this_command
from personafit.cli.options import (
    BackendOption,
    BudgetOption,
    JsonOption,
    RetryOption,
    SeedOption,
    StoreOption,
)

app = typer.Typer(
    no_args_is_help=True,
    help="Extract people's attributes from conversations, and measure their quality.",
)


@app.command("run")
def run(
    conversations: Annotated[
        Path,
        typer.Argument(
            help="Chat log: JSONL as in conversations.jsonl, ShareGPT, an OpenAI data export, or WildChat rows."
        ),
    ],
    model: Annotated[
        str, typer.Option(metavar="SPEC", help="Model that extracts, verifies, rewrites and answers.")
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Output folder.")],
    person: Annotated[
        str,
        typer.Option(
            metavar="ID",
            help="Person the log belongs to, where it does not say; default one person per conversation.",
        ),
    ] = "",
    prepare: Annotated[
        str | None,
        typer.Option(
            metavar="STEPS",
            help="Steps of preparation, separated by commas: language=CODE, scripted, minimum, assistant, diverse=N; all "
            "means scripted, minimum and assistant.",
        ),
    ] = None,
    verifier: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SPEC",
            help="Verifier: rule, fitted:DIR or a model; default rule and the model. Repeatable.",
        ),
    ] = None,
    prompts: Annotated[
        Path | None, typer.Option(metavar="FILE.jsonl", help="Prompts to match attributes to and to answer.")
    ] = None,
    matcher: Annotated[
        str | None, typer.Option(metavar="SPEC", help="Rater of which attributes matter; default list:MODEL.")
    ] = None,
    benchmark: Annotated[
        str | None,
        typer.Option(
            metavar="BENCHMARK",
            help="Benchmark of the same people: write its items with their attributes to DIR/benchmark.",
        ),
    ] = None,
    redact: Annotated[
        bool, typer.Option(help="Remove e-mail addresses, phone and card numbers and keys from all texts.")
    ] = True,
    confidence: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=1.0,
            help="Use only attributes the extractor is at least this sure of; the published pipeline uses 0.4.",
        ),
    ] = 0.0,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Use a random sample of N conversations.")
    ] = None,
    seed: SeedOption = 0,
    budget: BudgetOption = None,
    retry: RetryOption = None,
    backend: BackendOption = "local",
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """Extract people's attributes from conversations, with evidence; merge, verify, and rewrite or drop them.

    Writes people.jsonl, attributes.jsonl, verdicts.jsonl, conversations.jsonl, summary.json, and with --prompts
    matched.jsonl and answers.jsonl. The same command resumes.

    **Examples**

        personafit extract run chats.jsonl --model openai:gpt-4.1-mini --out people

        personafit extract run conversations.json --person anna --model embedded:qwen2.5-coder-1.5b --out anna

        personafit extract run wildchat.jsonl --prepare language=en,all,diverse=50 --model openai:MODEL@URL --out study
    """
    done = extract_attributes(
        conversations,
        model=model,
        out=out,
        person=person,
        prepare=prepare,
        verifiers=verifier or (),
        prompts=prompts,
        matcher=matcher,
        benchmark=benchmark,
        redact=redact,
        confidence=confidence,
        limit=limit,
        seed=seed,
        budget=budget,
        retry=retry or (),
        backend=backend,
        store=store,
        command=this_command(),
    )
    code = say_end(done.summary)
    if done.counts is not None:
        if json:
            print_object({"benchmark": "stages", "results": done.results})
        else:
            print_pieces(done.pieces, console())
        if problem := done.problem:
            hint(f"personafit: {problem}; conversations.jsonl says why.")
            code = max(code, 1)
    if code:
        raise typer.Exit(code)


@app.command("measure")
def measure(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME=]SOURCE...",
            help="A folder of `extract run`, a folder of labels, published attributes, or starter.",
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for results.json and extraction.html.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Measure extracted attributes: acceptance, failure modes, diversity, recall and precision.

    Several sources are compared with the first one, so name people's data first.

    **Examples**

        personafit extract measure people

        personafit extract measure human=study-of-people synthetic=study-of-agents --out side-by-side
    """
    _show(measure_attributes(sources, command=this_command()), out, json)


def _show(found: Analysis, out: Path | None, json: bool) -> None:
    """Write results.json and a page if there is a folder for them, and print the results."""
    if out is not None:
        make_folder(out)
        body = found.as_dict() | {"command": this_command()}
        (out / "results.json").write_bytes(orjson.dumps(body, option=orjson.OPT_INDENT_2))
        page = found.report(out / f"{found.benchmark}.html")
    show_analysis(found, json)
    if out is not None and not json:
        print(f"Wrote {page}.")


@app.command("flow")
def flow(
    folder: Annotated[Path, typer.Argument(help="A folder of `extract run`.")],
    data: Annotated[
        Path,
        typer.Option(
            metavar="DIR", help="People's labels of which attributes matter: a benchmark folder, or starter."
        ),
    ],
    matcher: Annotated[
        str, typer.Option(metavar="SPEC", help="Rater that says which attributes matter in people's place.")
    ],
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for results.json, flow.html and the models' replies.")
    ],
    model: Annotated[
        str | None,
        typer.Option(metavar="SPEC", help="Model that answers; without it the flow ends with relevance."),
    ] = None,
    rater: Annotated[
        str, typer.Option(metavar="SPEC", help="Preference rater that judges the responses.")
    ] = "rule:mention",
    json: JsonOption = False,
) -> None:
    """Measure how errors propagate: replace people by models, one stage at a time.

    **Example**

        personafit extract flow people --data starter --matcher list:openai:MODEL --model openai:MODEL --rater openai:JUDGE --out flow
    """
    found = trace_errors(folder, data, matcher, out, model=model, rater=rater, command=this_command())
    _show(found, out, json)
