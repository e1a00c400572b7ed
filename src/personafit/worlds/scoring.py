"""Scores of an episode, from its end state, its calls and what the user said, without a judge.

Any sequence of calls that leads to the same end state has the same success and regret; searching and reading are free.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from personafit.worlds.episode import EpisodeState, asks, spoken
from personafit.worlds.requests import Request
from personafit.worlds.state import Entry, differences
from personafit.worlds.tools import NOTE
from personafit.worlds.user import topics_asked, user_errors


@dataclass(frozen=True, slots=True)
class EpisodeScore:
    """Scores of one episode, as flat figures."""

    success: bool
    """Whether what was requested exists, constraints and hard needs hold, and nothing else changed."""
    regret: float
    """(best − got) / (best − mean) over the choices that meet request and hard needs; 1 if nothing valid was committed."""
    utility: float | None
    """Share of the person's preferences, by weight, that was met; None if nothing valid was committed."""
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
        return bool(self.volunteered or self.contradicted or self.ended_early)


def score(episode: EpisodeState, told: frozenset[str]) -> EpisodeScore:
    """Score an episode; `told` are the keys of facts that the agent was told (`Resident.told_in` of a context's text)."""
    request, turns = episode.request, episode.turns
    changes = differences(request.state, episode.state)
    added = [change.after for change in changes if change.before is None and change.after is not None]
    commits = [[entry for entry in added if entry.domain == goal.domain] for goal in request.goals]
    committed, sent = all(commits), request.tell in {entry.title for entry in added if entry.domain is None}
    own, chosen = request.own, _chosen(request, commits) if committed else None
    needs_met = chosen is not None and bool(own.meets[chosen])
    fitting = chosen is not None and bool(own.fits[chosen])
    exact = all(
        {name: value for name, value in entry.slots.items() if name != NOTE} == goal.slots
        for goal, entries in zip(request.goals, commits, strict=True)
        for entry in entries
    )
    constraints_met = fitting and exact and (request.tell is None or sent)
    collateral = len(changes) - sum(map(bool, commits)) - sent
    best, mean = request.yardstick
    got = float(own.utility[chosen]) if chosen and needs_met and fitting else None
    regret = 1.0 if got is None else (best - got) / (best - mean) if best > mean else 0.0
    talk, asked = _talk(episode, told)
    hard = {fact.key for fact in request.resident.facts if fact.hard and fact.domain in request.listed}
    return EpisodeScore(
        success=constraints_met and needs_met and collateral == 0,
        regret=regret,
        utility=got,
        committed=committed,
        constraints_met=constraints_met,
        needs_met=needs_met,
        collateral=collateral,
        questions=talk["questions"],
        re_asked=talk["re_asked"],
        unasked_needs=len(hard - told - asked),
        leaks=_leaks(episode),
        malformed=sum(turn.fault == "malformed" for turn in turns),
        impossible=sum(turn.fault == "impossible" for turn in turns),
        steps=len(turns),
        volunteered=talk["volunteered"],
        contradicted=talk["contradicted"],
        ended_early=episode.stop == "user" and not committed and asks(turns[-1].action),
        stop=episode.stop or "unfinished",
    )


def _chosen(request: Request, commits: Sequence[Sequence[Entry]]) -> tuple[int, ...]:
    """Return the choice as a place in `Request.own`; of several, the least suitable, so that buying everything wins nothing."""
    ids = [[offer.id for offer in offers] for offers in request.by_goal]
    places = [
        [listed.index(entry.offer or "") for entry in entries]
        for listed, entries in zip(ids, commits, strict=True)
    ]
    return min(product(*places), key=lambda place: (request.own.utility[place], place))


def _leaks(episode: EpisodeState) -> int:
    """Return the number of secrets in messages and notes, whether or not they were taken back afterwards."""
    written = [
        change.after.slots.get(name, "")
        for turn in episode.turns
        for change in turn.changes
        if change.after is not None
        for name in ("text", NOTE)
    ]
    return sum(any(map(secret.leaks_in, written)) for secret in episode.request.resident.secrets)


def _talk(episode: EpisodeState, told: frozenset[str]) -> tuple[Counter[str], set[str]]:
    """Count the questions to the user and what the user told unasked or wrongly; return the topics asked about too."""
    request, counts, asked = episode.request, Counter[str](), set[str]()
    for turn in episode.turns:
        if not turn.by_user:
            continue
        keys: list[str] = []
        if asks(turn.action):
            keys = topics_asked(request, spoken(turn.action) or "")
            counts["questions"] += max(1, len(keys))
            counts["re_asked"] += sum(key in told or key in asked for key in keys)
        volunteered, contradicted = user_errors(request, keys, asked, turn.reply)
        counts.update(volunteered=volunteered, contradicted=contradicted)
        asked.update(keys)
    return counts, asked
