"""Votes for Argilla 2: a folder that `rg.Dataset.from_disk` reads.

Argilla knows users by UUID; each pseudonym has one made from it, listed in `raters.json`. A response without a value for the required
question is none to Argilla, so raters who could not tell are not in it.
"""

import uuid
from pathlib import Path
from typing import Any

import orjson

from personafit.labeling.exporting.reading import ExportField, StudyExport, page_text, vote_key
from personafit.labeling.records import Page

FIELD = "page"
HIGHEST_RATING = 10
FEWEST_STEPS = 3


def write_argilla(exported: StudyExport, folder: Path) -> None:
    """`.argilla/settings.json`, `.argilla/dataset.json` and `records.json`."""
    questions = _questions(exported)
    settings = {
        "guidelines": exported.guidelines,
        "allow_extra_metadata": True,
        "fields": [
            {
                "name": FIELD,
                "title": FIELD,
                "required": True,
                "settings": {"type": "text", "use_markdown": False},
            }
        ],
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
    held: dict[str, ExportField] = {}
    labels: dict[str, dict[str, None]] = {}
    for fields in exported.fields.values():
        for one in fields:
            held.setdefault(one.name, one)
            labels.setdefault(one.name, {}).update(dict.fromkeys(one.labels))
    # A question with labels comes first: a text may be empty, and one must be required.
    ordered = sorted(held, key=lambda name: held[name].field.kind == "text")
    return {
        name: {
            "name": _slug(name),
            "title": held[name].field.question,
            "description": None,
            "required": place == 0,
            "settings": _settings(held[name], list(labels[name])),
        }
        for place, name in enumerate(ordered)
    }


def _settings(one: ExportField, labels: list[str]) -> dict[str, Any]:
    if one.field.kind == "text":
        return {"type": "text", "use_markdown": False}
    if len(labels) >= FEWEST_STEPS and all(
        label.isdecimal() and int(label) <= HIGHEST_RATING for label in labels
    ):
        return {"type": "rating", "options": [{"value": value} for value in sorted(map(int, labels))]}
    options = [{"value": label, "text": label, "description": None} for label in labels]
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
        "fields": {FIELD: page_text(exported.shown[page.id])},
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
