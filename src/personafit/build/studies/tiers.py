"""The tiers step: pairs drawn from the answers and voted on; raters' agreement decides between Medium and Hard."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from personafit._errors import UserError
from personafit._hashing import draw
from personafit.build.bench import Bench
from personafit.build.step import table
from personafit.build.studies.balance import REPORTED, RULED, RankedPair, kept_by_group, right, signs
from personafit.build.studies.voting import (
    BALANCE,
    MAJORITY,
    SAME,
    AnsweredQuestion,
    Ballot,
    StudiesSection,
    StudyStep,
    StudyVotes,
    answered_questions,
    balanced_rules,
    ballot,
    labels,
    said_votes,
    voted,
)
from personafit.statistics.tiers import HELD_OUT, Tiers, vote_tiers
from personafit.store import Judgment

TIERS = ("easy", "medium", "hard")


class TiersStep(StudyStep):
    """Makes the Medium and Hard pairs."""

    name = "tiers"
    after = ("people", "questions", "answers", "truth")

    async def make(self, bench: Bench) -> None:
        """Draw pairs, collect votes on them, and sort them into tiers by how clear the votes are."""
        truths = {row["id"]: row for row in bench.read_rows("truth")}
        pairs: list[Ballot] = []
        for asked in answered_questions(bench):
            drawn = _drawn(bench, asked, truths[asked.id]["pair"]) if asked.id in truths else []
            pairs += drawn
            if asked.id in truths and not drawn:
                bench.reject(asked.id, "no two different answers are left", about=asked.person.id, by=SAME)
        if not pairs:
            raise UserError(
                "tiers: no question has two different answers left beside its Easy pair; set improved, degraded or makers higher in "
                "[answers].",
                code=1,
            )
        votes = voted(bench, "pairs", "Which of two answers suits the person better?", pairs)
        if any(row["simulated"] != votes.simulated for row in truths.values()):
            raise UserError(
                "tiers: one study's votes are people's and the other's are simulated; take both from people, or both simulated."
            )
        self._sort(bench, pairs, votes)

    def _sort(self, bench: Bench, pairs: Sequence[Ballot], votes: StudyVotes) -> None:
        tiers, majority = _tiers(bench.seed, pairs, votes)
        found = [tier for tier in (tiers.medium, tiers.hard) if tier is not None]
        names = [
            next((tier.name for tier in found if tier.members[place]), "") for place in range(len(pairs))
        ]
        places = [place for place, name in enumerate(names) if name]
        said = {}
        for place in places:
            one, better = pairs[place], majority[place]
            texts = (one.texts[better], one.texts[1 - better])
            said[place] = signs(RankedPair(one.person, one.item.prompt, *texts))
        groups = [(names[place], pairs[place].person.language) for place in places]
        keep = kept_by_group(groups, list(said.values()), balanced_rules(bench))
        balanced = dict(zip(places, keep, strict=True))
        kept: Counter[str] = Counter()
        for place, (one, given) in enumerate(zip(pairs, votes.by_ballot, strict=True)):
            if not names[place]:
                reason = "has no majority" if majority[place] < 0 else "raters do not agree enough"
                bench.reject(one.item.id, reason, by=MAJORITY)
            elif not balanced[place]:
                bench.reject(one.item.id, "left out for balance", by=BALANCE)
            else:
                kept[names[place]] += 1
                share = float(tiers.shares[place])
                _keep(bench, one, majority[place], names[place], share, given, votes.gold)
                bench.write({"tier": names[place], "said": said[place]}, RULED)
        if not kept and not any(bench.read_rows("truth", "gold")):
            raise UserError(
                "tiers: no pair is left in any tier, with rules balanced; ask for more questions or answers, or set balanced = false in "
                "[studies].",
                code=1,
            )
        for tier in found:
            kappa = tier.kappa
            row = {
                "tier": tier.name,
                "pairs": kept[tier.name],
                "least": tier.least,
                "below": min(tier.below, 1.0),
            }
            bench.write({**row, "kappa": kappa.value, "low": kappa.low, "high": kappa.high}, "tiers")
        for sentence in tiers.warnings:
            bench.write({"warning": sentence.replace("people", "raters")}, "warnings")

    def card(self, bench: Bench) -> str:
        votes = [row["rater"] for row in bench.read_rows("tiers", "votes")]
        found = []
        for row in bench.read_rows("tiers", "tiers"):
            kappa = "–" if row.get("kappa") is None else f"{row['kappa']:.2f}"
            if row.get("low") is not None and row.get("high") is not None:
                kappa += f" ({row['low']:.2f} to {row['high']:.2f})"
            found.append((row["tier"], row["pairs"], f"{row['least']:.2f} to {row['below']:.2f}", kappa))
        return "\n".join(
            [
                "## Second study: the better of two",
                "",
                f"{said_votes(votes)} on the pairs that are in a tier. Thresholds and agreement are of each tier before pairs were left out for balance.",
                "",
                *table(("tier", "pairs", "share of the majority", "Fleiss' kappa, held out"), found),
                "",
                HELD_OUT,
                "",
                *(f"- {row['warning']}" for row in bench.read_rows("tiers", "warnings")),
                *_rules(bench),
            ]
        )


def _drawn(bench: Bench, asked: AnsweredQuestion, used: Sequence[str]) -> list[Ballot]:
    """Draw pairs of answers that occur in no other pair, so that an answer's frequency does not reveal its quality."""
    texts = {row["text"] for row in asked.answers if row["id"] in used}
    left = {row["text"]: row for row in reversed(asked.answers) if row["text"] not in texts}
    key = ("pairs", bench.seed, bench.take, asked.id)
    order = sorted(left.values(), key=lambda row: draw(*key, row["id"], among=2**63))
    count = min(bench.config.section(StudiesSection).pairs, len(order) // 2)
    return [ballot("pairs", asked, order[2 * number : 2 * number + 2], bench) for number in range(count)]


def _tiers(seed: int, pairs: Sequence[Ballot], votes: StudyVotes) -> tuple[Tiers, list[int]]:
    """Return the tiers of pairs, and the index of each pair's majority answer; -1 if there is none.

    Answer codes are shuffled per item, so that no code means the better answer.
    """
    raters = dict.fromkeys(one.rater for given in votes.by_ballot for one in given)
    columns = {name: number for number, name in enumerate(raters)}
    codes = np.full((len(pairs), len(columns)), -1)
    turned = [draw("code", seed, pair.item.id, among=2) for pair in pairs]
    for place, given in enumerate(votes.by_ballot):
        for one in given:
            if one.label is not None:
                codes[place, columns[one.rater]] = int(one.label) ^ turned[place]
    tiers = vote_tiers(codes, [pair.person.id for pair in pairs], [pair.item.prompt for pair in pairs])
    majority = [
        -1 if code < 0 else int(code) ^ turn for code, turn in zip(tiers.majority, turned, strict=True)
    ]
    return tiers, majority


def _keep(
    bench: Bench, one: Ballot, label: int, tier: str, share: float, votes: Sequence[Judgment], gold: str
) -> None:
    worse = one.answers[1 - label]
    one.item.slices["reject"] = "-".join(filter(None, [worse["strategy"], worse.get("direction")]))
    bench.write(one.item, "items")
    extra: dict[str, Any] = {"tier": tier, "votes": dict(labels(votes)), "share": share, "study": "pairs"}
    value = 1.0 if label == 0 else -1.0
    bench.write(Judgment(item=one.item.id, rater=gold, label=str(label), value=value, extra=extra), "gold")
    for vote in votes:
        bench.write(vote, "votes")


def _rules(bench: Bench) -> list[str]:
    """Return the card's section on each rule's accuracy by tier, computed as in the audit."""
    said: dict[str, list[list[int]]] = {tier: [] for tier in ("all", *TIERS)}
    for row in (row for step in ("truth", "tiers") for row in bench.read_rows(step, RULED)):
        said["all"].append(row["said"])
        said[row["tier"]].append(row["said"])
    rows = (
        (tier, len(mine), *(f"{100 * right(sum(one), len(mine)):.1f} %" for one in zip(*mine, strict=True)))
        for tier, mine in said.items()
        if mine
    )
    rules = balanced_rules(bench)
    left_out = (
        f"Pairs were left out for the first {rules} of these rules; overlap is given up where that would leave less than a quarter of the "
        "pairs."
        if rules
        else "No pair was left out for balance."
    )
    return [
        "",
        "## What simple rules score",
        "",
        f"Counted as `personafit audit` counts; within 45 to 55 % a rule tells nothing. {left_out}",
        "",
        *table(("tier", "pairs", *REPORTED), rows),
    ]
