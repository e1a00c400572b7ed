"""`blend:SPEC+SPEC…`: several raters as one, whose margin is the mean of theirs.

Only log-odds of a choice can be averaged, so the members are fitted raters and reward models: both are trained to predict
which answer people choose.
"""

import asyncio
import re
from collections.abc import Sequence
from statistics import fmean

import orjson

from personafit._errors import UserError
from personafit.items.reading import PartAnswer, QuestionSet, Shown, Verdict
from personafit.models import ChatRequest, Spec, parse_spec
from personafit.raters.fitted.rater import fitted_rater
from personafit.raters.rater import Rater, rater_record
from personafit.raters.reward import reward_rater
from personafit.store import Status

MEMBERS = {"fitted": fitted_rater, "reward": reward_rater}
"""Kinds whose margin is the log-odds of a choice."""
_NEXT_MEMBER = re.compile(r"\+(?=[a-z]+:)")  # a folder's name may have a plus too


class BlendRater(Rater):
    """Prefers the answer that its members prefer on average, each weighed by how sure it is."""

    def __init__(self, spec: Spec, asks: QuestionSet) -> None:
        if asks.kind != "choice":
            raise UserError(
                f"{spec.text}: a blend averages the log-odds of choices and cannot say {asks.by_score.sought}; name its members one by one."
            )
        self._members = members = _members(spec, asks)
        self.questions = (asks.by_score,)
        # A fitted rater answers at once and holds nobody up; the others are not to be asked more than they can take.
        limited = [member for member in members if member.endpoint != "fitted"] or members
        tightest = min(limited, key=lambda member: member.max_concurrency)
        self.endpoint, self.max_concurrency = tightest.endpoint, tightest.max_concurrency
        self.price = _price(members)
        self.fitted_on = frozenset().union(*(member.fitted_on for member in members))
        prints = sorted(member.record.fingerprint for member in members)
        self.record = rater_record(spec.text, "blend", {"members": prints})

    async def rate(self, shown: Shown) -> Verdict:
        """The choice by the mean of the members' margins, which are kept as the reply; all are asked at once."""
        asks = [asyncio.ensure_future(member.rate(shown)) for member in self._members]
        try:
            said = await asyncio.gather(*asks)
        finally:
            for ask in asks:
                ask.cancel()
        names = [member.record.name for member in self._members]
        margins = {name: verdict.answers[0].value for name, verdict in zip(names, said, strict=True)}
        details = [
            f"{name}: {verdict.detail or verdict.status}"
            for name, verdict in zip(names, said, strict=True)
            if verdict.detail or verdict.status != Status.OK
        ]
        blended = Verdict(
            status=next((verdict.status for verdict in said if verdict.status != Status.OK), Status.OK),
            reply=orjson.dumps(margins).decode(),
            detail="; ".join(details) or None,
            tokens_in=sum(verdict.tokens_in for verdict in said),
            tokens_out=sum(verdict.tokens_out for verdict in said),
            cost=sum(verdict.cost for verdict in said),
            calls=sum(verdict.calls for verdict in said),
        )
        if blended.status != Status.OK:
            blended.answers = [PartAnswer(shown.parts[0])]
        else:
            scores = _scores(said, len(shown.texts))
            blended.answers = shown.question.decide(shown, scores, "answer", None, False)
        return blended

    def request(self, shown: Shown) -> ChatRequest | None:
        """The calls of all members put together into one: an estimate only counts what is in them."""
        requests = [member.request(shown) for member in self._members]
        messages = [message for request in requests if request for message in request.messages]
        return ChatRequest(tuple(messages), max_tokens=0) if messages else None

    async def close(self) -> None:
        """Close all members."""
        for member in self._members:
            await member.close()


def _members(spec: Spec, asks: QuestionSet) -> list[Rater]:
    texts = _NEXT_MEMBER.split(spec.text.strip().partition(":")[2])
    if len(texts) < 2 or not all(texts):
        raise UserError(
            f"{spec.text}: name two or more raters joined by +, as in blend:fitted:NAME+reward:PATH."
        )
    specs = [parse_spec(text) for text in texts]
    for member in specs:
        if member.kind == spec.kind:
            raise UserError(f"{spec.text}: a blend holds no blend; name all members after one blend:.")
        if member.kind not in MEMBERS:
            raise UserError(
                f"{spec.text}: {member.text} cannot be blended, because its margin was not fitted to be the log-odds of people's choices; "
                f"members are {' and '.join(f'{kind}:' for kind in MEMBERS)}."
            )
    members: list[Rater] = [MEMBERS[member.kind](member, asks) for member in specs]
    seen: dict[str, str] = {}
    for rater in members:
        if rater.record.fingerprint in seen:
            raise UserError(
                f"{spec.text}: {seen[rater.record.fingerprint]} and {rater.record.name} are the same rater; name each once."
            )
        seen[rater.record.fingerprint] = rater.record.name
    return members


def _price(members: Sequence[Rater]) -> tuple[float, float] | None:
    """The dearest member's, so that no estimate is too low; unknown if any is."""
    prices = [member.price for member in members if member.price is not None]
    if len(prices) < len(members):
        return None
    return max(into for into, _ in prices), max(out for _, out in prices)


def _scores(said: Sequence[Verdict], answers: int) -> list[float]:
    """Mean scores of the answers; of two, the first's mean lead. Who compares two at most has raised for more."""
    if answers == 2:
        return [fmean(verdict.answers[0].value or 0.0 for verdict in said), 0.0]
    return [fmean(of_one) for of_one in zip(*(orjson.loads(v.reply or "[]") for v in said), strict=True)]
