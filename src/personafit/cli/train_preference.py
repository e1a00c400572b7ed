"""`personafit train preference`: a small head on marks from 1 to 5."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from personafit._errors import UserError
from personafit.cli.common import hint, make_folder


def preference(
    data: Annotated[Path, typer.Option(help="A benchmark folder with marked preference items, or starter.")],
    out: Annotated[Path, typer.Option(help="Folder for head.json and head.npz.")],
    seed: Annotated[int, typer.Option(help="Seed of the folds.")] = 0,
) -> None:
    """Fit a small CPU rater on people's marks, and say what it is worth on prompts and people left out.

    **Example**

        personafit train preference --data starter --out my-head && personafit run responses --data starter --rater fitted:my-head
    """
    from personafit.benchmarks.recentering.responses import open_responses
    from personafit.models.embeddings import make_embedder
    from personafit.training.preference_head import fit_head, head_quality, load_marked

    embedder = make_embedder()
    try:
        marked = load_marked(open_responses(data), embedder)
    except ValueError as error:
        raise UserError(f"{data}: {error}") from error
    make_folder(out)
    hint(f"Fitting on {len(marked):,} marks of {len(set(marked.people.tolist())):,} people ...")
    found = head_quality(marked, embedder.fingerprint, seed)
    head = fit_head(marked, embedder.fingerprint)
    card = {"marks": len(marked), "voters": marked.voters, "ceiling_spearman": marked.ceiling}
    try:
        head.save(out, {**card, "quality": {name: asdict(one) for name, one in found.items()}})
    except OSError as error:
        raise UserError(f"{out} cannot be written ({error.strerror}).") from error
    for name, one in found.items():
        interval = "" if one.low is None or one.high is None else f" ({one.low:.2f} to {one.high:.2f})"
        value = "undefined" if one.value is None else f"{one.value:.2f}"
        print(f"{name.replace('_', ' ')}: {value}{interval}{f'; {one.note}' if one.note else ''}")
    beside = (
        "single votes are not known here"
        if marked.ceiling is None
        else f"single raters correlate at {marked.ceiling:.2f}"
    )
    print(f"The marks are {marked.voters}; {beside} (published for people: .325).")
    print(f"Rater: fitted:{out}")
