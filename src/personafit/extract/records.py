"""The records that `personafit extract run` writes: one per conversation, attribute, verdict, match and answer.

Every line of `--out DIR` is one of these. Nothing that was read or made is dropped: whatever is not used any further
has a status and a sentence with the reason. Raters are a lower layer, so a trained verifier gets plain
texts; `verifying` converts its answers to `VerifierVerdict`s.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeVar, get_args

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from personafit._errors import UserError, field_name, located
from personafit.people import Attribute, Person
from personafit.store import Status

Label = Literal["accepted", "unsure", "rejected"]
Mode = Literal["over-generalised", "missing-evidence", "task-context", "not-standalone", "none"]
By = Literal["rule", "llm", "classifier", "human"]
Kind = Literal["background", "preference", "habit", "goal", "style", "other"]
Fate = Literal["kept", "rewritten", "merged", "dropped", "undecided", "invalid"]

LABELS: tuple[Label, ...] = get_args(Label)
MODES: tuple[Mode, ...] = get_args(Mode)
KINDS: tuple[Kind, ...] = get_args(Kind)
FATES: tuple[Fate, ...] = get_args(Fate)
REFINED: tuple[Fate, ...] = ("kept", "rewritten", "dropped", "undecided")
IN_PROFILE: tuple[Fate, ...] = ("kept", "rewritten")


class StageRecord(BaseModel):
    """Base of all records: unknown fields are an error, so that typos in files are found."""

    model_config = ConfigDict(extra="forbid")


class StagedTurn(StageRecord):
    """A message at its index in the log, to which evidence refers."""

    role: Literal["user", "assistant", "system", "tool", "other"] = Field(description="Who speaks.")
    text: str = Field(
        description="What is said, redacted unless asked otherwise; empty where nothing is text."
    )
    note: str | None = Field(None, description="What was in the log and is not in the text, such as images.")


class StagedConversation(StageRecord):
    """A conversation as read, used or not."""

    id: str = Field(min_length=1, description="Unique within the run; made so where the log repeats one.")
    person: str = Field(description="Id of the user whose conversation it is.")
    language: str = Field("und", description="Language of the user's turns; 'und' where it cannot be told.")
    status: Status = Field(
        Status.OK, description="ok: attributes were looked for; else why not, or how it failed."
    )
    step: str = Field(
        "", description="Where it was left out or failed: a step's name; empty when it was not."
    )
    reason: str | None = Field(None, description="The sentence that says why.")
    turns: list[StagedTurn] = Field(default_factory=list)
    attributes: list[Attribute] = Field(
        default_factory=list, description="What its authors say is true of the user, where they do."
    )


class ExtractedAttribute(StageRecord):
    """An attribute as extracted, with the outcome of later stages."""

    id: str = Field(description="Unique within the run.")
    person: str = Field(description="Id of the user it is about.")
    text: str = Field(min_length=1, description="The statement, as it stands after the last step.")
    evidence: list[str] = Field(
        default_factory=list,
        description="'CONVERSATION#TURN', turns counted from 0; user turns only. A representative has its cluster's.",
    )
    why: str | None = Field(
        None, description="Why the extractor inferred it, in its own words; null where it gave no reason."
    )
    confidence: float = Field(ge=0, le=1, description="How sure the extractor says it is.")
    conversation: str = Field(description="Id of the conversation it was found in.")
    kind: Kind = Field("other", description="What sort of statement it is, as the extractor says.")
    status: Fate = Field(
        "kept",
        description="kept and rewritten are in the profile; merged says the same as `into`; dropped was flagged and "
        "could not be mended; undecided was flagged and the ask to mend it came to nothing; invalid has no evidence in the user's own turns, or less confidence than was asked for.",
    )
    into: str | None = Field(None, description="Id of the representative it was merged into.")
    original: str | None = Field(None, description="The text before it was rewritten.")
    reason: str | None = Field(None, description="Why it was rewritten, dropped, undecided or invalid.")


Case = tuple[ExtractedAttribute, Sequence[str]]
"""An attribute to judge, with the user turns of its evidence."""


class VerifierVerdict(StageRecord):
    """A verifier's verdict on an attribute as it was before refinement."""

    attribute: str = Field(description="Id of the attribute.")
    label: Label
    mode: Mode = Field("none", description="What is wrong with it, if anything.")
    by: By = Field(description="Who says so.")
    verifier: str = Field("", description="Its name or spec.")
    status: Status = Field(
        Status.OK, description="Whether it answered; if not, the label is unsure and counts for nothing."
    )
    score: float | None = Field(
        None, description="Probability that the attribute is problematic, where it has one."
    )
    reason: str | None = Field(None, description="In its own words, where it has any.")


