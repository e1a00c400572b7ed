"""The page of a run of dialogues: one self-contained file, made like the report of a choice run and as inert as that."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
from markupsafe import Markup

from personafit.items.dialogue_questions import DIALOGUE_QUESTIONS, INSTRUMENT
from personafit.raters.dialogues.counting import RULES
from personafit.reporting.asked import endings, shown_settings
from personafit.reporting.dialogues.faults import SimulatorAudit
from personafit.reporting.dialogues.figures import dialogue_figures
from personafit.reporting.dialogues.loading import DialogueRun
from personafit.reporting.dialogues.more_tables import all_tables
from personafit.reporting.dialogues.published import BENCHMARK, published_body
from personafit.reporting.dialogues.signatures import Signature
from personafit.reporting.dialogues.tables import ResultIndex, number
from personafit.reporting.dialogues.viewer import viewer_data
from personafit.reporting.dialogues.words import explain_dialogues, signature_sentence
from personafit.reporting.page import asset, embed, fill_page, put_page
from personafit.reporting.results import Result
from personafit.reporting.sections import when
from personafit.store import Status, Store


def write_page(
    store: Store,
    run: DialogueRun,
    audit: SimulatorAudit,
    signatures: Sequence[Signature],
    results: list[Result],
    path: Path,
) -> None:
    """Write the page; an old one is replaced only once the new one is complete."""
    put_page(path, render_page(store, run, audit, signatures, results))


def render_page(
    store: Store,
    run: DialogueRun,
    audit: SimulatorAudit,
    signatures: Sequence[Signature],
    results: list[Result],
) -> str:
    """The whole page as text."""
    said = {signature_sentence(one, len(run.raters) > 1) for one in signatures}
    sentences = [one for one in explain_dialogues(run, results, signatures) if one not in said]
    return fill_page(
        "personafit.reporting.dialogues",
        "dialogues.html.j2",
        asset("personafit.reporting.dialogues", "dialogues.js"),
        asset("personafit.reporting.dialogues", "dialogues.css"),
        info=run.info,
        run=run.run,
        date=when(run.run.started),
        planned=run.planned,
        held=len(run.units),
        whole=int(run.units["whole"].sum()),
        people=run.units["person"].n_unique(),
        sentences=sentences,
        cards=score_cards(run, results),
        figures=[figure | {"svg": Markup(figure["svg"])} for figure in dialogue_figures(results)],
        tables=all_tables(run, results),
        published=published_body() if run.info["name"] == BENCHMARK else None,
        signatures=signatures,
        statuses=[status.value for status in Status],
        failures=ask_endings(run),
        instrument=instrument(store, run),
        notes=list(dict.fromkeys(note.strip() for note in run.run.config.get("notes", []) if note.strip())),
        viewer=embed(viewer_data(store, run, audit)),
    )


def score_cards(run: DialogueRun, results: list[Result]) -> list[dict[str, Any]]:
    """Per assistant, context and judge: completion, personalization, and what it brought in first."""
    index = ResultIndex(results)
    cards = []
    for result in results:
        if result.metric != "personalization" or result.slice or result.view != run.views[0]:
            continue
        if result.control == "canned assistant" and result.given != run.givens[0]:
            continue  # it does not listen: what it is given makes no difference
        key = (result.system, result.given)
        completion = next(iter(index.found.get(("completion", *key, result.rater, ()), [])), None)
        before = next(iter(index.found.get(("coverage_before", *key, None, ()), [])), None)
        cards.append(
            {
                "name": f"{index.called(result.system)} given {result.given}",
                "judge": f"{index.called(result.rater)} ({result.view})",
                "control": result.control,
                "completion": number(completion),
                "personalization": number(result),
                "before": number(before),
                "coverage": result.coverage,
            }
        )
    return sorted(cards, key=lambda card: card["control"] is not None)


def ask_endings(run: DialogueRun) -> list[dict[str, Any]]:
    """Per judge and question how asks ended, and the first sentences of what went wrong."""
    asks = run.answers.unique("ask", maintain_order=True)
    rows = []
    for rater in run.raters:
        for question in DIALOGUE_QUESTIONS:
            part = asks.filter(
                (pl.col("rater") == rater["fingerprint"]) & (pl.col("question") == question.name)
            )
            rows.append({"name": rater["name"], "question": question.name, **endings(part)})
    return rows


def instrument(store: Store, run: DialogueRun) -> dict[str, Any]:
    """Everything that shaped the numbers, and the command that makes them again."""
    config = run.run.config
    settings = shown_settings(store)
    roles = [
        *(("assistant", one) for one in run.systems),
        ("simulated user", config["user"]),
        *(("judge", one) for one in run.raters),
    ]
    return {
        "command": config.get("command") or "(started from Python)",
        "facts": {
            "run": run.run.name,
            "data set": run.run.dataset,
            "benchmark version": run.info["version"],
            "licence of the data": run.info["licence"],
            "given": ", ".join(run.givens),
            "judges' view": ", ".join(run.views),
            "seed": str(config["seed"]),
            "samples": str(config["samples"]),
            "rubrics": INSTRUMENT,
            "counting rules": RULES,
            "started": when(run.run.started),
            "finished": "not finished" if run.run.finished is None else when(run.run.finished),
        },
        "roles": [
            {
                "role": role,
                "name": one["name"],
                "fingerprint": one["fingerprint"],
                "settings": settings.get(one["fingerprint"], {}),
            }
            for role, one in roles
        ],
        "questions": [{"name": question.name, "rubric": question.rubric} for question in DIALOGUE_QUESTIONS],
    }
