"""Does what the user said bear an attribute out? By rule, by a prompted model, by a trained classifier; and who is believed.

A verifier that answers at once is anything with `verdicts`; a model is asked by keyed jobs. Where they differ, the most
trusted one that answered decides: people before the classifier, the classifier before the model, the model before the
rule; but what the rule rejects, for want of any evidence, nobody else can save.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from personafit.stages.asking import StageAnswer, StagePrompt, StageQuestion, read_json
from personafit.stages.material import nonce, tagged
from personafit.stages.records import LABELS, MODES, By, ExtractedAttribute, VerifierVerdict
from personafit.stages.wording import VERSION, wording
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
    return StagePrompt(
        name=row.id,
        person=row.person,
        shown=material,
        messages=({"role": "user", "content": "\n\n".join([words.verify, material, words.verify_close])},),
        max_tokens=REPLY_TOKENS,
        again=words.again,
    )


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
    if answer.value is None:
        return VerifierVerdict(
            attribute=row.id,
            label="unsure",
            mode="none",
            by="llm",
            verifier=verifier,
            status=answer.status,
            reason=answer.reason,
        )
    reason = answer.value["reason"]
    mode = "none" if answer.value["label"] == "accepted" else answer.value["mode"]
    return VerifierVerdict(
        attribute=row.id,
        label=answer.value["label"],
        mode=mode,
        by="llm",
        verifier=verifier,
        reason=" ".join(reason.split())[:300] if isinstance(reason, str) else None,
    )


def decide(verdicts: Sequence[VerifierVerdict]) -> VerifierVerdict | None:
    """The verdict that counts for one attribute; None where nobody answered."""
    answered = [verdict for verdict in verdicts if verdict.status == Status.OK]
    for verdict in answered:
        if verdict.by == "rule" and verdict.label == "rejected":
            return verdict
    return max(answered, key=lambda verdict: TRUST[verdict.by], default=None)
