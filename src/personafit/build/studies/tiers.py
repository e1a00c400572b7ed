"""The tiers step: pairs drawn from the answers, voted on; how clearly raters agree makes them Medium or Hard."""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from personafit._errors import UserError
from personafit._hashing import draw, hash_text
from personafit.build.bench import Bench
from personafit.build.sections import StudiesSection
from personafit.build.step import ExpectedAsks, table
from personafit.build.studies.balance import (
    BALANCED,
    REPORTED,
    RULED,
    RankedPair,
    Signs,
    kept_by_group,
    right,
    signs,
    unlikeness,
)
from personafit.build.studies.ballots import Ballot, Ballots, Pool, ballot, pools
from personafit.build.studies.voting import (
    BALANCE,
    MAJORITY,
    SAME,
    SIMULATED,
    StudyStep,
    StudyVotes,
    expected_votes,
    labels,
    left_out,
    voted,
)
from personafit.statistics.tiers import HELD_OUT, Tier, Tiers, vote_tiers
from personafit.store import Judgment

TIERS = ("easy", "medium", "hard")

DRAWS = 8  # ways to pair the answers that are drawn; the one whose answers look most alike is taken


class TiersStep(StudyStep):
    """Medium and Hard pairs."""

    name = "tiers"
    after = ("people", "questions", "answers", "truth")

    def expected(self, bench: Bench) -> Iterator[ExpectedAsks]:
        """A vote by each model on each pair."""
        yield from expected_votes(bench, bench.config.section(StudiesSection).pairs, 700)

    async def make(self, bench: Bench) -> None:
        """Draw pairs, have them voted on, and sort them by how clear the votes are."""
        count = 0
        for pool, row in _judged(bench):
            drawn = sum(1 for _ in self._drawn(bench, pool, row))
            if not drawn:
                bench.reject(pool.id, "no two different answers are left", about=pool.person.id, by=SAME)
            count += drawn
        if not count:
            raise UserError(
                "tiers: no question has two different answers left beside its Easy pair; set improved, degraded or makers higher in "
                "[answers].",
                code=1,
            )

        def ballots() -> Iterator[Ballot]:
            return (one for pool, row in _judged(bench) for one in self._drawn(bench, pool, row))

        votes = await voted(bench, "pairs", "Which of two answers suits the person better?", ballots, count)
        if any(row["simulated"] != votes.simulated for row in bench.read_rows("truth")):
            raise UserError(
                "tiers: one study's votes are people's and the other's are simulated; take both from people, or both simulated."
            )
        self._sort(bench, ballots, votes)

    def _drawn(self, bench: Bench, pool: Pool, truth: dict[str, Any]) -> Iterator[Ballot]:
        """Pairs of answers that are in no other pair: how often an answer occurs must not tell its worth."""
        used = set(truth["pair"])
        texts = {row["text"] for row in pool.answers if row["id"] in used}
        left: dict[str, dict[str, Any]] = {}
        for row in pool.answers:
            if row["text"] not in texts:
                left.setdefault(row["text"], row)
        count = min(bench.config.section(StudiesSection).pairs, len(left) // 2)
        if not count:
            return
        ways = [_way(list(left.values()), count, bench.seed, bench.take, pool.id, n) for n in range(DRAWS)]
        best = min(ways, key=lambda way: sum(unlikeness(pool.person, a["text"], b["text"]) for a, b in way))
        for pair in best:
            yield ballot("pairs", pool, pair, bench.seed, bench.take)

    def _sort(self, bench: Bench, ballots: Ballots, votes: StudyVotes) -> None:
        """Sort into tiers, leave out what rules could go by, and sort what is left again, until nothing has to be left out."""
        seen = _Seen(bench.seed, ballots, votes)
        balanced = bench.config.section(StudiesSection).balanced
        alive, settled = np.ones(len(seen.people), dtype=bool), False
        while not settled:
            places = np.flatnonzero(alive)
            tiers = seen.tiers(places)
            settled = True
            for tier in (tiers.medium, tiers.hard) if balanced else ():
                members = [] if tier is None else np.flatnonzero(tier.members).tolist()
                said = [
                    seen.signs(int(places[one]), int(tiers.majority[one]))[: len(BALANCED)] for one in members
                ]
                groups = [seen.languages[places[one]] for one in members]
                for one, fine in zip(members, kept_by_group(groups, said), strict=True):
                    if not fine:
                        alive[places[one]] = settled = False
        of = {tier.name: tier for tier in (tiers.medium, tiers.hard) if tier is not None}
        if not of and not bench.count("truth", "gold"):
            raise UserError(
                "tiers: no pair is left in any tier, with rules balanced; ask for more questions or answers, or set balanced = false in "
                "[studies].",
                code=1,
            )
        one = 0  # the place among those alive
        for place, (pair, rows) in enumerate(zip(ballots(), votes, strict=True)):
            if not alive[place]:
                bench.reject(pair.item.id, "left out for balance", by=BALANCE)
                continue
            name = next((name for name, tier in of.items() if tier.members[one]), None)
            code, share = int(tiers.majority[one]), float(tiers.shares[one])
            one += 1
            if name is None:
                reason = "has no majority" if code < 0 else "raters do not agree enough"
                bench.reject(pair.item.id, reason, by=MAJORITY)
                continue
            self._keep(bench, pair, code ^ seen.turned[place], name, share, rows, votes.gold)
            bench.write({"tier": name, "said": seen.signs(place, code)}, RULED)
        for tier in of.values():
            bench.write(_found(tier), "tiers")
        for sentence in tiers.warnings:
            bench.write({"warning": sentence.replace("people", "raters")}, "warnings")

    def _keep(
        self,
        bench: Bench,
        one: Ballot,
        label: int,
        tier: str,
        share: float,
        rows: Sequence[dict[str, Any]],
        gold: str,
    ) -> None:
        worse = one.answers[1 - label]
        one.item.slices["reject"] = "-".join(filter(None, [worse["strategy"], worse.get("direction")]))
        bench.write(one.item, "items")
        extra = {"tier": tier, "votes": dict(labels(rows)), "share": share, "study": "pairs"}
        value = 1.0 if label == 0 else -1.0
        bench.write(
            Judgment(item=one.item.id, rater=gold, label=str(label), value=value, extra=extra), "gold"
        )
        for row in rows:
            bench.write(row, "votes")

    def card(self, bench: Bench) -> str:
        """Thresholds, agreement, warnings, and what simple rules score on all that was built."""
        votes: Counter[str] = Counter(row["rater"] for row in bench.read_rows("tiers", "votes"))
        simulated = any(rater.startswith(SIMULATED) for rater in votes)
        lines = [
            "## Second study: the better of two",
            "",
            f"{votes.total():,} votes of {len(votes):,} {'simulated raters' if simulated else 'raters'} on the pairs that are in a tier.",
            "",
        ]
        found = []
        for row in bench.read_rows("tiers", "tiers"):
            kappa = "–" if row.get("kappa") is None else f"{row['kappa']:.2f}"
            if row.get("low") is not None and row.get("high") is not None:
                kappa += f" ({row['low']:.2f} to {row['high']:.2f})"
            found.append((row["tier"], row["pairs"], f"{row['least']:.2f} to {row['below']:.2f}", kappa))
        lines += table(("tier", "pairs", "share of the majority", "Fleiss' kappa, held out"), found)
        lines += ["", HELD_OUT, ""]
        lines += [f"- {row['warning']}" for row in bench.read_rows("tiers", "warnings")]
        lines += left_out(bench)
        return "\n".join([*lines, *_rules(bench)])


def _way(
    rows: list[dict[str, Any]], count: int, *key: str | int
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    order = sorted(rows, key=lambda row: draw("pairs", *key, row["id"], among=2**63))
    return [(order[2 * number], order[2 * number + 1]) for number in range(count)]


def _judged(bench: Bench) -> Iterator[tuple[Pool, dict[str, Any]]]:
    """The questions of the first study with what came of it; both are in one order."""
    truths = bench.read_rows("truth")
    row = next(truths, None)
    for pool in pools(bench):
        if row is not None and row["id"] == pool.id:
            yield pool, row
            row = next(truths, None)


class _Seen:
    """What sorting needs of every pair, in some hundred bytes each: votes as codes, whom it is about, and what rules say.

    Answers are coded by a draw per item, so that no code means the better one.
    """

    def __init__(self, seed: int, ballots: Ballots, votes: StudyVotes) -> None:
        self.people: list[str] = []
        self._prompts: list[int] = []
        """A number for each prompt, the same where it recurs."""
        self.languages: list[str] = []
        self.turned = bytearray()
        """Whether code 0 is the second answer."""
        self._signs: list[Signs] = []
        raters = {row["rater"]: None for rows in votes for row in rows}
        columns = {name: number for number, name in enumerate(raters)}
        known: dict[Signs, Signs] = {}
        codes = bytearray()
        for pair, rows in zip(ballots(), votes, strict=True):
            turned = draw("code", seed, pair.item.id, among=2)
            said = signs(RankedPair(pair.person, pair.item.prompt, *pair.texts), REPORTED)
            self.people.append(sys.intern(pair.person.id))
            self._prompts.append(int(hash_text(pair.item.prompt)[:15], 16))
            self.languages.append(sys.intern(pair.person.language))
            self.turned.append(turned)
            self._signs.append(known.setdefault(said, said))
            row_codes = np.full(len(columns), -1, dtype=np.int8)
            for row in rows:
                if row.get("label") is not None:
                    row_codes[columns[row["rater"]]] = int(row["label"]) ^ turned
            codes += row_codes.tobytes()
        self._codes = np.frombuffer(codes, dtype=np.int8).reshape(len(self.people), len(columns))

    def tiers(self, places: NDArray[np.int64]) -> Tiers:
        """The tiers among some of the pairs."""
        codes = self._codes[places].astype(np.int64)
        if (codes >= 0).any():
            return vote_tiers(
                codes, [self.people[place] for place in places], [self._prompts[place] for place in places]
            )
        nothing = np.full(len(codes), np.nan)
        return Tiers(nothing, np.full(len(codes), -1), None, None, ("No pair is left that has votes.",))

    def signs(self, place: int, code: int) -> Signs:
        """What rules say of a pair whose better answer has this code."""
        said = self._signs[place]
        return said if code == self.turned[place] else tuple(-one for one in said)


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


def _rules(bench: Bench) -> list[str]:
    """Each rule's share of right answers by tier, counted as the audit counts."""
    sizes, sums = Counter[str](), dict[str, list[int]]()
    for step in ("truth", "tiers"):
        for row in bench.read_rows(step, RULED):
            for tier in (row["tier"], "all"):
                sizes[tier] += 1
                so_far = sums.get(tier) or [0] * len(REPORTED)
                sums[tier] = [all_ + one for all_, one in zip(so_far, row["said"], strict=True)]
    lines = [
        "",
        "## What simple rules score",
        "",
        "Counted as `personafit audit` counts; within 45 to 55 % a rule tells nothing. Overlap is reported and not balanced.",
        "",
    ]
    rows = (
        (tier, sizes[tier], *(f"{100 * right(one, sizes[tier]):.1f} %" for one in sums[tier]))
        for tier in ("all", *TIERS)
        if sizes[tier]
    )
    return lines + table(("tier", "pairs", *REPORTED), rows)
