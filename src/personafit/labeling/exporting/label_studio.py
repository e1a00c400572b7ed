"""Votes for Label Studio: tasks with annotations in its JSON, and the labelling configuration they belong to.

Label Studio refuses annotations by users it does not know, so annotations carry no user; whose they are stands in the task's data, in
the order of the annotations. Decisions are ground truth.
"""

import time
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr  # nosec B406 # written, never read

import orjson

from personafit.labeling.exporting.reading import ExportField, StudyExport, page_text, vote_key
from personafit.labeling.records import Page

SHOWN = "page"


def write_label_studio(exported: StudyExport, folder: Path) -> None:
    """`tasks.json` to import, `config.xml` to paste into the project's settings."""
    tasks = [_task(exported, number, page) for number, page in enumerate(exported.pages, 1)]
    (folder / "tasks.json").write_bytes(orjson.dumps(tasks, option=orjson.OPT_INDENT_2))
    (folder / "config.xml").write_text(_config(exported), encoding="utf-8")


def _task(exported: StudyExport, number: int, page: Page) -> dict[str, Any]:
    votes = exported.votes.filter(exported.votes["page"] == page.id)
    decisions = exported.decisions.filter(exported.decisions["page"] == page.id)
    asked = {one.key: one for one in exported.fields[page.id]}
    raters = list(dict.fromkeys(votes["rater"]))
    annotations = [
        _annotation(
            number, page, asked, [row for row in votes.iter_rows(named=True) if row["rater"] == rater]
        )
        for rater in raters
    ]
    if decisions.height:
        decided = _annotation(number, page, asked, list(decisions.iter_rows(named=True)))
        annotations.append(decided | {"ground_truth": True})
        raters.append("adjudicated")
    data: dict[str, Any] = {
        SHOWN: page_text(exported.shown[page.id]),
        "id": page.id,
        "person": page.person,
        "raters": raters,
    }
    # Every task has a text for every entry that any page lists, since the configuration shows them all.
    data |= dict.fromkeys(_listed(exported), "")
    data |= {one.name: one.field.text for one in exported.fields[page.id] if one.field.place is not None}
    return {"id": number, "data": data, "annotations": annotations, "predictions": []}


def _listed(exported: StudyExport) -> list[str]:
    fields = (one for fields in exported.fields.values() for one in fields)
    return list(dict.fromkeys(one.name for one in fields if one.field.place is not None))


def _annotation(
    task: int, page: Page, asked: dict[tuple[str, str, str], ExportField], votes: list[dict[str, Any]]
) -> dict[str, Any]:
    results = []
    for vote in votes:
        one = asked[vote_key(page, vote["item"], vote["question"], vote["target"])]
        if one.field.kind == "text":
            kind, value = "textarea", {"text": [vote["text"]]} if vote["text"] else None
        else:
            kind, value = "choices", {"choices": [vote["label"]]} if vote["label"] is not None else None
        if value is not None:
            results.append(
                {
                    "id": f"{task}-{one.name}",
                    "from_name": one.name,
                    "to_name": SHOWN,
                    "type": kind,
                    "value": value,
                }
            )
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(max(vote["at"] for vote in votes)))
    return {
        "result": results,
        "was_cancelled": not results,
        "ground_truth": False,
        "created_at": when,
        "updated_at": when,
        "lead_time": max(vote["seconds"] for vote in votes),
    }


def _config(exported: StudyExport) -> str:
    controls: dict[str, ExportField] = {}
    labels: dict[str, dict[str, None]] = {}
    for fields in exported.fields.values():
        for one in fields:
            controls.setdefault(one.name, one)
            labels.setdefault(one.name, {}).update(dict.fromkeys(one.labels))
    lines = ["<View>", f'  <Text name="{SHOWN}" value="${SHOWN}"/>']
    for name, one in controls.items():
        lines.append(f"  <Header value={quoteattr(one.field.question)}/>")
        if one.field.place is not None:
            lines.append(f"  <Text name={quoteattr(f'{name}_target')} value={quoteattr(f'${name}')}/>")
        if one.field.kind == "text":
            lines.append(f'  <TextArea name={quoteattr(name)} toName="{SHOWN}"/>')
            continue
        lines.append(f'  <Choices name={quoteattr(name)} toName="{SHOWN}" choice="single">')
        lines += [f"    <Choice value={quoteattr(label)}/>" for label in labels[name]]
        lines.append("  </Choices>")
    return "\n".join([*lines, "</View>"]) + "\n"
