"""The truth step: of three answers to a question the best, by vote; then a pair of it and one that plainly does not fit."""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from personafit._errors import UserError
from personafit._hashing import draw
from personafit.build.answers import A1, A2, A3, WRONG
from personafit.build.bench import Bench
from personafit.build.sections import StudiesSection
from personafit.build.step import ExpectedAsks
from personafit.build.studies.balance import (
    BALANCED,
    REPORTED,
    RULED,
    RankedPair,
    Signs,
    kept_by_group,
    signs,
)
from personafit.build.studies.ballots import Ballot, Pool, Splits, ballot, pools
from personafit.build.studies.voting import (
    BALANCE,
    MAJORITY,
    SAME,
    StudyStep,
    StudyVotes,
    expected_votes,
    labels,
    left_out,
    listed,
    voted,
)
from personafit.store import Item, Judgment

NOT_PEOPLE = "**All votes are simulated.** Nothing here says what people think."

STRATEGIES = (A1, A2, A3)
REJECTS = {A3: "generic", WRONG: "wrong-person"}
LEAST_VOTES = 2
SPLIT = "rule:splits-1"


class TruthStep(StudyStep):
    """Which answer is best, and the Easy pairs."""

    name = "truth"
    after = ("people", "questions", "answers")

    def expected(self, bench: Bench) -> Iterator[ExpectedAsks]:
        """A vote by each model on each question."""
        yield from expected_votes(bench, 1, 900)

    async def make(self, bench: Bench) -> None:
        """Put the ballots together, have them voted on, and pair the best with what does not fit."""
        splits, count = Splits(bench), 0
        for pool in pools(bench):
            if splits.straddles(pool):
                reason, by = "its question is asked in the other split", SPLIT
            else:
                reason, by = _unfit(pool), SAME
            if reason:
                bench.reject(pool.id, reason, pool.question["text"], about=pool.person.id, by=by)
            count += not reason
        if not count:
            raise UserError(
                "truth: no question has three different answers by one model; name other models in [models], or ask for longer "
                "answers.",
                code=1,
            )
        ballots = partial(_ballots, bench, splits)
        votes = await voted(bench, self.name, "Which answer suits the person best?", ballots, count)
        for rows in votes:
            for row in rows:
                bench.write(row, "ballots")
        self._pairs(bench, splits, votes)
        for split, people in splits.people.items():
            for person in people:
                bench.write({"id": person, "split": split}, "splits")

    def _pairs(self, bench: Bench, splits: Splits, votes: StudyVotes) -> None:
        """The Easy pairs, each against whichever of the answers that do not fit tells the rules the least."""
        sums: dict[str, list[int]] = {}
        languages: list[str] = []
        pairs: list[Signs] = []
        made, given = bench.scratch("easy"), iter(votes)
        for pool in pools(bench):
            if splits.straddles(pool):
                continue
            one = _ballot(bench, pool)
            truth, row = _truth(pool, one, next(given) if one else [], votes)
            told = None if truth is None else _offered(bench, pool, truth, sums)
            if truth is None or told is None:
                reason = row.get("reason") or "no answer that plainly does not fit"
                by = SAME if truth else MAJORITY
                bench.reject(pool.id, reason, about=pool.person.id, by=by)
                made.add({"row": {**row, "pair": []}})
                continue
            other, said = told
            item, gold = _easy(bench, pool, truth, other, row, votes)
            made.add(
                {
                    "row": {**row, "pair": [truth["id"], other["id"]]},
                    "item": item.model_dump(mode="json", exclude_defaults=True),
                    "gold": gold.model_dump(mode="json", exclude_defaults=True),
                    "rules": said,
                }
            )
            languages.append(sys.intern(pool.person.language))
            pairs.append(said[: len(BALANCED)])
        balanced = bench.config.section(StudiesSection).balanced
        keep = iter(kept_by_group(languages, pairs) if balanced else [True] * len(pairs))
        for entry in made:
            if "item" not in entry:
                bench.write(entry["row"])
                continue
            good = next(keep)
            bench.write({**entry["row"], "kept": good})
            if good:
                bench.write(entry["item"], "items")
                bench.write(entry["gold"], "gold")
                bench.write({"tier": "easy", "said": entry["rules"]}, RULED)
            else:
                reason = f"left out for balance: {_telling(entry['rules'])}"
                bench.reject(entry["row"]["id"], reason, by=BALANCE)

    def card(self, bench: Bench) -> str:
        """Who voted, which strategies were best, and what was left out."""
        best: Counter[str] = Counter()
        shares, raters, pairs, simulated, total = 0.0, set[str](), 0, False, 0
        for row in bench.read_rows("truth"):
            total += 1
            simulated = simulated or row["simulated"]
            if "truth" in row:
                best[row["strategy"]] += 1
                shares += row["share"]
            pairs += bool(row.get("kept"))
        votes = 0
        for row in bench.read_rows("truth", "ballots"):
            votes += 1
            raters.add(row["rater"])
        splits: Counter[str] = Counter(row["split"] for row in bench.read_rows("truth", "splits"))
        chosen = ", ".join(f"{name} {count:,}" for name, count in sorted(best.items()))
        lines = [
            "## First study: the best of three",
            "",
            f"{votes:,} votes of {len(raters):,} {'simulated raters' if simulated else 'raters'} on {total:,} questions; "
            f"{best.total():,} have a majority ({shares / max(1, best.total()):.0%} of the votes on average). Best: "
            f"{chosen or 'none'}. {pairs:,} Easy pairs set the best against one that is generic or written for another person.",
            "",
            f"People by split, with no person and no question in two: {listed(splits)}.",
            *left_out(bench),
        ]
        return "\n".join([*lines, "", NOT_PEOPLE] if simulated else lines)

    def splits(self, bench: Bench) -> dict[str, list[str]]:
        """People set apart; no question is asked on both sides."""
        found: dict[str, list[str]] = {}
        for row in bench.read_rows(self.name, "splits"):
            found.setdefault(row["split"], []).append(row["id"])
        return found


