"""Pages for people themselves: every attribute, the words it rests on, and what became of it, to be checked by who it is about.

A page is self-contained and sends nothing anywhere: marks made on it are put into a text that the person may copy, save and give back
with `--verifier people:FILE`. It is written in the language of the person.
"""

import re
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Generic, TypeVar

import orjson
from pydantic import BaseModel

from personafit._hashing import hash_text
from personafit.extract.records import (
    IN_PROFILE,
    ExtractedAttribute,
    StagedConversation,
    StageFile,
    VerifierVerdict,
)
from personafit.people import Person
from personafit.reports.page import asset, fill_page, put_page
from personafit.store import Status

FOLDER = "pages"
MOST_PAGES = 1_000
LONGEST_TURN = 4_000  # characters of a turn on a page, beyond which it is cut where nothing rests on it
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,59}")
R = TypeVar("R", bound=BaseModel)


class LinesBy(Generic[R]):
    """The records of a JSONL file by one of their fields: offsets are kept, lines are read when asked for."""

    def __init__(self, path: Path, record: type[R], field: str) -> None:
        self._record = record
        self._offsets: dict[str, list[int]] = {}
        self._file = path.open("rb")
        while True:
            offset = self._file.tell()
            line = self._file.readline()
            if not line:
                break
            self._offsets.setdefault(orjson.loads(line)[field], []).append(offset)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def get(self, value: str) -> list[R]:
        """All records with that value, in the order of the file."""
        found = []
        for offset in self._offsets.get(value, ()):
            self._file.seek(offset)
            found.append(self._record.model_validate_json(self._file.readline()))
        return found


def page_name(person: str) -> str:
    """The file a person's page is in; an id that is no plain name is hashed."""
    return f"{person if _PLAIN.fullmatch(person) and person != 'index' else hash_text(person)[:16]}.html"


def write_person_pages(out: Path) -> int:
    """Write DIR/pages: a page for each of the first people, and a list of all; returns how many pages there are."""
    files, folder = StageFile(out), out / FOLDER
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.html"):  # of people who may have been forgotten since
        old.unlink()
    style, listed, pages = asset("person.css"), [], 0
    with (
        closing(LinesBy(files.conversations, StagedConversation, "person")) as conversations,
        closing(LinesBy(files.attributes, ExtractedAttribute, "person")) as attributes,
        closing(LinesBy(files.verdicts, VerifierVerdict, "attribute")) as verdicts,
    ):
        for person in files.read_people():
            row: dict[str, Any] = {"person": person.id, "page": None, "attributes": len(person.attributes)}
            if pages < MOST_PAGES:
                row["page"] = page_name(person.id)
                rows = attributes.get(person.id)
                shown = _shown(person, rows, verdicts, conversations.get(person.id))
                page = fill_page("person.html.j2", asset("person.js"), style, **shown)
                put_page(folder / row["page"], page)
                pages += 1
            listed.append(row)
    index = fill_page("people.html.j2", "", style, people=listed, pages=pages)
    put_page(folder / "index.html", index)
    return pages


def _shown(
    person: Person,
    rows: Sequence[ExtractedAttribute],
    verdicts: LinesBy[VerifierVerdict],
    conversations: Sequence[StagedConversation],
) -> dict[str, Any]:
    wordings = orjson.loads(asset("person.json"))
    words = wordings.get(person.language, wordings["en"])
    texts = {
        f"{conversation.id}#{number}": turn.text
        for conversation in conversations
        for number, turn in enumerate(conversation.turns)
    }
    used = {place for row in rows if row.status in IN_PROFILE for place in row.evidence}
    order = {place: number for number, place in enumerate(texts)}
    anchors = {place: f"t{number}" for place, number in order.items()}
    cards: list[dict[str, Any]] = [
        {
            "row": row,
            "evidence": [(anchors[place], texts[place]) for place in row.evidence if place in texts],
            "verdicts": [verdict for verdict in verdicts.get(row.id) if verdict.status == Status.OK],
        }
        for row in sorted(
            rows, key=lambda row: min((order[place] for place in row.evidence if place in order), default=0)
        )
        if row.status != "merged"
    ]
    return {
        "words": words,
        "title": words["title"].format(person=person.id),
        "profile": [card for card in cards if card["row"].status in IN_PROFILE],
        "left": [card for card in cards if card["row"].status not in IN_PROFILE],
        "conversations": [
            {
                "conversation": conversation,
                "turns": [
                    {
                        "role": turn.role,
                        "text": _cut(turn.text, f"{conversation.id}#{number}" in used),
                        "note": turn.note,
                        "anchor": anchors[f"{conversation.id}#{number}"],
                        "used": f"{conversation.id}#{number}" in used,
                    }
                    for number, turn in enumerate(conversation.turns)
                ],
            }
            for conversation in conversations
        ],
    }


def _cut(text: str, used: bool) -> str:
    return text if used or len(text) <= LONGEST_TURN else f"{text[:LONGEST_TURN]} […]"
