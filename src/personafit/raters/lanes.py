"""A rater as a lane of jobs, whatever it judges: choices, attributes, preferences or dialogues."""

from collections.abc import Callable, Iterable

from personafit.engine import Job, Lane
from personafit.models import ChatRequest
from personafit.models.tokens import estimated_cost
from personafit.raters.rater import AnyRater

SHORT_REPLY = 16  # tokens; a model that reasons first shows its real cost with the first reply


def short_reply(request: ChatRequest) -> int:
    """How long a reply is, in tokens, that names a choice and no more."""
    return min(request.max_tokens, SHORT_REPLY)


def rater_lane(
    rater: AnyRater,
    jobs: Iterable[Job],
    total: int,
    requests: Iterable[ChatRequest | None],
    reply_tokens: Callable[[ChatRequest], int] = short_reply,
) -> Lane:
    """The lane of a rater; of `requests`, the calls its jobs make, the first is looked at for what one ask costs."""
    return Lane(
        name=rater.record.name,
        endpoint=rater.endpoint,
        jobs=jobs,
        total=total,
        max_concurrency=rater.max_concurrency,
        ask_cost=_ask_cost(rater, requests, reply_tokens),
        free=rater.price == (0.0, 0.0),
    )


def _ask_cost(
    rater: AnyRater, requests: Iterable[ChatRequest | None], reply_tokens: Callable[[ChatRequest], int]
) -> float:
    """About what one ask of the rater costs: the first one's prompt, and a reply of the usual length."""
    if rater.price in (None, (0.0, 0.0)):
        return 0.0
    request = next(iter(requests), None)
    return estimated_cost(request, rater.price, reply_tokens(request)) if request else 0.0
