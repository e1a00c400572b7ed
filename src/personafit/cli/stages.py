"""`personafit stages`: from conversations to a person, their attributes, what matters, and an answer that uses it."""

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from personafit._errors import UserError
from personafit.cli.common import (
    console,
    hint,
    make_folder,
    print_object,
    say_end,
    store_url,
    this_command,
    working_on,
)
from personafit.cli.options import BudgetOption, JsonOption, OnOption, RetryOption, StoreOption
from personafit.engine import Bars
from personafit.reporting.stages_results import COVERAGE_BAR, stage_results
from personafit.stages.config import StagesConfig
from personafit.stages.running import execute
from personafit.store import Store


def stages(
    conversations: Annotated[
        Path,
        typer.Argument(
            help="Chat log: JSONL as in conversations.jsonl, ShareGPT, an OpenAI data export, or WildChat rows."
        ),
    ],
    model: Annotated[str, typer.Option(help="Model that extracts, verifies, rewrites and answers.")],
    out: Annotated[Path, typer.Option(help="Folder for everything that is made.")],
    person: Annotated[
        str,
        typer.Option(
            help="Whose the log is, where it does not say; else each conversation is somebody's own."
        ),
    ] = "",
    prepare: Annotated[
        str | None,
        typer.Option(help="Steps, as in language=en,scripted,minimum,assistant,diverse=50; or all."),
    ] = None,
    verifier: Annotated[
        list[str] | None,
        typer.Option(
            help="Who verifies: rule, fitted:DIR, people:FILE, a model; may be repeated. Default rule and the model."
        ),
    ] = None,
    prompts: Annotated[
        Path | None, typer.Option(help="JSONL of prompts to match attributes to and to answer.")
    ] = None,
    matcher: Annotated[
        str | None, typer.Option(help="Who says which attributes matter; default list:MODEL.")
    ] = None,
    benchmark: Annotated[
        str | None,
        typer.Option(
            help="Benchmark of the same people: DIR/benchmark gets its items with their attributes."
        ),
    ] = None,
    redact: Annotated[
        bool, typer.Option(help="Take e-mail addresses, phone and card numbers and keys out of all texts.")
    ] = True,
    limit: Annotated[int | None, typer.Option(min=1, help="So many conversations, drawn by seed.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of all draws.")] = 0,
    budget: BudgetOption = None,
    retry: RetryOption = None,
    on: OnOption = "local",
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """Find out from conversations who somebody is: attributes with evidence, merged, verified, and mended or dropped.

    DIR gets people.jsonl, attributes.jsonl, verdicts.jsonl, conversations.jsonl, summary.json, a page for each person to check
    what is believed of them, and with --prompts matched.jsonl and answers.jsonl. The same command resumes.

    **Examples**

        personafit stages chats.jsonl --model openai:gpt-4.1-mini --out people

        personafit stages conversations.json --person anna --model embedded:qwen2.5-coder-1.5b --out anna

        personafit stages wildchat.jsonl --prepare language=en,all,diverse=50 --model openai:MODEL@URL --out study
    """
    if not conversations.exists():
        raise UserError(f"{conversations} is not there; name a chat log or a folder that holds one.")
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
        limit=limit,
        seed=seed,
        budget=budget,
        retry=frozenset(retry or []),
        command=this_command(),
    )
    if matcher is not None and prompts is None:
        raise UserError("--matcher means nothing without --prompts: say what is asked.")
    make_folder(out)
    try:
        with Store(store_url(store)) as opened, working_on(on), Bars() as progress:
            done = asyncio.run(execute(opened, config, progress))
    except OSError as error:
        raise UserError(f"{error.filename or out} cannot be written ({error.strerror}).") from error
    code = say_end(done.summary)
    if done.counts is not None:
        pages = _write_pages(out)
        if benchmark is not None:
            _write_benchmark(benchmark, out)
        if json:
            body = {"benchmark": "stages", "results": stage_results(done.files, done.counts)}
            print_object(body)
        else:
            _print(done.counts, out, pages)
        code = max(code, _check_coverage(done.counts))
    if code:
        raise typer.Exit(code)


def _write_pages(out: Path) -> int:
    from personafit.reporting.people import write_person_pages

    return write_person_pages(out)


