"""`personafit extract`: attributes of people from their conversations, what they are worth, and where errors flow."""

import asyncio
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from personafit._errors import UserError
from personafit._hashing import content_hash
from personafit.api.gate import say_end
from personafit.api.places import hint, make_folder, store_url, working_on
from personafit.cli.common import console, print_object, show_analysis, this_command
from personafit.cli.options import (
    BackendOption,
    BudgetOption,
    JsonOption,
    RetryOption,
    SeedOption,
    StoreOption,
)
from personafit.engine import Bars
from personafit.extract.asking import StagesConfig
from personafit.extract.records import StageFile
from personafit.extract.running import execute
from personafit.reports.analysis import Analysis
from personafit.reports.extraction import COVERAGE_BAR, stage_results, summary_pieces
from personafit.reports.terminal import print_pieces
from personafit.store import Store

app = typer.Typer(
    no_args_is_help=True,
    help="Extract people's attributes from conversations, and measure what they are worth.",
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
            help="Preparation steps, such as language=en,scripted,minimum,assistant,diverse=50, or all.",
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

    Writes people.jsonl, attributes.jsonl, verdicts.jsonl, conversations.jsonl, summary.json, a page per person with
    what was found, and with --prompts matched.jsonl and answers.jsonl. The same command resumes.

    **Examples**

        personafit extract run chats.jsonl --model openai:gpt-4.1-mini --out people

        personafit extract run conversations.json --person anna --model embedded:qwen2.5-coder-1.5b --out anna

        personafit extract run wildchat.jsonl --prepare language=en,all,diverse=50 --model openai:MODEL@URL --out study
    """
    if not conversations.exists():
        raise UserError(f"{conversations} is not there; name a chat log or a folder that holds one.")
    if matcher is not None and prompts is None:
        raise UserError("--matcher means nothing without --prompts: say what is asked.")
    config = StagesConfig(
        conversations=conversations,
        model=model,
        out=out,
        person=person,
        prepare=prepare,
        verifiers=verifier or [],
        prompts=prompts,
        matcher=matcher,
        redacting=redact,
        least_confidence=confidence,
        limit=limit,
        seed=seed,
        budget=budget,
        retry=frozenset(retry or []),
        command=this_command(),
    )
    make_folder(out)
    try:
        with Store(store_url(store)) as opened, working_on(backend), Bars() as progress:
            done = asyncio.run(execute(opened, config, progress))
    except OSError as error:
        raise UserError(f"{error.filename or out} cannot be written ({error.strerror}).") from error
    code = say_end(done.summary)
    if done.counts is not None:
        if benchmark is not None:
            _write_benchmark(benchmark, out)
        if json:
            print_object({"benchmark": "stages", "results": stage_results(done.files, done.counts)})
        else:
            print_pieces(summary_pieces(done.counts, out), console())
        if problem := _below_bar(done.counts):
            hint(f"personafit: {problem}; conversations.jsonl says why.")
            code = max(code, 1)
    if code:
        raise typer.Exit(code)


def _write_benchmark(benchmark: str, out: Path) -> None:
    """Write a benchmark on which the induced profile can be set beside the true one."""
    from personafit.benchmarks import open_benchmark, write_folder
    from personafit.benchmarks.benchmark import WithAttributes

    people = StageFile(out).read_people()
    write_folder(out / "benchmark", WithAttributes(open_benchmark(benchmark, kind="choice"), people))
    hint(
        f"What the induced profile is worth beside the true one: personafit run {out / 'benchmark'} --rater SPEC --context profile "
        "--context attributes:all --context none --context wrong:attributes:all"
    )


def _below_bar(counts: dict[str, Any]) -> str | None:
    """What is wrong where too few conversations could be read, or too few of the replies about them."""
    coverage, read = counts["extraction"]["coverage"], counts["conversations"]
    readable = 1 - read["by_status"].get("unparsed", 0) / read["read"]
    bar = f"below the bar of {100 * COVERAGE_BAR:.0f} %"
    if coverage is None:
        return "no conversation was left to look for attributes in"
    if coverage < COVERAGE_BAR:
        return f"attributes could be read from {100 * coverage:.1f} % of the conversations, {bar}"
    if readable < COVERAGE_BAR:
        return f"{100 * readable:.1f} % of the log's conversations could be read, {bar}"
    return None


def _extractor(folder: Path) -> str:
    """The model that extracted the attributes of a folder of `extract run`; the folder's name where it does not say."""
    summary = StageFile(folder).summary
    return (
        str(orjson.loads(summary.read_bytes()).get("model", folder.name))
        if summary.is_file()
        else folder.name
    )


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
    from personafit.models.embeddings import make_embedder
    from personafit.reports.extraction import extraction_part, open_source, source_results

    opened = [open_source(source) for source in sources]
    if len({source.name for source in opened}) < len(opened):
        raise UserError("Two sources have the same name; tell them apart as in human=DIR synthetic=DIR.")
    results = source_results(opened, make_embedder())
    part = extraction_part(results, command=this_command(), sources=opened)
    _show(Analysis("extraction", results, part), out, json)


def _show(found: Analysis, out: Path | None, json: bool) -> None:
    """Write results.json and a page where there is a folder for them, and print the results."""
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
    """Measure how errors flow: replace people by models at one stage after the other.

    **Example**

        personafit extract flow people --data starter --matcher list:openai:MODEL --model openai:MODEL --rater openai:JUDGE --out flow
    """
    from personafit.extract.asking import Ended, Session
    from personafit.extract.flow import Flow, run_flow, trace
    from personafit.models import make_model
    from personafit.models.embeddings import make_embedder
    from personafit.reports.extraction import (
        flow_part,
        flow_results,
        labelled_pairs,
        languages_of,
        open_source,
    )

    source = open_source(str(folder))
    found = {person: [one.text for one in rows] for person, rows in (source.refined or source.found).items()}
    pairs = labelled_pairs(data, set(found))
    hint(f"{len(pairs):,} judged pairs of {len({pair.person for pair in pairs}):,} people ...")
    make_folder(out)
    answering = make_model(model) if model else None

    async def run_all(session: Session) -> Flow:
        try:
            return await run_flow(
                session, pairs, found, languages_of(data), matcher, make_embedder(), answering, rater
            )
        finally:
            if answering is not None:
                await answering.close()

    with Store(out / "flow.db") as store, Bars() as progress:
        config = {"kind": "flow", "folder": str(folder), "matcher": matcher, "model": model, "judge": rater}
        run = store.begin_run(f"flow-{content_hash(config)[:8]}", "flow", config, 0)
        session = Session(store, run, progress)
        try:
            traced = trace(asyncio.run(run_all(session)))
        except Ended:
            done = session.summary
            why = f" ({done.last_failure.rstrip('.')})" if done.last_failure else ""
            raise UserError(
                f"The flow was stopped{why}; the same command goes on from there.",
                130 if done.interrupted else 1,
            ) from None
    names = {"attributes": _extractor(folder), "relevance": matcher}
    if model:
        names["response"] = f"{model}, judged by {rater}"
    results = flow_results(traced, names)
    part = flow_part(results, out.resolve().name, this_command())
    _show(Analysis("flow", results, part), out, json)
