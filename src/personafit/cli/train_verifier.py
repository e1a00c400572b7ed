"""`personafit train verifier`: a small classifier that doubts statements about people."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from personafit._errors import UserError
from personafit.cli.common import hint, make_folder, print_json
from personafit.cli.options import JsonOption


def verifier(
    data: Annotated[
        str,
        typer.Option(help="starter, or a folder with conversations.jsonl and labels.jsonl."),
    ],
    out: Annotated[Path, typer.Option(help="Folder for fitted.json, quality.json and card.md.")],
    rater: Annotated[
        list[str] | None,
        typer.Option(help="A model to stand beside it, as a prompted verifier; may be repeated."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Ask models about so many statements, drawn by seed.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the draw.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Fit a verifier on labelled statements about people, and say what it is worth on people left out.

    **Examples**

        personafit train verifier --data starter --out my-verifier

        personafit train verifier --data DIR --out my-verifier --rater openai:gpt-4.1-mini --limit 200

        personafit stages chats.jsonl --model SPEC --verifier fitted:my-verifier --out people
    """
    from personafit.benchmarks.statements import load_statements
    from personafit.cli.train_matcher_grpo import figure_results
    from personafit.engine import Bars
    from personafit.models.embeddings import make_embedder
    from personafit.store import Store
    from personafit.training.verifier import feature_rows, fit_verifier
    from personafit.training.verifier_card import card, write_verifier
    from personafit.training.verifier_models import drawn, model_figures
    from personafit.training.verifier_quality import left_out, verifier_quality

    if limit is not None and not rater:
        raise UserError("--limit is about models: name one with --rater.")
    statements = load_statements(data)
    embedder = make_embedder()
    make_folder(out)
    people = len(set(statements.people))
    hint(f"Reading {len(statements):,} statements about {people:,} people beside their conversations ...")
    rows = feature_rows(statements, embedder)
    facts = {"source": statements.source, "statements": len(statements), "people": people}
    counts = Counter(statements.labels)
    fitted = fit_verifier(
        statements,
        rows,
        embedder,
        facts | {name: counts[name] for name in ("accepted", "unsure", "rejected")},
    )
    hint("Leaving every person out in turn ...")
    figures = verifier_quality(statements, rows, embedder)
    if rater:
        flags = left_out(rows, statements.problematic, statements.people)[1]
        places = drawn(statements, limit, seed)
        with Store(out / "asks.db") as store, Bars() as progress:
            figures += asyncio.run(model_figures(statements, flags, rater, places, store, progress))
    try:
        write_verifier(out, fitted, figures)
    except OSError as error:
        raise UserError(f"{out} cannot be written ({error.strerror}).") from error
    if as_json:
        print_json(statements.source, figure_results(figures, f"fitted:{out}", fitted.fingerprint))
        return
    print(card(fitted, figures))
    print(f"Verifier: fitted:{out}")
