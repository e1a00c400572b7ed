"""Finished asks, as the engine would hand them to the store."""

from personafit import Status
from personafit.store import Ask, Judgment, Outcome


def outcome(
    job: str,
    status: Status = Status.OK,
    generation: int = 0,
    label: str = "0",
    ask: str = "",
    at: float = 0.0,
    reply: str | None = None,
) -> Outcome:
    """One answered or failed ask of a job."""
    ask = ask or f"{job}/{generation}"
    made = Ask(
        id=ask,
        job=job,
        generation=generation,
        item=job,
        question="fit",
        rater="r",
        status=status,
        at=at,
        reply=reply,
    )
    judgments = (
        []
        if status == Status.FAILED
        else [Judgment(ask=ask, item=job, rater="r", status=status, label=label)]
    )
    return Outcome(ask=made, judgments=judgments)
