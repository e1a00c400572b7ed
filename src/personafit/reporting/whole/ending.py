"""The last chapters: how asks ended, what can be looked into, and the instrument with the commands that make it all again."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

from personafit.items.preference import PREFER
from personafit.reporting import sections
from personafit.reporting.dialogues import page as dialogue_page
from personafit.reporting.dialogues.viewer import viewer_data
from personafit.reporting.html import item_browser
from personafit.reporting.page import PACKAGE, embed, fill_block
from personafit.reporting.preference import page as preference_page
from personafit.reporting.preference.tables import all_notes as preference_notes
from personafit.reporting.relevance import page as relevance_page
from personafit.reporting.relevance.browse import browser_data as relevance_data
from personafit.reporting.relevance.tables import all_notes as relevance_notes
from personafit.reporting.sections import when
from personafit.reporting.whole.collected import Collected
from personafit.reporting.whole.content import (
    Browser,
    Chapter,
    Errors,
    Grid,
    Instrument,
    Participant,
    Piece,
    Prose,
    count_row,
    made_chapter,
)
from personafit.reporting.whole.remade import other_instruments
from personafit.reporting.writing.browse import EXPLAINED, writing_browser
from personafit.store import RunRecord, Status

MISSING = "not yet asked"
NAMING = r'(\s(?:id|for|aria-labelledby|aria-describedby|aria-controls))="'  # attributes that name an element


def failures(given: Collected) -> Chapter:
    """How every ask ended, in all runs."""
    endings: dict[str, list[dict[str, Any]]] = {}
    for name, one in given.choices.items():
        endings[name] = sections.failures(one.totals)
    for name, talk in given.dialogues.items():
        endings[name] = dialogue_page.ask_endings(talk.run)
    for name, relevant in given.relevance.items():
        endings[name] = relevance_page.ask_endings(relevant.scores)
    for name, preferred in given.preferences.items():
        endings[name] = preference_page.ask_endings(preferred.scores)
    for name, hostile in given.injections.items():
        endings[name] = sections.failures(hostile.totals)
    return made_chapter(
        "failures",
        "Failures",
        "A failure is never counted as a score and never dropped: it lowers coverage.",
        {name: _ending_pieces(rows) for name, rows in endings.items()},
        "No run was given that asked anybody.",
    )


def _ending_pieces(rows: Sequence[Mapping[str, Any]]) -> list[Piece]:
    several = any("question" in row for row in rows)
    counted = any("missing" in row for row in rows)
    made = []
    for row in rows:
        counts = [*row["counts"], *([row.get("missing", 0)] if counted else [])]
        names = [row["name"], *([row["question"]] if several else [])]
        made.append(count_row(names, counts))
    grid = Grid(
        "How asks ended",
        "How many asks of each rater ended how.",
        ["rater", *(["question"] if several else [])],
        [*(status.value for status in Status), *([MISSING] if counted else [])],
        made,
    )
    errors = [
        Errors(" · ".join(filter(None, [row["name"], row.get("question")])), row["errors"])
        for row in rows
        if row["errors"]
    ]
    return [grid, *errors]


def items(given: Collected) -> Chapter:
    """Every item, pair and dialogue: who was told what and said what."""
    store = given.store
    parts: dict[str, list[Piece]] = {}
    judged = {name: one.totals for name, one in given.choices.items()}
    judged |= {name: hostile.totals for name, hostile in given.injections.items()}
    for name, totals in judged.items():
        value = item_browser(store, totals)
        parts[name] = [_browser(name, "choice", len(parts), PACKAGE, "report.html.j2", "browser-data", value)]
    for name, wrote in given.writings.items():
        value, called = writing_browser(store, wrote.scores), {"rater_label": "System"}
        texts = _browser(name, "choice", len(parts), PACKAGE, "report.html.j2", "browser-data", value, called)
        parts[name] = [Prose(EXPLAINED, "small"), texts]
    for name, talk in given.dialogues.items():
        value = viewer_data(store, talk.run, talk.audit)
        package = "personafit.reporting.dialogues"
        parts[name] = [
            _browser(name, "dialogue", len(parts), package, "dialogues.html.j2", "viewer-data", value)
        ]
    for name, relevant in given.relevance.items():
        value = relevance_data(store, relevant.scores)
        package = "personafit.reporting.relevance"
        parts[name] = [
            _browser(name, "relevance", len(parts), package, "relevance.html.j2", "browser-data", value)
        ]
    for name, preferred in given.preferences.items():
        values = preference_page.browser_values(store, preferred.scores)
        package = "personafit.reporting.preference"
        parts[name] = [
            _browser(name, "preference", len(parts), package, "preference.html.j2", "", None, values)
        ]
    return made_chapter(
        "items",
        "Items",
        "Every item with its person, the question, the answers side by side, who chose what, and what was replied word for word.",
        parts,
        "No run was given whose items can be looked into.",
    )


def _browser(
    run: str,
    script: str,
    number: int,
    package: str,
    template: str,
    data_id: str,
    data: Any,
    values: Mapping[str, Any] | None = None,
) -> Browser:
    """A page's own browser under a prefix, so that several can stand in one page."""
    prefix = f"b{number}-"
    plain = str(fill_block(package, template, "browser", **(values or {})))
    # Texts from outside are escaped, so that only our own tags look like tags.
    markup = re.sub(r"<[a-z][^>]*>", lambda tag: re.sub(NAMING, rf'\1="{prefix}', tag[0]), plain)
    called = f"of {escape(run)}"  # or all landmarks of this kind would have one name
    markup = re.sub(r'(role="search" aria-label="[^"]*)', lambda found: f"{found[1]} {called}", markup)
    kept = f'<script type="application/json" id="{prefix}{data_id}">{embed(data)}</script>' if data_id else ""
    return Browser(script, prefix, Markup(markup + kept))


