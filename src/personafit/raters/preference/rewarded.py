"""`reward:` in a study of responses: a reward model scores both answers for somebody of whom one attribute is known."""

import asyncio

import orjson

from personafit.contexts import Context
from personafit.items import FIT, Shown
from personafit.items.preference import GENERIC, PERSONAL, PREFERENCE, Compared
from personafit.models import ChatRequest, Spec
from personafit.raters.rater import Part, Verdict, rater_record
from personafit.raters.reward import reward_rater
from personafit.store import Item, Status


class RewardPreference:
    """A reward model, on this machine or served, as a rater of preferences; differences go onto the scale by rank."""

    question = PREFERENCE
    order_matters = False

    def __init__(self, spec: Spec) -> None:
        self._rater = reward_rater(spec)
        self.endpoint = self._rater.endpoint
        self.max_concurrency = self._rater.max_concurrency
        self.price = self._rater.price
        settings = {**self._rater.record.settings, "of": "attribute by attribute"}
        self.record = rater_record(spec.text, "reward", settings)

    async def rate(self, compared: Compared) -> Verdict:
        """For each attribute the personalized answer's score minus the generic one's."""
        told = await asyncio.gather(*(self._scores(compared, text) for _, text in compared.attributes))
        parts = [
            Part(target, None, None, status=verdict.status)
            if verdict.status != Status.OK
            else _part(target, orjson.loads(verdict.reply or "[]"))
            for (target, _), verdict in zip(compared.attributes, told, strict=True)
        ]
        return Verdict(
            parts=parts,
            answers_whole=False,
            tokens_in=sum(verdict.tokens_in for verdict in told),
            cost=sum(verdict.cost for verdict in told),
            calls=sum(verdict.calls for verdict in told),
        )

    def request(self, compared: Compared) -> ChatRequest | None:
        """No chat model is called."""
        return None

    async def close(self) -> None:
        """Free the model."""
        await self._rater.close()

    async def _scores(self, compared: Compared, attribute: str) -> Verdict:
        context = Context("attribute", attribute, (attribute,), compared.person)
        item = Item(
            id=compared.item, person=compared.person, prompt=compared.prompt, products=["generic", "personal"]
        )
        return await self._rater.rate(Shown(item, compared.answers, context, (GENERIC, PERSONAL)), FIT)


def _part(target: str, scores: list[float]) -> Part:
    return Part(target, None, scores[PERSONAL] - scores[GENERIC], scores)
