"""Does what the user said bear an attribute out? By rule, by a prompted model, by a trained classifier, by people's own marks; who is
believed; and the mending of what was found fault with.

A verifier that answers at once is anything with `verdicts`; a model is asked by keyed jobs. Where they differ, the most
trusted one that answered decides: people before the classifier, the classifier before the model, the model before the
rule; but what the rule rejects, for want of any evidence, nobody else can save.

An attribute that was found fault with is rewritten so that the evidence bears it, or dropped. A rewritten one goes through the rule
once more. When the model that rewrites cannot be asked or read, the attribute is undecided: what was flagged does not stay in a
profile because something failed, and a failure is not counted as dropping it.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from personafit._errors import UserError, located
from personafit.people.redaction import redacted
from personafit.stages.asking import (
    VERSION,
    StageAnswer,
    StagePrompt,
    StageQuestion,
    nonce,
    read_json,
    tagged,
    wording,
)
from personafit.stages.extracting import LONGEST_STATEMENT
from personafit.stages.records import (
    LABELS,
    MODES,
    By,
    ExtractedAttribute,
    Fate,
    Label,
    StagedConversation,
    VerifierVerdict,
    writable,
)
from personafit.stages.rows import read_rows
from personafit.store import Status

VERIFY = "verify"
REPLY_TOKENS = 160
LONGEST_TURN = 2_000  # characters of a turn that a verifier is shown
TRUST: dict[By, int] = {"human": 3, "classifier": 2, "llm": 1, "rule": 0}


class AttributeVerifier(Protocol):
    """Judges many attributes in one call."""

    def verdicts(
        self, attributes: Sequence[tuple[ExtractedAttribute, Sequence[str]]]
    ) -> list[VerifierVerdict]:
        """One verdict for each attribute, from it and the texts of the user's turns it points to."""


def read_verdict(reply: str) -> dict[str, Any] | None:
    """The verdict of a reply; None where it is not the JSON that was asked for."""
    value = read_json(reply)
    if not isinstance(value, dict) or value.get("label") not in LABELS:
        return None
    problem = value.get("problem", "none")
    if problem not in MODES:
        return None
    return {"label": value["label"], "mode": problem, "reason": value.get("reason")}


VERIFICATION = StageQuestion(VERIFY, VERSION, read_verdict)


def verify_prompt(row: ExtractedAttribute, texts: Sequence[str], language: str) -> StagePrompt:
    """The ask about one attribute."""
    words = wording(language)
    material = shown(row.text, texts)
    parts = [words.verify, material, words.verify_close]
    return StagePrompt.of(row.id, row.person, material, parts, REPLY_TOKENS, words)


def shown(statement: str, texts: Sequence[str]) -> str:
    """A statement and the turns it rests on, as models see them."""
    short = [text if len(text) <= LONGEST_TURN else f"{text[:LONGEST_TURN]} […]" for text in texts]
    mark = nonce([statement, *short])
    said = "\n".join(tagged("said", mark, text) for text in short)
    return f"{said}\n\n{tagged('statement', mark, statement)}"


def model_verdict(
    row: ExtractedAttribute, answer: StageAnswer[dict[str, Any]], verifier: str
) -> VerifierVerdict:
    """A model's answer as a verdict; one that did not answer says nothing either way."""
    said: dict[str, Any] = {"label": "unsure", "status": answer.status, "reason": answer.reason}
    if answer.value is not None:
        said, reason = dict(answer.value), answer.value["reason"]
        said["mode"] = "none" if said["label"] == "accepted" else said["mode"]
        said["reason"] = " ".join(reason.split())[:300] if isinstance(reason, str) else None
    return VerifierVerdict(attribute=row.id, by="llm", verifier=verifier, **said)


def decide(verdicts: Sequence[VerifierVerdict]) -> VerifierVerdict | None:
    """The verdict that counts for one attribute; None where nobody answered."""
    answered = [verdict for verdict in verdicts if verdict.status == Status.OK]
    for verdict in answered:
        if verdict.by == "rule" and verdict.label == "rejected":
            return verdict
    return max(answered, key=lambda verdict: TRUST[verdict.by], default=None)


REFINE = "refine"


def read_refinement(reply: str) -> dict[str, Any] | None:
    """The action of a reply; None where it is not the JSON that was asked for."""
    value = read_json(reply)
    if not isinstance(value, dict) or value.get("action") not in ("rewrite", "drop"):
        return None
    statement = value.get("statement", "")
    if value["action"] == "rewrite" and not (isinstance(statement, str) and statement.strip()):
        return None
    return {"action": value["action"], "statement": statement}


REFINEMENT = StageQuestion(REFINE, VERSION, read_refinement)