def _write_benchmark(benchmark: str, out: Path) -> None:
    """Write a benchmark on which the induced profile can be set beside the true one."""
    from personafit.benchmarks import open_benchmark, write_folder
    from personafit.benchmarks.induced import WithAttributes
    from personafit.stages.records import StageFile

    write_folder(
        out / "benchmark",
        WithAttributes(open_benchmark(benchmark, kind="choice"), StageFile(out).read_people()),
    )
    hint(
        f"What the induced profile is worth beside the true one: personafit run {out / 'benchmark'} --rater SPEC --view profile "
        "--view attributes:all --view none --view wrong:attributes:all"
    )


def _print(counts: dict[str, Any], out: Path, pages: int) -> None:
    read = counts["conversations"]
    print(f"{read['read']:,} conversations read, {read['messages']:,} messages of users.")
    if unparsed := read["by_status"].get("unparsed"):
        print(f"{unparsed:,} of them could not be read; {out / 'conversations.jsonl'} says why.")
    if counts["redacted"]:
        listed = ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts["redacted"].items()))
        print(f"Redacted: {listed}.")
    if counts["prepare"]:
        table = Table("Step", "People in", "left", "Conversations in", "left", "", title="Preparation")
        for step in counts["prepare"]:
            numbers = (
                step[name] for name in ("people_in", "people_out", "conversations_in", "conversations_out")
            )
            table.add_row(step["name"], *(f"{number:,}" for number in numbers), step["note"])
        console().print(table)
    table = Table("", "Attributes", "Share", title=f"{counts['people']:,} people")
    fates = counts["attributes"]
    found, verified, refined = sum(fates.values()), counts["verified"], counts["refined"]
    rows = [
        ("extracted", found, None),
        ("  of them invalid: empty, or no evidence of the user's own", fates["invalid"], found),
    ]
    rows += [("  merged into another that says the same", fates["merged"], found)]
    rows += [(label, verified[label], verified["attributes"]) for label in ("accepted", "unsure", "rejected")]
    rows += [("undecided: no verifier answered", verified["undecided"], verified["attributes"])]
    rows += [(name, refined[name], refined["given"]) for name in ("kept", "rewritten", "dropped")]
    rows += [("undecided: the ask to rewrite it came to nothing", refined["undecided"], refined["given"])]
    for name, count, total in rows:
        table.add_row(name, f"{count:,}", f"{100 * count / total:.1f} %" if total else "")
    console().print(table)
    if refined["undecided"]:
        print(
            f"{refined['undecided']:,} attributes were found fault with and are left out undecided; the same command asks again "
            "where asking failed, and attributes.jsonl says why."
        )
    if verified["modes"]:
        print("Faults: " + ", ".join(f"{mode} {count:,}" for mode, count in verified["modes"].items()) + ".")
    if counts["answers"]:
        for given, statuses in counts["answers"].items():
            listed = ", ".join(f"{count:,} {status}" for status, count in statuses.items())
            print(f"{given.capitalize()} answers: {listed or 'none'}.")
    if counts["known"]:
        print(f"Recall, and what of it refinement cost: personafit extraction measure {out}")
    print(f"People: {out / 'people.jsonl'}; {pages:,} pages to check in {out / 'pages'}")


def _check_coverage(counts: dict[str, Any]) -> int:
    coverage = counts["extraction"]["coverage"]
    if coverage is None:
        hint("personafit: no conversation was left to look for attributes in; conversations.jsonl says why.")
        return 1
    if coverage < COVERAGE_BAR:
        hint(
            f"personafit: attributes could be read from {100 * coverage:.1f} % of the conversations, below the bar of "
            f"{100 * COVERAGE_BAR:.0f} %; conversations.jsonl says why."
        )
        return 1
    read = counts["conversations"]
    readable = 1 - read["by_status"].get("unparsed", 0) / read["read"]
    if readable < COVERAGE_BAR:
        hint(
            f"personafit: {100 * readable:.1f} % of the log's conversations could be read, below the bar of "
            f"{100 * COVERAGE_BAR:.0f} %; conversations.jsonl says why."
        )
        return 1
    return 0