def instrument(given: Collected) -> Chapter:
    """Everything that shaped the numbers."""
    parts: dict[str, list[Piece]] = {}
    for name, one in given.choices.items():
        made = sections.instrument(one.store, one.totals)
        parts[name] = [_of_sections(made, sections.notes(one.totals))]
    for name, hostile in given.injections.items():
        made = sections.instrument(given.store, hostile.totals)
        parts[name] = [_of_sections(made, sections.notes(hostile.totals))]
    for name, talk in given.dialogues.items():
        made = dialogue_page.instrument(given.store, talk.run)
        members = [Participant(r["name"], r["role"], r["fingerprint"], r["settings"]) for r in made["roles"]]
        asked = {question["name"]: question["rubric"] for question in made["questions"]}
        parts[name] = [Instrument(made["command"], made["facts"], members, asked)]
    for name, relevant in given.relevance.items():
        scores = relevant.scores
        members = _members(relevance_page.rater_settings(given.store, scores), "shown")
        notes = relevance_notes(scores, relevant.results)
        parts[name] = [
            Instrument(_command(scores.run), _facts(scores.run, scores.info), members, None, notes)
        ]
    for name, preferred in given.preferences.items():
        own = preferred.scores
        members = _members(preference_page.rater_settings(given.store, own), "orders")
        asked = {"preference": PREFER.task}
        facts = _facts(own.run, own.info)
        parts[name] = [Instrument(_command(own.run), facts, members, asked, preference_notes(own))]
    parts |= other_instruments(given)
    return made_chapter(
        "instrument",
        "The instrument",
        "The instrument is part of the score: numbers with other fingerprints are not comparable with these. Each command makes its "
        "part again; what is stored already is not asked twice.",
        parts,
        "Nothing was given that was made by a command.",
    )


def _of_sections(made: Mapping[str, Any], notes: Sequence[str]) -> Instrument:
    facts = dict(made["facts"])
    if made["sampled"]:
        facts["sample"] = "a part of the items; give the same --limit or --users as the first time"
    return Instrument(made["command"], facts, _members(made["raters"], "orders"), None, notes)


def _members(raters: Sequence[Mapping[str, Any]], shown: str) -> list[Participant]:
    return [
        Participant(
            rater["name"],
            f"{rater['kind']}, {rater['role']}",
            rater["fingerprint"],
            {shown: rater[shown], **rater["settings"]},
        )
        for rater in raters
    ]


def _command(run: RunRecord) -> str:
    return str(run.config.get("command") or "(started from Python)")


def _facts(run: RunRecord, info: Mapping[str, Any]) -> dict[str, str]:
    return {
        "run": run.name,
        "data set": run.dataset,
        "benchmark version": info["version"],
        "licence of the data": info["licence"],
        "seed": str(run.config["seed"]),
        "samples per ask": str(run.config["samples"]),
        "started": when(run.started),
        "finished": "not finished" if run.finished is None else when(run.finished),
    }