def refine_prompt(
    row: ExtractedAttribute, texts: Sequence[str], verdict: VerifierVerdict, language: str
) -> StagePrompt:
    """The ask to mend one attribute."""
    words = wording(language)
    material = shown(row.text, texts)
    # A verifier's reason may repeat what the user said, so only the fault's name is given outside the tags.
    found = words.problem.format(
        problem=verdict.mode if verdict.mode != "none" else verdict.label, reason=""
    ).strip()
    parts = [words.refine, material, found, words.refine_close]
    return StagePrompt.of(row.id, row.person, material, parts, REPLY_TOKENS, words)


def refined(
    row: ExtractedAttribute,
    texts: Sequence[str],
    verdict: VerifierVerdict,
    answer: StageAnswer[dict[str, Any]],
    rule: AttributeVerifier,
    redacting: bool,
) -> ExtractedAttribute:
    """What becomes of an attribute that was found fault with."""
    fault = f"{verdict.label} by {verdict.verifier or verdict.by} ({verdict.mode})"

    def left_out(status: Fate, why: str) -> ExtractedAttribute:
        return row.model_copy(update={"status": status, "reason": f"{fault}; {why}"})

    dropped = partial(left_out, "dropped")
    if answer.value is None:
        return left_out("undecided", f"rewriting it came to nothing: {answer.reason}")
    if answer.value["action"] == "drop":
        return dropped("nothing of it could be kept.")
    text = " ".join(answer.value["statement"].split())
    text = writable(redacted(text) if redacting else text)
    if len(text) > LONGEST_STATEMENT:
        return dropped("what it was rewritten to is too long.")
    if text == row.text:
        return dropped("it was rewritten to the same.")
    rewritten = row.model_copy(
        update={"status": "rewritten", "text": text, "original": row.text, "reason": f"{fault}."}
    )
    again = rule.verdicts([(rewritten, texts)])[0]
    if again.label != "accepted":
        return dropped(f"what it was rewritten to is no better: {again.mode}.")
    return rewritten


NOT_TRUE = "The person says that it is not true."


class Marks:
    """A file of people's marks as a verifier: `attribute`, `text` and `label` on each line.

    A mark holds for the words it was made on. Where a statement has been rewritten since, it says nothing of the new words.
    """

    def __init__(self, path: str) -> None:
        self._name = f"people:{path}"
        self._marks: dict[tuple[str, str], Label] = {}
        for number, row in enumerate(read_rows(Path(path)), 1):
            if row.value is None:
                raise UserError(row.problem or "")
            attribute, text, said = (row.value.get(field) for field in ("attribute", "text", "label"))
            label = next((one for one in LABELS if one == said), None)
            if not isinstance(attribute, str) or not isinstance(text, str) or label is None:
                raise UserError(
                    f"{located(path, number)} is no mark: it needs attribute, text and label, which is one of {', '.join(LABELS)}."
                )
            self._marks[attribute, " ".join(text.split())] = label

    def verdicts(
        self, attributes: Sequence[tuple[ExtractedAttribute, Sequence[str]]]
    ) -> list[VerifierVerdict]:
        """Verdicts on those attributes that were marked."""
        return [verdict for row, _ in attributes if (verdict := self.of(row)) is not None]

    def of(self, row: ExtractedAttribute) -> VerifierVerdict | None:
        """What was said of an attribute in these words, if anything."""
        label = self._marks.get((row.id, row.text))
        if label is None:
            return None
        reason = NOT_TRUE if label == "rejected" else None
        return VerifierVerdict(attribute=row.id, label=label, by="human", verifier=self._name, reason=reason)


class ClassifierVerifier:
    """Judges each attribute by the whole conversation it was found in, as the classifier was fitted to."""

    def __init__(self, name: str, conversation: Callable[[str], StagedConversation]) -> None:
        self.name = f"fitted:{name}"
        from personafit.raters.fitted.file import open_fitted

        self._fitted = open_fitted(self.name, "attribute")
        self._conversation = conversation

    def verdicts(
        self, attributes: Sequence[tuple[ExtractedAttribute, Sequence[str]]]
    ) -> list[VerifierVerdict]:
        """One verdict for each attribute."""
        found: dict[str, VerifierVerdict] = {}
        together: dict[str, list[ExtractedAttribute]] = {}
        for row, _ in attributes:
            together.setdefault(row.conversation, []).append(row)
        for name, rows in together.items():
            turns = [
                ("user" if turn.role == "user" else "other", turn.text)
                for turn in self._conversation(name).turns
            ]
            for row, judged in zip(rows, self._fitted.judge(turns, [row.text for row in rows]), strict=True):
                mode = judged.mode if judged.label != "accepted" else "none"
                found[row.id] = VerifierVerdict(
                    attribute=row.id,
                    label=judged.label,
                    mode=next(one for one in MODES if one == mode),
                    by="classifier",
                    verifier=self.name,
                    score=judged.score,
                )
        return [found[row.id] for row, _ in attributes]
