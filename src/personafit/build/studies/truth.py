"""The truth step: the best of three answers to each question, by vote; then a pair of it and an answer that clearly does not fit."""

from collections import Counter
from typing import Any

from personafit._errors import UserError, counted
from personafit._hashing import draw
from personafit.build.answers import A1, A2, A3, WRONG
from personafit.build.bench import Bench
from personafit.build.studies.balance import RULED, RankedPair, Signs, kept_by_group, signs
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
from personafit.store import Judgment

STRATEGIES = (A1, A2, A3)
REJECTS = {A3: "generic", WRONG: "wrong-person"}
LEAST_VOTES = 2
TEST, VALIDATION = "test", "validation"
TIER = "easy"


class TruthStep(StudyStep):
    """Finds the best answer to each question and makes the Easy pairs."""

    name = "truth"
    after = ("people", "questions", "answers")

    async def make(self, bench: Bench) -> None:
        """Assemble the ballots, collect votes, and pair each best answer with a misfit."""
        asked, ballots = [], []
        for one in answered_questions(bench):
            shown = _ballot(bench, one)
            if shown is None:
                reason = "it has no three different answers by one model"
                bench.reject(one.id, reason, one.question["text"], about=one.person.id, by=SAME)
            else:
                asked.append(one)
                ballots.append(shown)
        if not ballots:
            raise UserError(
                "truth: no question has three different answers by one model; name other models in [models], or ask for longer "
                "answers.",
                code=1,
            )
        votes = voted(bench, self.name, "Which answer suits the person best?", ballots)
        for row in (row for rows in votes.by_ballot for row in rows):
            bench.write(row, "ballots")
        self._pair(bench, asked, ballots, votes)

    def _pair(
        self, bench: Bench, asked: list[AnsweredQuestion], ballots: list[Ballot], votes: StudyVotes
    ) -> None:
        """Pair each best answer with a misfit; leave out pairs so that rules do not predict the answer."""
        made: list[tuple[AnsweredQuestion, dict[str, Any], Ballot, str, Signs]] = []
        for one, shown, given in zip(asked, ballots, votes.by_ballot, strict=True):
            truth, row = _truth(one, shown, [vote for vote in given if vote.label is not None])
            row["simulated"] = votes.simulated
            other = _misfit(bench, one, truth) if truth else None
            if truth is None or other is None:
                reason = row.get("reason") or "no answer that plainly does not fit"
                bench.reject(one.id, reason, about=one.person.id, by=SAME if truth else MAJORITY)
                bench.write({**row, "pair": []})
                continue
            pair = ballot(TIER, one, [truth, other], bench)
            pair.item.slices["reject"] = REJECTS[other["strategy"]]
            said = signs(RankedPair(one.person, one.question["text"], truth["text"], other["text"]))
            made.append((one, row, pair, truth["id"], said))
        languages = [one.person.language for one, *_ in made]
        keep = kept_by_group(languages, [said for *_, said in made], balanced_rules(bench))
        for (one, row, pair, truth_id, said), good in zip(made, keep, strict=True):
            bench.write({**row, "pair": pair.item.products, "kept": good})
            if not good:
                bench.reject(one.id, "left out for balance", by=BALANCE)
                continue
            extra = {"tier": TIER, "votes": row["votes"], "share": row["share"], "study": "truth"}
            label = str(pair.item.products.index(truth_id))
            bench.write(pair.item, "items")
            bench.write(Judgment(item=pair.item.id, rater=votes.gold, label=label, extra=extra), "gold")
            bench.write({"tier": TIER, "said": said}, RULED)

    def card(self, bench: Bench) -> str:
        rows, votes = list(bench.read_rows("truth")), list(bench.read_rows("truth", "ballots"))
        simulated = any(row["simulated"] for row in rows)
        best = Counter(row["strategy"] for row in rows if "truth" in row)
        share = sum(row["share"] for row in rows if "truth" in row) / max(1, best.total())
        splits = Counter({name: len(people) for name, people in self.splits(bench).items()})
        lines = [
            "## First study: the best of three",
            "",
            f"{said_votes([row['rater'] for row in votes])} on {counted(len(rows), 'question', 'questions')}; {best.total():,} with a "
            f"majority ({share:.0%} of the votes on average). Best: {_listed(best) or 'none'}. In "
            f"{counted(sum(bool(row.get('kept')) for row in rows), 'Easy pair', 'Easy pairs')} the best stands against one that is "
            "generic or written for another person.",
            "",
            f"People by split, with nobody in two: {_listed(splits)}.",
        ]
        said = ["", "**All votes are simulated.** Nothing here says what people think."]
        return "\n".join([*lines, *(said if simulated else [])])

    def splits(self, bench: Bench) -> dict[str, list[str]]:
        people = list(dict.fromkeys(row["person"] for row in bench.read_rows("questions")))
        share = bench.config.section(StudiesSection).validation
        wanted = max(1, round(share * len(people))) if share else 0
        drawn = set(sorted(people, key=lambda one: draw("split", bench.seed, one, among=2**63))[:wanted])
        found = {TEST: [one for one in people if one not in drawn]}
        return found | ({VALIDATION: [one for one in people if one in drawn]} if drawn else {})


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items()))


def _ballot(bench: Bench, asked: AnsweredQuestion) -> Ballot | None:
    """Return a ballot of three different answers by one drawn model; None if no model has three."""
    by: dict[str, dict[str, dict[str, Any]]] = {}
    for row in asked.answers:
        if row["strategy"] in STRATEGIES:
            by.setdefault(row["model"], {})[row["strategy"]] = row
    whole = [
        model
        for model, rows in sorted(by.items())
        if len({row["text"] for row in rows.values()}) == len(STRATEGIES)
    ]
    if not whole:
        return None
    model = whole[draw("truth", bench.seed, bench.take, asked.id, among=len(whole))]
    return ballot("truth", asked, list(by[model].values()), bench)


def _truth(
    asked: AnsweredQuestion, shown: Ballot, given: list[Judgment]
) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """Return the answer with the most votes, None without a majority, and the row that records the outcome."""
    ranked = labels(given).most_common()
    said = {shown.answers[int(label)]["strategy"]: count for label, count in ranked}
    share = ranked[0][1] / len(given) if ranked else 0.0
    row: dict[str, Any] = {"id": asked.id, "person": asked.person.id, "votes": said, "share": share}
    if len(given) < LEAST_VOTES:
        return None, {**row, "reason": "has too few votes"}
    if len(ranked) > 1 and ranked[0][1] == ranked[1][1]:
        return None, {**row, "reason": "has no majority"}
    truth = shown.answers[int(ranked[0][0])]
    return truth, {**row, "truth": truth["id"], "strategy": truth["strategy"]}


def _misfit(bench: Bench, asked: AnsweredQuestion, truth: dict[str, Any]) -> dict[str, Any] | None:
    """Draw an answer by the same model that was told nothing about the person, or about someone else; None if there is none."""
    found = [
        row
        for row in asked.answers
        if row["strategy"] in REJECTS and row["model"] == truth["model"] and row["text"] != truth["text"]
    ]
    key = ("reject", bench.seed, bench.take, asked.id)
    return min(found, key=lambda row: draw(*key, row["id"], among=2**63), default=None)
