"""Votes for the tools that others label with: Label Studio's tasks and configuration, and a folder that Argilla 2 reads.

Label Studio refuses annotations by users it does not know, so annotations carry no user; whose they are stands in the task's data, in
the order of the annotations. Decisions are ground truth. Argilla (`rg.Dataset.from_disk`) knows users by UUID; each pseudonym has one
made from it, listed in `raters.json`. A response without a value for the required question is none to Argilla, so raters who could
not tell are not in it.
"""

import time
import uuid
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr  # nosec B406 # written, never read

import orjson

from personafit.labeling.exports import ExportField, StudyExport, page_text, vote_key
from personafit.labeling.records import Page

SHOWN = "page"
HIGHEST_RATING = 10
FEWEST_STEPS = 3
TEXT = {"type": "text", "use_markdown": False}


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
    data |= {name: "" for name, one in exported.questions.items() if one.field.place is not None}
    data |= {one.name: one.field.text for one in exported.fields[page.id] if one.field.place is not None}
    return {"id": number, "data": data, "annotations": annotations, "predictions": []}


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
    lines = ["<View>", f'  <Text name="{SHOWN}" value="${SHOWN}"/>']
    for name, one in exported.questions.items():
        lines.append(f"  <Header value={quoteattr(one.field.question)}/>")
        if one.field.place is not None:
            lines.append(f"  <Text name={quoteattr(f'{name}_target')} value={quoteattr(f'${name}')}/>")
        if one.field.kind == "text":
            lines.append(f'  <TextArea name={quoteattr(name)} toName="{SHOWN}"/>')
            continue
        lines.append(f'  <Choices name={quoteattr(name)} toName="{SHOWN}" choice="single">')
        lines += [f"    <Choice value={quoteattr(label)}/>" for label in one.labels]
        lines.append("  </Choices>")
    return "\n".join([*lines, "</View>"]) + "\n"


def write_argilla(exported: StudyExport, folder: Path) -> None:
    """`.argilla/settings.json`, `.argilla/dataset.json` and `records.json`."""
    questions = _questions(exported)
    settings = {
        "guidelines": exported.guidelines,
        "allow_extra_metadata": True,
        "fields": [{"name": SHOWN, "title": SHOWN, "required": True, "settings": TEXT}],
        "questions": list(questions.values()),
        "metadata": [],
        "vectors": [],
    }
    name = _slug(exported.study.name)
    dataset = {"name": name, "guidelines": exported.guidelines, "allow_extra_metadata": True}
    users = {rater: str(_user(exported, rater)) for rater in sorted(set(exported.votes["rater"]))}
    (folder / ".argilla").mkdir()
    for path, body in (
        (folder / ".argilla" / "settings.json", settings),
        (folder / ".argilla" / "dataset.json", dataset),
        (folder / "records.json", [_record(exported, page, questions) for page in exported.pages]),
        (folder / "raters.json", users),
    ):
        path.write_bytes(orjson.dumps(body, option=orjson.OPT_INDENT_2))


def _questions(exported: StudyExport) -> dict[str, dict[str, Any]]:
    """Questions by name, in Argilla's shape; the first is the required one."""
    # A question with labels comes first: a text may be empty, and one must be required.
    ordered = sorted(exported.questions.values(), key=lambda one: one.field.kind == "text")
    return {
        one.name: {
            "name": _slug(one.name),
            "title": one.field.question,
            "description": None,
            "required": place == 0,
            "settings": _settings(one),
        }
        for place, one in enumerate(ordered)
    }


def _settings(one: ExportField) -> dict[str, Any]:
    if one.field.kind == "text":
        return TEXT
    marks = all(label.isdecimal() and int(label) <= HIGHEST_RATING for label in one.labels)
    if marks and len(one.labels) >= FEWEST_STEPS:
        return {"type": "rating", "options": [{"value": value} for value in sorted(map(int, one.labels))]}
    options = [{"value": label, "text": label, "description": None} for label in one.labels]
    return {"type": "label_selection", "options": options, "visible_options": None}


def _record(exported: StudyExport, page: Page, questions: dict[str, dict[str, Any]]) -> dict[str, Any]:
    votes = exported.votes.filter(exported.votes["page"] == page.id)
    names = {one.key: one.name for one in exported.fields[page.id]}
    required = next(name for name, body in questions.items() if body["required"])
    values: dict[str, dict[str, Any]] = {}
    for vote in votes.iter_rows(named=True):
        name = names[vote_key(page, vote["item"], vote["question"], vote["target"])]
        given = vote["text"] if vote["label"] is None else vote["label"]
        if given is not None:
            rating = questions[name]["settings"]["type"] == "rating"
            values.setdefault(vote["rater"], {})[name] = int(given) if rating else given
    responses: dict[str, list[dict[str, Any]]] = {}
    for rater, given in values.items():
        if required in given:
            for name, value in given.items():
                response = {"value": value, "user_id": str(_user(exported, rater)), "status": "submitted"}
                responses.setdefault(_slug(name), []).append(response)
    return {
        "id": page.id,
        "fields": {SHOWN: page_text(exported.shown[page.id])},
        "metadata": {"person": page.person},
        "suggestions": {},
        "responses": responses,
        "vectors": {},
    }


def _user(exported: StudyExport, rater: str) -> uuid.UUID:
    return uuid.uuid5(uuid.NAMESPACE_URL, f"personafit:{exported.study.name}:{rater}")


def _slug(name: str) -> str:
    """A name as Argilla takes it: small letters, digits, - and _."""
    kept = "".join(
        letter if letter.isascii() and (letter.isalnum() or letter in "-_") else "-"
        for letter in name.lower()
    )
    return kept.strip("-_") or "study"