def _telling(said: Sequence[int]) -> str:
    return ", ".join(name for name, one in zip(REPORTED, said, strict=True) if one and name in BALANCED)


def _by_model(pool: Pool) -> dict[str, dict[str, dict[str, Any]]]:
    by: dict[str, dict[str, dict[str, Any]]] = {}
    for row in pool.answers:
        if row["strategy"] in STRATEGIES:
            by.setdefault(row["model"], {})[row["strategy"]] = row
    return by


def _whole(rows: dict[str, dict[str, Any]]) -> bool:
    """Whether A1, A2 and A3 by one model are there and differ."""
    return len(rows) == len(STRATEGIES) and len({row["text"] for row in rows.values()}) == len(STRATEGIES)


def _unfit(pool: Pool) -> str:
    """Why a question cannot be voted on; empty if it can."""
    by = _by_model(pool)
    if any(_whole(rows) for rows in by.values()):
        return ""
    missing = not by or any(len(rows) < len(STRATEGIES) for rows in by.values())
    return "not all three answers could be made" if missing else "the answers are alike"


def _ballot(bench: Bench, pool: Pool) -> Ballot | None:
    """The three answers of one model, drawn among those that have them."""
    by = _by_model(pool)
    whole = [model for model, rows in sorted(by.items()) if _whole(rows)]
    if not whole:
        return None
    model = whole[draw("truth", bench.seed, bench.take, pool.id, among=len(whole))]
    return ballot("truth", pool, list(by[model].values()), bench.seed, bench.take)


def _ballots(bench: Bench, splits: Splits) -> Iterator[Ballot]:
    for pool in pools(bench):
        if not splits.straddles(pool) and (one := _ballot(bench, pool)) is not None:
            yield one


def _offered(
    bench: Bench, pool: Pool, truth: dict[str, Any], sums: dict[str, list[int]]
) -> tuple[dict[str, Any], Signs] | None:
    """The answer that does not fit and evens out best what rules said so far, and what they say of this pair."""
    so_far = sums.setdefault(pool.person.language, [0] * len(BALANCED))
    offers = []
    for other in _misfits(pool, truth):
        said = signs(RankedPair(pool.person, pool.question["text"], truth["text"], other["text"]), REPORTED)
        after = sum(abs(all_ + one) for all_, one in zip(so_far, said, strict=False))
        order = draw("reject", bench.seed, bench.take, pool.id, other["id"], among=2**63)
        offers.append((after, order, other, said))
    if not offers:
        return None
    _, _, other, said = min(offers, key=lambda one: one[:2])
    sums[pool.person.language] = [all_ + one for all_, one in zip(so_far, said, strict=False)]
    return other, said


def _truth(
    pool: Pool, one: Ballot | None, given: Sequence[dict[str, Any]], votes: StudyVotes
) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """The answer most raters chose, and the row that says so."""
    row: dict[str, Any] = {"id": pool.id, "person": pool.person.id, "simulated": votes.simulated}
    if one is None:
        return None, {**row, "reason": "was not voted on"}
    ranked = labels(given).most_common()
    said = {one.answers[int(label)]["strategy"]: count for label, count in ranked}
    total = sum(said.values())
    row |= {"votes": said, "share": ranked[0][1] / total if ranked else 0.0, "raters": total}
    if total < LEAST_VOTES:
        return None, {**row, "reason": "has too few votes"}
    if len(ranked) > 1 and ranked[0][1] == ranked[1][1]:
        return None, {**row, "reason": "has no majority"}
    truth = one.answers[int(ranked[0][0])]
    return truth, {**row, "truth": truth["id"], "strategy": truth["strategy"]}


def _misfits(pool: Pool, truth: dict[str, Any]) -> Sequence[dict[str, Any]]:
    """Answers by the same model that know nothing of the person, or know another one."""
    return [
        row
        for row in pool.answers
        if row["strategy"] in REJECTS
        and row["model"] == truth["model"]
        and row["id"] != truth["id"]
        and row["text"] != truth["text"]
    ]


def _easy(
    bench: Bench,
    pool: Pool,
    truth: dict[str, Any],
    other: dict[str, Any],
    row: dict[str, Any],
    votes: StudyVotes,
) -> tuple[Item, Judgment]:
    one = ballot("easy", pool, [truth, other], bench.seed, bench.take)
    one.item.slices["reject"] = REJECTS[other["strategy"]]
    extra = {"tier": "easy", "votes": row["votes"], "share": row["share"], "study": "truth"}
    label = str(one.item.products.index(truth["id"]))
    return one.item, Judgment(item=one.item.id, rater=votes.gold, label=label, extra=extra)
