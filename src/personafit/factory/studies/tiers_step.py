"""The tiers step: pairs drawn from the answers, voted on; how clearly raters agree makes them Medium or Hard."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from personafit._errors import UserError
from personafit._hashing import draw
from personafit.factory.bench import Bench
from personafit.factory.step import Expected, Step
from personafit.factory.studies.balance import Told, kept, signs, unlikeness
from personafit.factory.studies.ballots import Ballot, ballot
from personafit.factory.studies.card import tiers_card
from personafit.factory.studies.config import StudiesSection
from personafit.factory.studies.pools import Pool, pools
from personafit.factory.studies.prompts import VOTE
from personafit.factory.studies.truth_step import BALANCE, MAJORITY, SAME, expected_votes
from personafit.factory.studies.voting import Votes, voted, voters
from personafit.statistics.tiers import Tier, Tiers, vote_tiers
from personafit.store import Judgment

DRAWS = 8  # ways to pair the answers that are drawn; the one whose answers look most alike is taken


class TiersStep(Step):
    """Medium and Hard pairs."""

    name = "tiers"
    after = ("people", "questions", "answers", "truth")
    uses = ("memories", "features")
    section = StudiesSection
    prompts = (VOTE,)

    def outside(self, bench: Bench) -> Any:
        """Who votes."""
        return voters(bench)

    def expected(self, bench: Bench) -> Iterator[Expected]:
        """A vote by each model on each pair."""
        yield from expected_votes(bench, bench.config.section(StudiesSection).pairs, 700)

    async def make(self, bench: Bench) -> None:
        """Draw pairs, have them voted on, and sort them by how clear the votes are."""
        truths = {row["id"]: row for row in bench.read_rows("truth")}
        ballots = [
            one for pool in pools(bench) if pool.id in truths for one in self._drawn(bench, pool, truths)
        ]
        if not ballots:
            raise UserError(
                "tiers: no question has two different answers left beside its Easy pair; set improved, degraded or makers higher in "
                "[answers].",
                code=1,
            )
        votes = await voted(bench, "pairs", "Which of two answers suits the person better?", ballots)
        if any(row["simulated"] != votes.simulated for row in truths.values()):
            raise UserError(
                "tiers: one study's votes are people's and the other's are simulated; take both from people, or both simulated."
            )
        self._sort(bench, ballots, votes)

    def _drawn(self, bench: Bench, pool: Pool, truths: dict[str, dict[str, Any]]) -> Iterator[Ballot]:
        """Pairs of answers that are in no other pair: how often an answer occurs must not tell its worth."""
        used = set(truths[pool.id]["pair"])
        texts = {row["text"] for row in pool.answers if row["id"] in used}
        left: dict[str, dict[str, Any]] = {}
        for row in pool.answers:
            if row["text"] not in texts:
                left.setdefault(row["text"], row)
        count = min(bench.config.section(StudiesSection).pairs, len(left) // 2)
        if not count:
            bench.reject(pool.id, "no two different answers are left", about=pool.person.id, by=SAME)
            return
        ways = [_way(list(left.values()), count, bench.seed, bench.take, pool.id, n) for n in range(DRAWS)]
        best = min(ways, key=lambda way: sum(unlikeness(pool.person, a["text"], b["text"]) for a, b in way))
        for pair in best:
            yield ballot("pairs", pool, pair, bench.seed, bench.take)

    def _sort(self, bench: Bench, ballots: Sequence[Ballot], votes: Votes) -> None:
        """Sort into tiers, leave out what rules could go by, and sort what is left again, until nothing has to be left out."""
        codes = _codes(ballots, votes, bench.seed)
        section, counts = bench.config.section(StudiesSection), votes.counts()
        alive, balanced = np.ones(len(ballots), dtype=bool), False
        while not balanced:
            places = [int(place) for place in np.flatnonzero(alive)]
            tiers = _tiers(codes[places], [ballots[place].person.id for place in places], bench.seed)
            balanced = True
            for tier in (tiers.medium, tiers.hard) if section.balanced else ():
                members = [] if tier is None else [int(place) for place in np.flatnonzero(tier.members)]
                pairs = [signs(_told(ballots[places[one]], tiers, one, bench.seed)) for one in members]
                for one, fine in zip(members, kept(pairs), strict=True):
                    if not fine:
                        alive[places[one]] = balanced = False
                        bench.reject(ballots[places[one]].item.id, "left out for balance", by=BALANCE)
        by_item: dict[str, list[Judgment]] = {}
        for row in votes.rows:
            by_item.setdefault(row.item, []).append(row)
        tier_of = {
            int(one): tier
            for tier in (tiers.medium, tiers.hard)
            if tier is not None
            for one in np.flatnonzero(tier.members)
        }
        if not tier_of and not bench.count("truth", "gold"):
            raise UserError(
                "tiers: no pair is left in any tier, with rules balanced; ask for more questions or answers, or set balanced = false in "
                "[studies].",
                code=1,
            )
        for one, place in enumerate(places):
            pair = ballots[place]
            if one in tier_of:
                self._keep(bench, pair, tiers, one, tier_of[one], counts, votes, by_item[pair.item.id])
            else:
                reason = "has no majority" if tiers.majority[one] < 0 else "raters do not agree enough"
                bench.reject(pair.item.id, reason, by=MAJORITY)
        for tier in (tiers.medium, tiers.hard):
            if tier is not None:
                bench.write(_found(tier), "tiers")
        for sentence in tiers.warnings:
            bench.write({"warning": sentence.replace("people", "raters")}, "warnings")

    def _keep(
        self,
        bench: Bench,
        one: Ballot,
        tiers: Tiers,
        place: int,
        tier: Tier,
        counts: dict[str, Any],
        votes: Votes,
        rows: Sequence[Judgment],
    ) -> None:
        label = int(tiers.majority[place]) ^ _turned(one, bench.seed)
        worse = one.answers[1 - label]
        one.item.slices["reject"] = "-".join(filter(None, [worse["strategy"], worse.get("direction")]))
        bench.write(one.item, "items")
        extra = {
            "tier": tier.name,
            "votes": dict(counts[one.item.id]),
            "share": float(tiers.shares[place]),
            "study": "pairs",
        }
        value = 1.0 if label == 0 else -1.0
        gold = Judgment(item=one.item.id, rater=votes.gold, label=str(label), value=value, extra=extra)
        bench.write(gold, "gold")
        for row in rows:
            bench.write(row, "votes")

    def card(self, bench: Bench) -> str:
        """Thresholds, agreement, warnings, and what simple rules score on all that was built."""
        return tiers_card(bench)


def _way(
    rows: list[dict[str, Any]], count: int, *key: str | int
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    order = sorted(rows, key=lambda row: draw("pairs", *key, row["id"], among=2**63))
    return [(order[2 * number], order[2 * number + 1]) for number in range(count)]


def _codes(ballots: Sequence[Ballot], votes: Votes, seed: int) -> NDArray[np.int64]:
    """Items × raters; answers are coded by a draw per item, so that no code means the better one."""
    places = {one.item.id: number for number, one in enumerate(ballots)}
    raters = {name: number for number, name in enumerate(dict.fromkeys(row.rater for row in votes.rows))}
    codes = np.full((len(ballots), len(raters)), -1, dtype=np.int64)
    for row in votes.rows:
        if row.label is not None:
            place = places[row.item]
            codes[place, raters[row.rater]] = int(row.label) ^ _turned(ballots[place], seed)
    return codes


def _tiers(codes: NDArray[np.int64], people: list[str], seed: int) -> Tiers:
    if (codes >= 0).any():
        return vote_tiers(codes, people, seed)
    nothing = np.full(len(codes), np.nan)
    return Tiers(nothing, np.full(len(codes), -1), None, None, ("No pair is left that has votes.",))


def _turned(one: Ballot, seed: int) -> int:
    return draw("code", seed, one.item.id, among=2)


def _told(one: Ballot, tiers: Tiers, place: int, seed: int) -> Told:
    label = int(tiers.majority[place]) ^ _turned(one, seed)
    return Told(one.person, one.item.prompt, one.texts[label], one.texts[1 - label])


def _found(tier: Tier) -> dict[str, Any]:
    kappa = tier.kappa
    return {
        "tier": tier.name,
        "least": tier.least,
        "below": min(tier.below, 1.0),
        "pairs": int(tier.members.sum()),
        "kappa": kappa.value,
        "low": kappa.low,
        "high": kappa.high,
    }