class AttributeMatch(StageRecord):
    """The attributes of a person that are relevant to a prompt."""

    person: str
    prompt: str = Field(description="Id of the prompt.")
    question: str = Field(description="What is asked.")
    matcher: str = Field(description="Who says so: a spec.")
    attributes: list[str] = Field(default_factory=list, description="Ids of those that matter.")
    scores: dict[str, float] = Field(
        default_factory=dict, description="By attribute, where there are scores."
    )
    status: Status = Status.OK
    reason: str | None = None


class PromptAnswer(StageRecord):
    """An answer to a prompt for a person, generic or personalized."""

    person: str
    prompt: str
    question: str
    given: Literal["generic", "personalized"] = Field(
        description="Whether the model was told the attributes."
    )
    attributes: list[str] = Field(default_factory=list, description="Ids of the attributes it was told.")
    text: str | None = None
    system: str = Field(description="The model that answered.")
    status: Status = Status.OK
    reason: str | None = None


R = TypeVar("R", bound=BaseModel)


class StageFile:
    """The layout of `--out DIR`; its readers read one line at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        names = ("conversations", "attributes", "verdicts", "people", "matched", "answers")
        self.lines = tuple(folder / f"{name}.jsonl" for name in names)
        """The JSONL files."""
        self.conversations, self.attributes, self.verdicts, self.people, self.matched, self.answers = (
            self.lines
        )
        self.summary = folder / "summary.json"

    def read_conversations(self) -> Iterator[StagedConversation]:
        return read_lines(self.conversations, StagedConversation)

    def read_attributes(self) -> Iterator[ExtractedAttribute]:
        """Yield every extracted attribute, with its final status."""
        return read_lines(self.attributes, ExtractedAttribute)

    def read_verdicts(self) -> Iterator[VerifierVerdict]:
        return read_lines(self.verdicts, VerifierVerdict)

    def read_people(self) -> Iterator[Person]:
        return read_lines(self.people, Person)


def before_refinement(attributes: Iterable[ExtractedAttribute]) -> list[ExtractedAttribute]:
    """Return the attributes that entered refinement, with their texts of that time."""
    return [
        one.model_copy(update={"text": one.original or one.text, "status": "kept"})
        if one.status == "rewritten"
        else one
        for one in attributes
        if one.status in REFINED
    ]


def after_refinement(attributes: Iterable[ExtractedAttribute]) -> list[ExtractedAttribute]:
    """Return the attributes in people's profiles."""
    return [one for one in attributes if one.status in IN_PROFILE]


def read_lines(path: Path, record: type[R]) -> Iterator[R]:
    """Yield the lines of a file as records; none if the file does not exist."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                yield record.model_validate_json(line)
            except ValidationError as error:
                first = error.errors()[0]
                field = field_name(first["loc"])
                raise UserError(
                    f"{located(path, number, field)}: {first['msg']}; make the file again with `personafit extract run`."
                ) from error


def write_lines(path: Path, records: Iterable[BaseModel]) -> None:
    """Write records as lines, atomically."""
    part = path.with_name(f"{path.name}.part")
    with part.open("wb") as file:
        file.writelines(map(line_of, records))
    part.replace(path)


def line_of(record: BaseModel) -> bytes:
    """Return a record as a JSONL line."""
    return orjson.dumps(record.model_dump(mode="json"), option=orjson.OPT_APPEND_NEWLINE)
