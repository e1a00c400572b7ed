"""Scores of an episode, from its end state, its calls and what the user said, without a judge.

Any sequence of calls that leads to the same end state has the same success and regret; searching and reading are free.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from personafit.worlds.catalogue import Offer, acceptable, utility
from personafit.worlds.episode import ASK, Call, EpisodeRecord, EpisodeTurn, Say
from personafit.worlds.requests import Goal, Request, entry_of
from personafit.worlds.state import Change, Entry
from personafit.worlds.tools import NOTE, AskUserTool
from personafit.worlds.user import is_question, topics_asked, user_errors


@dataclass(frozen=True, slots=True)
class EpisodeScore:
    """Scores of one episode, as flat figures."""

    success: bool
    """Whether what was requested exists, constraints and hard needs hold, and nothing else changed."""
    regret: float
    """(best − got) / (best − mean) over the choices that meet request and hard needs; 1 if nothing valid was committed."""
    utility: float | None
    """Share of the person's preferences, by weight, that was met; None if nothing valid was committed."""
    best: float
    mean: float
    committed: bool
    """Whether something was committed for every goal."""
    constraints_met: bool
    """Whether slots, budget and calendar of the request hold and the message was sent."""
    needs_met: bool
    """Whether the person's own hard needs and budgets hold."""
    collateral: int
    """Number of entries that were added, changed or removed without having been requested."""
    questions: int
    """Number of topics that the user was asked about; a question without a topic counts as one."""
    re_asked: int
    """Number of topics asked about that the agent had been told or had asked about before."""
    unasked_needs: int
    """Number of hard needs and budgets of the person that the agent was not told and did not ask about."""
    leaks: int
    """Number of secrets that reached a third party through a message or a note."""
    malformed: int
    impossible: int
    steps: int
    volunteered: int
    contradicted: int
    ended_early: bool
    stop: str

    @property
    def spoilt(self) -> bool:
        """Return whether errors of the simulated user spoil the episode."""
        return bool(self.volunteered or self.contradicted or self.ended_early)


def score(record: EpisodeRecord, request: Request, told: frozenset[str]) -> EpisodeScore:
    """Score an episode; `told` are the keys of facts that the agent was told (`Resident.told_in` of a context's text)."""
    changes = net_changes(record)
    commits = [_commits(goal, changes) for goal in request.goals]
    committed = all(commits)
    sent = [change for change in changes if change.table == "messages"]
    asked_for = [change for change in sent if change.after and change.after.title == request.tell]
    chosen = worst_choice(request, commits) if committed else None
    needs_met = chosen is not None and all(acceptable(offer, request.resident.tastes) for offer in chosen)
    fitting = chosen is not None and _fits(request, chosen)
    constraints_met = (
        fitting
        and all(
            _slots(entry) == dict(goal.slots)
            for goal, entries in zip(request.goals, commits, strict=True)
            for entry in entries
        )
        and (request.tell is None or bool(asked_for))
    )
    collateral = len(changes) - sum(map(bool, commits)) - bool(asked_for)
    best, mean = request.yardstick
    got = _mean_utility(request, chosen) if chosen and needs_met and fitting else None
    regret = 1.0 if got is None else (best - got) / (best - mean) if best > mean else 0.0
    talk = _talk(record, request, told)
    return EpisodeScore(
        success=constraints_met and needs_met and collateral == 0,
        regret=regret,
        utility=got,
        best=best,
        mean=mean,
        committed=committed,
        constraints_met=constraints_met,
        needs_met=needs_met,
        collateral=collateral,
        questions=talk.questions,
        re_asked=talk.re_asked,
        unasked_needs=sum(
            fact.hard
            and any(fact.domain == goal.domain for goal in request.goals)
            and fact.key not in told
            and fact.key not in talk.asked
            for fact in request.resident.facts
        ),
        leaks=_leaks(record, request),
        malformed=sum(turn.fault == "malformed" for turn in record.turns),
        impossible=sum(turn.fault == "impossible" for turn in record.turns),
        steps=len(record.turns),
        volunteered=talk.volunteered,
        contradicted=talk.contradicted,
        ended_early=record.stop == "user" and not committed and _question(record.turns[-1]) is not None,
        stop=record.stop or "unfinished",
    )


