"""`personafit train preference`: a small head on marks from 1 to 5."""

from pathlib import Path
from typing import Annotated

import typer

from personafit._errors import UserError
from personafit.cli.common import hint, make_folder


def preference(
    data: Annotated[Path, typer.Option(help="A benchmark folder with marked preference items, or starter.")],
    out: Annotated[Path, typer.Option(help="Folder for the head, quality.json and card.md.")],
    seed: Annotated[int, typer.Option(help="Seed of the folds.")] = 0,
) -> None:
    """Fit a small CPU rater on people's marks, and say what it is worth on prompts and people left out.

    **Example**

        personafit train preference --data starter --out my-head && personafit run responses --data starter --rater fitted:my-head
    """
    from personafit.benchmarks.recentering.responses import open_responses
    from personafit.models.embeddings import make_embedder
    from personafit.training.preference_card import card, write_preference
    from personafit.training.preference_head import fit_head, load_marked
    from personafit.training.preference_quality import head_quality

    embedder = make_embedder()
    benchmark = open_responses(data)
    try:
        marked = load_marked(benchmark, embedder)
    except ValueError as error:
        raise UserError(f"{data}: {error}") from error
    make_folder(out)
    hint(f"Fitting on {len(marked):,} marks of {len(set(marked.people.tolist())):,} people ...")
    figures = head_quality(marked, embedder.fingerprint, seed)
    head = fit_head(marked, embedder.fingerprint)
    source = benchmark.info.name
    try:
        write_preference(out, head, marked, figures, source)
    except OSError as error:
        raise UserError(f"{out} cannot be written ({error.strerror}).") from error
    print(card(head, marked, figures, source))
    print(f"Rater: fitted:{out}")
