"""Verify and refine: an attribute that was found fault with is rewritten so that the evidence bears it, or dropped.

A rewritten attribute goes through the rule once more. When the model that rewrites cannot be asked or read, the attribute is
undecided: what was flagged does not stay in a profile because something failed, and a failure is not counted as dropping it.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from personafit.people.redaction import redacted
from personafit.stages.asking import StageAnswer, StagePrompt, StageQuestion, read_json
from personafit.stages.extracting import LONGEST_STATEMENT
from personafit.stages.records import ExtractedAttribute, Fate, VerifierVerdict
from personafit.stages.verifying import AttributeVerifier, shown
from personafit.stages.wording import VERSION, wording

REFINE = "refine"
REPLY_TOKENS = 160


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
    return StagePrompt(
        name=row.id,
        person=row.person,
        shown=material,
        messages=({"role": "user", "content": "\n\n".join(parts)},),
        max_tokens=REPLY_TOKENS,
        again=words.again,
    )


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
    text = (
        (redacted(text) if redacting else text)
        .encode("utf-8", "replace")
        .decode("utf-8")
        .replace("\x00", "\ufffd")
    )
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