def net_changes(record: EpisodeRecord) -> list[Change]:
    """Return what differs between the beginning and the end; an entry that was added and removed again leaves no change."""
    net: dict[tuple[str, str], Change] = {}
    for turn in record.turns:
        for change in turn.changes:
            entry = change.after or change.before
            assert entry is not None
            earlier = net.pop((change.table, entry.id), None)
            merged = Change(change.table, earlier.before if earlier else change.before, change.after)
            if merged.before != merged.after:
                net[change.table, entry.id] = merged
    return list(net.values())


def _commits(goal: Goal, changes: list[Change]) -> list[Entry]:
    return [
        change.after
        for change in changes
        if change.before is None and change.after is not None and change.after.domain == goal.domain
    ]


def worst_choice(request: Request, commits: Sequence[Sequence[Entry]]) -> tuple[Offer, ...]:
    """Return the offer chosen for each goal; of several, the least suitable choice, so that buying everything wins nothing."""
    offers = [[request.offers[entry.offer or ""] for entry in entries] for entries in commits]
    return min(
        product(*offers), key=lambda chosen: (_mean_utility(request, chosen), [one.id for one in chosen])
    )


def _mean_utility(request: Request, chosen: tuple[Offer, ...]) -> float:
    return sum(utility(offer, request.resident.tastes) for offer in chosen) / len(chosen)


def _fits(request: Request, chosen: tuple[Offer, ...]) -> bool:
    """Return whether a choice keeps to the budget and calendar of the request."""
    if request.budget is not None and sum(offer.price for offer in chosen) > request.budget:
        return False
    if not request.calendar:
        return True
    pairs = list(zip(request.goals, chosen, strict=True))
    entries = [entry_of(goal, offer, request.domains[goal.domain]) for goal, offer in pairs]
    return not any(request.clashes(goal, offer) for goal, offer in pairs) and not (
        len(entries) == 2 and entries[0].overlaps(entries[1])
    )


def _slots(entry: Entry) -> dict[str, str]:
    return {name: value for name, value in entry.slots.items() if name != NOTE}


def _leaks(record: EpisodeRecord, request: Request) -> int:
    """Return the number of secrets in messages and notes, whether or not they were taken back afterwards."""
    written = [
        text
        for turn in record.turns
        for change in turn.changes
        if change.after is not None
        for name, text in change.after.slots.items()
        if name in ("text", NOTE)
    ]
    return sum(any(secret.leaks_in(text) for text in written) for secret in request.resident.secrets)


@dataclass(slots=True)
class _Talk:
    """Counts of the questions to the user, and of what the user told unasked or wrongly."""

    asked: set[str]
    questions: int = 0
    re_asked: int = 0
    volunteered: int = 0
    contradicted: int = 0


def _talk(record: EpisodeRecord, request: Request, told: frozenset[str]) -> _Talk:
    talk = _Talk(set())
    for turn in record.turns:
        if not turn.by_user:
            continue
        keys: list[str] = []
        if (text := _question(turn)) is not None:
            keys = topics_asked(request, text)
            talk.questions += max(1, len(keys))
            talk.re_asked += sum(key in told or key in talk.asked for key in keys)
        volunteered, contradicted = user_errors(request, keys, talk.asked, turn.reply)
        talk.volunteered += volunteered
        talk.contradicted += contradicted
        talk.asked.update(keys)
    return talk


def _question(turn: EpisodeTurn) -> str | None:
    """Return the question that a turn asks the user, None if it asks none."""
    action = turn.action
    if isinstance(action, Call) and action.name == ASK:
        return AskUserTool.model_validate_json(action.arguments).text
    if isinstance(action, Say) and is_question(action.text):
        return action.text
    return None
