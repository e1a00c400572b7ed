"""The truth step: of three answers to a question the best, by vote; then a pair of it and one that plainly does not fit."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from personafit._errors import UserError
from personafit._hashing import draw
from personafit.factory.answers.making import A1, A2, A3, WRONG
from personafit.factory.bench import Bench
from personafit.factory.questions.blocks import expected_people
from personafit.factory.questions.config import QuestionsSection
from personafit.factory.step import Expected, Step
from personafit.factory.studies.balance import BALANCED, Signs, Told, kept, signs
from personafit.factory.studies.ballots import Ballot, ballot
from personafit.factory.studies.card import truth_card
from personafit.factory.studies.config import StudiesSection
from personafit.factory.studies.pools import Pool, Splits, pools
from personafit.factory.studies.prompts import VOTE
from personafit.factory.studies.voting import Votes, voted, voters
from personafit.store import Judgment

STRATEGIES = (A1, A2, A3)
REJECTS = {A3: "generic", WRONG: "wrong-person"}
LEAST_VOTES = 2
BALANCE, SPLIT, SAME, MAJORITY = "rule:balance-1", "rule:splits-1", "rule:same-1", "rule:majority-1"


class TruthStep(Step):
    """Which answer is best, and the Easy pairs."""

    name = "truth"
    after = ("people", "questions", "answers")
    uses = ("memories", "features")
    section = StudiesSection
    prompts = (VOTE,)

    def outside(self, bench: Bench) -> Any:
        """Who votes."""
        return voters(bench)

    def expected(self, bench: Bench) -> Iterator[Expected]:
        """A vote by each model on each question."""
        yield from expected_votes(bench, 1, 900)

    async def make(self, bench: Bench) -> None:
        """Put the ballots together, have them voted on, and pair the best with what does not fit."""
        splits, ballots = Splits(bench), []
        for pool in pools(bench):
            if splits.straddles(pool):
                bench.reject(
                    pool.id, "its question is asked in the other split", about=pool.person.id, by=SPLIT
                )
            elif (one := _ballot(bench, pool)) is not None:
                ballots.append(one)
        if not ballots:
            raise UserError(
                "truth: no question has three different answers by one model; name other models in [models], or ask for longer "
                "answers.",
                code=1,
            )
        votes = await voted(bench, self.name, "Which answer suits the person best?", ballots)
        for row in votes.rows:
            bench.write(row, "ballots")
        self._pairs(bench, splits, {one.item.group: one for one in ballots}, votes)
        for split, people in splits.people.items():
            for person in people:
                bench.write({"id": person, "split": split}, "splits")

    def _pairs(self, bench: Bench, splits: Splits, ballots: dict[str, Ballot], votes: Votes) -> None:
        """The Easy pairs, each against whichever of the answers that do not fit tells the rules the least."""
        counts, sums = votes.counts(), [0] * len(BALANCED)
        made: list[tuple[Signs, Ballot, Judgment, dict[str, Any]]] = []
        for pool in pools(bench):
            if splits.straddles(pool):
                continue
            truth, row = _truth(pool, ballots.get(pool.id), counts, votes)
            if truth is None:
                bench.reject(pool.id, row["reason"], about=pool.person.id, by=MAJORITY)
                bench.write({**row, "pair": []})
                continue
            offers = []
            for other in _misfits(pool, truth):
                said = signs(Told(pool.person, pool.question["text"], truth["text"], other["text"]))
                after = [all_ + one for all_, one in zip(sums, said, strict=True)]
                order = draw("reject", bench.seed, bench.take, pool.id, other["id"], among=2**63)
                offers.append((sum(map(abs, after)), order, other, said))
            if not offers:
                bench.reject(pool.id, "no answer that plainly does not fit", about=pool.person.id, by=SAME)
                bench.write({**row, "pair": []})
                continue
            _, _, other, said = min(offers, key=lambda one: one[:2])
            sums = [all_ + one for all_, one in zip(sums, said, strict=True)]
            easy = _easy(bench, pool, truth, other, row, votes)
            made.append((said, *easy, {**row, "pair": [truth["id"], other["id"]]}))
        section = bench.config.section(StudiesSection)
        keep = kept([one[0] for one in made]) if section.balanced else [True] * len(made)
        for good, (said, easy_ballot, gold, row) in zip(keep, made, strict=True):
            bench.write({**row, "kept": good})
            if good:
                bench.write(easy_ballot.item, "items")
                bench.write(gold, "gold")
            else:
                bench.reject(row["id"], f"left out for balance: {_telling(said)}", by=BALANCE)

    def card(self, bench: Bench) -> str:
        """Who voted, which strategies were best, and what was left out."""
        return truth_card(bench)

    def splits(self, bench: Bench) -> dict[str, list[str]]:
        """People set apart; no question is asked on both sides."""
        found: dict[str, list[str]] = {}
        for row in bench.read_rows(self.name, "splits"):
            found.setdefault(row["split"], []).append(row["id"])
        return found


def expected_votes(bench: Bench, items: int, tokens: int) -> Iterator[Expected]:
    """A vote by each model that votes on so many items for each question."""
    section, asked = bench.config.section(StudiesSection), bench.config.section(QuestionsSection)
    questions = expected_people(bench, asked) * (asked.specific + asked.general)
    if section.voters == "simulated":
        for spec in bench.config.models.raters[: section.raters]:
            yield Expected("votes", bench.model_of(spec), questions * items, tokens, 1)


def _telling(said: Signs) -> str:
    return ", ".join(name for name, one in zip(BALANCED, said, strict=True) if one) or "nothing tells"


def _ballot(bench: Bench, pool: Pool) -> Ballot | None:
    """A1, A2 and A3 by one model, drawn among those of which all three are there and differ."""
    by: dict[str, dict[str, Any]] = {}
    for row in pool.answers:
        if row["strategy"] in STRATEGIES:
            by.setdefault(row["model"], {})[row["strategy"]] = row
    whole = [
        model
        for model, rows in sorted(by.items())
        if len(rows) == len(STRATEGIES) and len({row["text"] for row in rows.values()}) == len(STRATEGIES)
    ]
    if not whole:
        missing = any(len(rows) < len(STRATEGIES) for rows in by.values()) or not by
        reason = "not all three answers could be made" if missing else "the answers are alike"
        bench.reject(pool.id, reason, pool.question["text"], about=pool.person.id, by=SAME)
        return None
    model = whole[draw("truth", bench.seed, bench.take, pool.id, among=len(whole))]
    return ballot("truth", pool, list(by[model].values()), bench.seed, bench.take)


def _truth(
    pool: Pool, one: Ballot | None, counts: dict[str, Counter[str]], votes: Votes
) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """The answer most raters chose, and the row that says so."""
    row: dict[str, Any] = {"id": pool.id, "person": pool.person.id, "simulated": votes.simulated}
    if one is None:
        return None, {**row, "reason": "was not voted on"}
    ranked = counts.get(one.item.id, Counter()).most_common()
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
    votes: Votes,
) -> tuple[Ballot, Judgment]:
    one = ballot("easy", pool, [truth, other], bench.seed, bench.take)
    one.item.slices["reject"] = REJECTS[other["strategy"]]
    extra = {"tier": "easy", "votes": row["votes"], "share": row["share"], "study": "truth"}
    label = str(one.item.products.index(truth["id"]))
    return one, Judgment(item=one.item.id, rater=votes.gold, label=label, extra=extra)
