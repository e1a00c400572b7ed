"""Labelled statements about the users of conversations, as training data for a verifier.

A folder has `conversations.jsonl`, whose attributes are known to be true, and `labels.jsonl` with labelled statements: accepted, unsure or
rejected, with the kind of failure. `starter` is our own set.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from personafit._errors import UserError, located
from personafit.benchmarks.lines import read_records
from personafit.benchmarks.starter import FOLDER as STARTER
from personafit.people import Conversation
from personafit.raters.fitted.verifier import MODES, Turn

FEWEST_PEOPLE = 3  # one to test on, and two to choose thresholds by leave-one-out
# Our own finer failure labels, mapped to the published failure modes.
FINER = {
    "other-person": "missing-evidence",
    "assistant-guess": "missing-evidence",
    "outdated": "missing-evidence",
}


class StatementLabel(BaseModel):
    """A label of one statement, as one line of a file."""

    model_config = ConfigDict(extra="forbid")

    conversation: str = Field(description="Id of the conversation it is said to come from.")
    text: str = Field(min_length=1, description="The statement.")
    label: Literal["accepted", "unsure", "rejected"] = Field(
        "rejected", description="What people say of it; rejected where nothing is said."
    )
    failure: str | None = Field(
        None, description=f"What is wrong with it: {', '.join((*MODES, *FINER))}; none where it is accepted."
    )
    same_as: str | None = Field(
        None, description="Id of the known attribute it says over again, where there is one."
    )


@dataclass(frozen=True)
class Statements:
    """Labelled statements, column by column, with their conversations."""

    source: str
    conversations: dict[str, Conversation]
    of: list[str]
    texts: list[str]
    labels: list[str]
    failures: list[str]
    """Kind of failure; empty if the statement is accepted."""
    same_as: list[str | None]

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def people(self) -> list[str]:
        return [self.conversations[conversation].person for conversation in self.of]

    @property
    def problematic(self) -> NDArray[np.bool_]:
        return np.array([label != "accepted" for label in self.labels], dtype=bool)

    @property
    def modes(self) -> list[str]:
        """The failure mode of each statement as verifiers report it; empty if it is accepted."""
        return [FINER.get(failure, failure) for failure in self.failures]


def load_statements(data: str | Path) -> Statements:
    """Read labelled statements from a folder, or `starter`."""
    if str(data) == "starter":
        files = [STARTER.parent / "traps.jsonl", STARTER.parent / "statements.jsonl"]
        return _joined("starter", STARTER / "conversations.jsonl", files)
    folder = Path(data)
    return _joined(str(data), folder / "conversations.jsonl", [folder / "labels.jsonl"])


def turns_of(conversation: Conversation) -> list[Turn]:
    """Return the turns in the format that a verifier takes."""
    return [("user" if turn.role == "user" else "other", turn.text) for turn in conversation.turns]


def _joined(source: str, said: Path, files: Sequence[Path]) -> Statements:
    read = read_records(said, Conversation, key=lambda one: one.id)
    conversations = {one.id: one for _, one in read}
    known = [
        StatementLabel(
            conversation=one.id, text=attribute.text, label="accepted", failure=None, same_as=attribute.id
        )
        for one in conversations.values()
        for attribute in one.attributes
    ]
    rows = {(row.conversation, row.text): row for row in known}
    for path in files:
        for number, row in read_records(path, StatementLabel):
            _check_row(row, conversations, located(path, number))
            before = rows.setdefault((row.conversation, row.text), row)
            if before.label != row.label:
                raise UserError(
                    f"{located(path, number, 'label')}: the same statement is {before.label} elsewhere; keep one of them."
                )
    statements = Statements(
        source=source,
        conversations=conversations,
        of=[row.conversation for row in rows.values()],
        texts=[row.text for row in rows.values()],
        labels=[row.label for row in rows.values()],
        failures=[row.failure or "" for row in rows.values()],
        same_as=[row.same_as for row in rows.values()],
    )
    _check(statements)
    return statements


def _check_row(row: StatementLabel, conversations: dict[str, Conversation], place: str) -> None:
    if row.conversation not in conversations:
        raise UserError(f"{place}: there is no conversation '{row.conversation}' in conversations.jsonl.")
    if (row.label == "accepted") != (row.failure is None):
        raise UserError(
            f"{place}: a statement that is not accepted needs a failure, and an accepted one has none."
        )
    if row.failure is not None and row.failure not in (*MODES, *FINER):
        raise UserError(
            f"{place}: '{row.failure}' is not a failure mode; there are {', '.join((*MODES, *FINER))}."
        )


def _check(statements: Statements) -> None:
    people = len(set(statements.people))
    if people < FEWEST_PEOPLE:
        raise UserError(
            f"{statements.source} has labelled statements about {people} people; a verifier is tested on people left out and "
            f"needs at least {FEWEST_PEOPLE}."
        )
    if statements.problematic.all() or not statements.problematic.any():
        raise UserError(
            f"{statements.source}: all statements have the same label; a verifier needs both kinds."
        )
