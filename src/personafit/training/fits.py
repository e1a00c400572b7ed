"""Fitting small raters from a folder of human judgments: read, cross-validate, fit, write the folder of the rater."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from personafit._errors import UserError
from personafit.training.cards import write_rater

Say = Callable[[str], None]


@dataclass(frozen=True)
class FittedRater:
    """A rater that was fitted and written to a folder."""

    card: str
    """What it is and what it is worth, in words."""
    source: str
    """Name of the data it was fitted on."""
    fingerprint: str = ""
    figures: Sequence[Any] = ()
    """What it scored on data left out, where that is not only in the card."""


def fit_pairwise_rater(data: Path, out: Path, seed: int, say: Say) -> FittedRater:
    """Fit a rater of choices between two answers, cross-validated by person."""
    from personafit.training.pairwise import cross_fit, fit_pairwise
    from personafit.training.pairwise_quality import card, load_choices, open_choices, quality

    benchmark = open_choices(data)
    choices = load_choices(benchmark)
    people = len({choice.person for choice in choices})
    say(f"Cross-fitting {len(choices):,} choices of {people:,} people, then fitting on all of them ...")
    try:
        report = quality(choices, cross_fit(choices, seed=seed))
        model = fit_pairwise(choices, seed=seed)
    except ValueError as error:
        raise UserError(f"{data}: {error}") from error
    text = card(model, report, benchmark.info.name)
    write_rater(out, model, report, text)
    return FittedRater(text, benchmark.info.name)


def fit_matcher_rater(data: Path, out: Path, seed: int, say: Say) -> FittedRater:
    """Fit a kernel rater of which attributes matter for a prompt, cross-validated by prompt."""
    from personafit.benchmarks.recentering import open_relevance
    from personafit.models.embeddings import make_embedder
    from personafit.raters.fitted.matcher import KernelSettings, embed_pairs
    from personafit.training.matcher import fit_matcher, load_judged_pairs, solve_pairs
    from personafit.training.matcher_quality import card, matcher_quality

    benchmark = open_relevance(data)
    judged = load_judged_pairs(benchmark, say)
    embedder = make_embedder()
    _make(out)
    say(f"Fitting on {len(judged):,} pairs of {len(set(judged.prompts)):,} prompts ...")
    solved = solve_pairs(judged, embed_pairs(embedder, judged.texts), KernelSettings())
    fitted = fit_matcher(judged, solved)
    figures = matcher_quality(judged, solved, seed=seed, note=say)
    text = card(fitted, figures, benchmark.info.name)
    write_rater(out, fitted, figures, text)
    return FittedRater(text, benchmark.info.name, fitted.fingerprint, figures)


def fit_preference_rater(data: Path, out: Path, seed: int, say: Say) -> FittedRater:
    """Fit a rater of preferences from 1 to 5, cross-validated by prompt and person."""
    from personafit.benchmarks.recentering.responses import open_responses
    from personafit.models.embeddings import make_embedder
    from personafit.training.preference import card, fit_head, head_quality, load_marked

    embedder = make_embedder()
    benchmark = open_responses(data)
    try:
        marked = load_marked(benchmark, embedder)
    except ValueError as error:
        raise UserError(f"{data}: {error}") from error
    _make(out)
    say(f"Fitting on {len(marked):,} marks of {len(set(marked.people.tolist())):,} people ...")
    figures = head_quality(marked, embedder.fingerprint, seed)
    head = fit_head(marked, embedder.fingerprint)
    text = card(head, marked, figures, benchmark.info.name)
    write_rater(out, head, figures, text)
    return FittedRater(text, benchmark.info.name)


def fit_verifier_rater(
    data: str, out: Path, raters: Sequence[str], limit: int | None, seed: int, say: Say
) -> FittedRater:
    """Fit a verifier of statements about people, cross-validated by person, beside prompted models where `raters` names some."""
    from personafit.benchmarks.statements import load_statements
    from personafit.engine import Bars
    from personafit.models.embeddings import make_embedder
    from personafit.store import Store
    from personafit.training.verifier import feature_rows, fit_verifier
    from personafit.training.verifier_models import drawn, model_figures
    from personafit.training.verifier_quality import card, left_out, verifier_quality

    statements = load_statements(data)
    embedder = make_embedder()
    _make(out)
    people = len(set(statements.people))
    say(f"Reading {len(statements):,} statements about {people:,} people beside their conversations ...")
    rows = feature_rows(statements, embedder)
    counts = Counter(statements.labels)
    facts = {"source": statements.source, "statements": len(statements), "people": people}
    facts |= {name: counts[name] for name in ("accepted", "unsure", "rejected")}
    fitted = fit_verifier(statements, rows, embedder, facts)
    say("Leaving every person out in turn ...")
    figures = verifier_quality(statements, rows, embedder)
    if raters:
        flags = left_out(rows, statements.problematic, statements.people)[1]
        places = drawn(statements, limit, seed)
        with Store(out / "asks.db") as store, Bars() as progress:
            figures += asyncio.run(model_figures(statements, flags, [*raters], places, store, progress))
    text = card(fitted, figures)
    write_rater(out, fitted, figures, text)
    return FittedRater(text, statements.source, fitted.fingerprint, figures)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(folder, error) from error


def _unwritable(folder: Path, error: OSError) -> UserError:
    return UserError(f"{folder} cannot be written ({error.strerror}); choose another with --out.")
