"""Writing an answer that did not come from a rater's browser: a decision, or a vote made elsewhere."""

from typing import Any, NamedTuple

import orjson

from personafit.labeling.forms import LabelValue
from personafit.labeling.records import Field, StudyConfig
from personafit.store import Ask, Judgment, Outcome, Status
from personafit.store.rows import storable


class AnswerEntry(NamedTuple):
    """One answer of a rater, as it is written to asks and judgments."""

    id: str
    job: str
    generation: int
    field: Field
    rater: str
    answer: LabelValue | None
    """None where there is no label."""
    detail: dict[str, Any]
    """Client time, note, text, and why there is no label; what is None is left out."""
    perspective: str
    order: str
    at: float
    seconds: float = 0.0


def outcome(study: str, config: StudyConfig, entry: AnswerEntry) -> Outcome:
    """The ask and the judgment of an answer, as the browser's answers are stored."""
    field, detail = entry.field, {key: value for key, value in entry.detail.items() if value is not None}
    detail = {key: storable(value) if isinstance(value, str) else value for key, value in detail.items()}
    answered = entry.answer is not None or field.kind == "text"
    status = Status.OK if answered and "why" not in detail else Status.SKIPPED
    extra = {"perspective": entry.perspective, "study": study}
    ask = Ask(
        id=entry.id,
        job=entry.job,
        generation=entry.generation,
        item=field.item,
        question=field.question,
        rater=entry.rater,
        view=config.view,
        order=entry.order,
        status=status,
        detail=orjson.dumps(detail).decode(),
        seconds=entry.seconds,
        at=entry.at,
    )
    label, value = entry.answer or (None, None)
    judgment = Judgment(
        ask=ask.id,
        item=field.item,
        question=field.question,
        rater=entry.rater,
        target=field.target,
        status=status,
        label=label,
        value=value,
        extra=extra | {name: detail[name] for name in ("note", "text", "why") if name in detail},
    )
    return Outcome(ask=ask, judgments=[judgment])
