"""`blend:SPEC+SPEC…`: several raters as one, whose margin is the mean of its members' margins.

Only log-odds of a choice can be averaged, so the members are fitted raters and reward models: both are trained to predict
which answer people choose.
"""

import asyncio
import re
from statistics import fmean

import orjson

from personafit._errors import UserError
from personafit.items.reading import PartAnswer, QuestionSet, Shown, Verdict
from personafit.models import ChatRequest, Spec, parse_spec
from personafit.raters.fitted.model import FittedRater
from personafit.raters.rater import Rater, rater_record
from personafit.raters.reward import reward_rater
from personafit.store import Status

MEMBERS = {"fitted": FittedRater, "reward": reward_rater}  # kinds whose margin is the log-odds of a choice
_NEXT_MEMBER = re.compile(r"\+(?=[a-z]+:)")  # a folder's name may have a plus too


class BlendRater(Rater):
    """Rater that prefers the answer its members prefer on average, each weighted by its confidence."""

    def __init__(self, spec: Spec, asks: QuestionSet) -> None:
        if asks.kind != "choice":
            raise UserError(
                f"{spec.text}: a blend averages the log-odds of choices and cannot say {asks.by_score.sought}; name its members one by one."
            )
        self._members = members = _members(spec, asks)
        self.questions = (asks.by_score,)
        # A fitted rater answers at once and delays nobody; the other members must not get more calls than they can take.
        limited = [member for member in members if member.record.kind != "fitted"] or members
        tightest = min(limited, key=lambda member: member.max_concurrency)
        self.endpoint, self.max_concurrency = tightest.endpoint, tightest.max_concurrency
        # The highest price among the members, so that no estimate is too low; unknown if any is.
        prices = [member.price for member in members if member.price is not None]
        dearest = (max(into for into, _ in prices), max(out for _, out in prices)) if prices else None
        self.price = dearest if len(prices) == len(members) else None
        self.fitted_on = frozenset().union(*(member.fitted_on for member in members))
        prints = sorted(member.record.fingerprint for member in members)
        self.record = rater_record(spec.text, "blend", {"members": prints})

    async def rate(self, shown: Shown) -> Verdict:
        """Ask all members at once and choose by their mean margin; the margins are stored as the reply."""
        asks = [asyncio.ensure_future(member.rate(shown)) for member in self._members]
        try:
            said = await asyncio.gather(*asks)
        finally:
            for ask in asks:
                ask.cancel()
        by_name = {member.record.name: verdict for member, verdict in zip(self._members, said, strict=True)}
        blended = Verdict(
            status=next((verdict.status for verdict in said if verdict.status != Status.OK), Status.OK),
            reply=orjson.dumps({name: one.answers[0].value for name, one in by_name.items()}).decode(),
            detail="; ".join(
                f"{name}: {verdict.detail or verdict.status}"
                for name, verdict in by_name.items()
                if verdict.detail or verdict.status != Status.OK
            )
            or None,
            tokens_in=sum(verdict.tokens_in for verdict in said),
            tokens_out=sum(verdict.tokens_out for verdict in said),
            cost=sum(verdict.cost for verdict in said),
            calls=sum(verdict.calls for verdict in said),
        )
        if blended.status != Status.OK:
            blended.answers = [PartAnswer(shown.parts[0])]
            return blended
        if len(shown.texts) == 2:  # the first answer's mean margin
            scores = [fmean(verdict.answers[0].value or 0.0 for verdict in said), 0.0]
        else:  # members that can compare only two answers have raised for more
            scores = [fmean(one) for one in zip(*(orjson.loads(v.reply or "[]") for v in said), strict=True)]
        blended.answers = shown.question.decide(shown, scores, "answer", None, False)
        return blended

    def request(self, shown: Shown) -> ChatRequest | None:
        """Return the calls of all members merged into one request, which suffices to estimate tokens."""
        requests = [member.request(shown) for member in self._members]
        messages = [message for request in requests if request for message in request.messages]
        return ChatRequest(tuple(messages), max_tokens=0) if messages else None

    async def close(self) -> None:
        for member in self._members:
            await member.close()


def _members(spec: Spec, asks: QuestionSet) -> list[Rater]:
    texts = _NEXT_MEMBER.split(spec.text.strip().partition(":")[2])
    if len(texts) < 2 or not all(texts):
        raise UserError(
            f"{spec.text}: name two or more raters joined by +, as in blend:fitted:NAME+reward:PATH."
        )
    found: dict[str, Rater] = {}
    for member in map(parse_spec, texts):
        if member.kind == spec.kind:
            raise UserError(
                f"{spec.text}: a blend cannot contain a blend; name all members after one blend:."
            )
        if member.kind not in MEMBERS:
            raise UserError(
                f"{spec.text}: {member.text} cannot be blended, because its margin was not fitted to be the log-odds of people's choices; "
                f"members are {' and '.join(f'{kind}:' for kind in MEMBERS)}."
            )
        rater = MEMBERS[member.kind](member, asks)
        same = found.setdefault(rater.record.fingerprint, rater)
        if same is not rater:
            raise UserError(
                f"{spec.text}: {same.record.name} and {rater.record.name} are the same rater; name each once."
            )
    return list(found.values())
