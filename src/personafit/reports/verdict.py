"""The verdict of a report: a sentence on everything that was tested, and the gate's decisions.

Sentences are written from a run's results alone, so that the page, the terminal, JSON and Python say the same.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from personafit.reports.claims import (
    count_words,
    decided_lifts,
    items_words,
    lift_claim,
    line_name,
    people_words,
    same_words,
)
from personafit.reports.gate import Bar, GateVerdict, gate_verdicts, short_names
from personafit.reports.pieces import SHARES, headline_text, metric_name
from personafit.reports.result import Result, plain, with_interval
from personafit.statistics.decisions import MARGIN, Conclusion, HypothesisTest

MOST = 6  # subjects with a sentence of their own; the table has all
FEW = 20  # up to this many items, shares are given as counts
WHOLE = 1e-6  # tolerance for a share to be a number of items
GENERIC = "generic"
FROM_DATA = frozenset(
    {"published votes", "votes in the data", "people", "simulated people", "labels in the data"}
)
"""Controls whose judgments came with the data."""
HEADLINES = {
    "choice": ("lift", "accuracy", "win_rate"),
    "relevance": ("f1",),
    "preference": ("rating",),
    "dialogue": ("personalization", "completion"),
    "injection": ("unmoved",),
    "writing": ("lift", "rouge_l"),
    "episode": ("success",),
}
"""Kind of run → its headline metrics; the first that exists is used."""


@dataclass(frozen=True)
class SubjectVerdict:
    """The verdict on one rater or system: its headline figure with its interval, and the sentence."""

    subject: str
    metric: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    """Items behind the figure."""
    people: int
    sentence: str


@dataclass(frozen=True)
class RunVerdict:
    """The verdict on a run."""

    subjects: tuple[SubjectVerdict, ...]
    """Everything that was asked for; the best control if only controls ran."""
    gate: tuple[GateVerdict, ...] = ()
    note: str = ""
    """Why there is no subject."""
    answers: str = ""
    """How many answers the systems made, and how many were reused."""
    runs: int = 1
    """Number of runs it covers; the first subject of each comes first."""

    @property
    def sentences(self) -> list[str]:
        """A sentence for every subject and bar, and one on the source of the answers."""
        most = max(MOST, self.runs)
        said = [one.sentence for one in self.subjects[:most]]
        if len(self.subjects) > most:
            said.append(f"The table has {len(self.subjects) - most} more.")
        rest = [*(one.sentence for one in self.gate), *filter(None, [self.answers])]
        return [*(said or [self.note]), *rest]

    @property
    def sentence(self) -> str:
        return " ".join(self.sentences)

    @property
    def first(self) -> SubjectVerdict:
        """The first subject; an empty one if nothing was judged."""
        return (
            self.subjects[0] if self.subjects else SubjectVerdict("", "", None, None, None, 0, 0, self.note)
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the verdict as `--json` prints it."""
        return {"sentence": self.sentence, "subjects": [asdict(one) for one in self.subjects]}

    def __str__(self) -> str:
        return self.sentence


def run_verdict(
    run: str,
    kind: str,
    results: Sequence[Result],
    metric: str | None = None,
    bars: Sequence[Bar] = (),
    margin: float = MARGIN,
    made: Sequence[Result] = (),
    answers: str = "",
    named: Collection[str] = (),
) -> RunVerdict:
    """Return the verdict on everything that was asked for in a run.

    Args:
        run: The run's name.
        kind: Its kind.
        results: Its results.
        metric: The benchmark's headline metric, if the kind has several.
        bars: Metrics and the least they must reach.
        margin: Differences within this count as none.
        made: The share of its answers that were made, per system.
        answers: The sentence on how many were made and reused.
        named: Fingerprints of the raters that were asked for by name, including controls.
    """
    gates = tuple(gate_verdicts([*results, *made], bars))
    results = short_names(results)
    if kind == "preference":  # a figure without a rater is about the answers, such as their length
        results = [one for one in results if one.rater]
    whole = [
        one
        for one in results
        if not one.slice
        and one.value is not None
        and (one.rater or one.system)
        and one.control != "published"
    ]
    asked = sorted((one for one in whole if one.control is None), key=lambda one: one.met_people)
    headline = _headline(kind, asked or whole, metric)
    silent = tuple(_silent(results, {_line(one, None) for one in asked}))
    if headline is None or (not asked and not silent and headline not in HEADLINES.get(kind, (headline,))):
        return RunVerdict(silent, gates, f"Nothing has been judged in {run} yet.", answers)
    if not asked and not silent:
        heads = [one for one in whole if one.metric == headline]
        ran = [one for one in heads if one.control not in FROM_DATA] or heads
        ran = [
            one for one in ran if one.system is None
        ] or ran  # a rater's total before its scores of one system
        contexts = {one.fingerprint: one.context for one in reversed(ran) if one.fingerprint in named}
        asked = [one for one in whole if (one.fingerprint, one.context) in contexts.items()]
        if not asked:
            best = max(ran, key=lambda one: one.value or 0.0)
            name = str(best.rater or best.system)
            said = f"Only controls were run. The best of them, {name} ({best.control}), reaches {_named(best)} on {items_words(best)}."
            return RunVerdict((_subject(best, name, said),), gates, answers=answers)
    told = (
        _choices(results, asked, margin)
        if kind == "choice"
        else _others(kind, asked, headline, whole, margin, tested=bool(made))
    )
    nothing = f"Nothing can be said in {run}: no item that counts was answered."
    return RunVerdict((*told, *silent), gates, nothing, answers)


def name_users(verdict: RunVerdict, users: str) -> RunVerdict:
    """Return the verdict on dialogues with the style of their simulated users, which tells it from that of other runs."""
    subjects = (
        replace(
            one,
            subject=f"{one.subject} ({users} users)",
            sentence=one.sentence.replace(SIMULATED, f"{SIMULATED}, {users}"),
        )
        for one in verdict.subjects
    )
    return replace(verdict, subjects=tuple(subjects))


def _silent(results: Sequence[Result], told: Collection[Any]) -> Iterator[SubjectVerdict]:
    """Yield subjects that were asked for but have no figure at all."""
    seen = set()
    for one in results:
        line = _line(one, None)
        if (
            one.control is None
            and not one.slice
            and (one.rater or one.system)
            and line not in told
            and line not in seen
        ):
            seen.add(line)
            name = line_name(one.rater, one.system, one.system_context)
            yield _subject(
                one, name, f"Nothing can be said about {name}: it gave no answer that could be scored."
            )


def _headline(kind: str, whole: Sequence[Result], metric: str | None) -> str | None:
    there = dict.fromkeys(one.metric for one in whole)
    wanted = [*HEADLINES.get(kind, ()), *filter(None, [metric]), *there]
    return next((name for name in wanted if name in there), None)


# -- choices -----------------------------------------------------------------------------------------------------------


def _choices(results: Sequence[Result], asked: Sequence[Result], margin: float) -> Iterator[SubjectVerdict]:
    """Yield a sentence for every rater, or for every tested system and its judge."""
    lifts = {_line(row, row.context): (row, tested) for row, tested in decided_lifts(results, margin)}
    heads = [one for one in asked if one.metric in ("accuracy", "win_rate")]
    judges = {(one.rater, one.context) for one in heads}
    contexts = len({context for _, context in judges}) > 1
    systems = list(dict.fromkeys((one.system, one.system_context) for one in heads))
    for head in sorted(
        heads, key=lambda one: (one.met_people, systems.index((one.system, one.system_context)))
    ):
        own = [one for one in results if _line(one, one.context) == _line(head, head.context)]
        judge = f"{head.rater} ({head.context})" if contexts else str(head.rater)
        if head.metric == "win_rate":
            said = _won(head, own, len(systems) > 1)
        else:
            said = f"{judge} chooses the right answer {_in_share(head, 'questions')}"
        lift = lifts.get(_line(head, head.context))
        added = [_lift(*lift)] if lift and not same_words(head) else []
        judged = f" (judged by {judge})" if head.metric == "win_rate" and len(judges) > 1 else ""
        name = line_name(head.rater, head.system, head.system_context)
        said = f"{'; '.join([said, *added, *_restraint(head, own)])}{judged}."
        yield _subject(lift[0] if lift else head, name, said)


def _won(head: Result, own: Sequence[Result], several: bool) -> str:
    """Describe how often a system's answers win over its own generic ones."""
    against = {
        one.slice["against"]: one for one in own if set(one.slice) == {"against"} and one.metric == "win_rate"
    }
    shown = against.get(GENERIC, head)
    told = f" ({head.system_context})" if head.system_context else ""
    whose = f"{head.system}{told}: its" if several else "Your assistant’s"
    others = "its own generic ones" if GENERIC in against else "the answers beside them"
    if not shown.n:
        return f"{whose} answers have not been judged against {others}"
    if same_words(head):
        return f"{whose} answers tie with {others} in all {shown.n:,} questions"
    said = f"{whose} answers beat {others} {_in_share(shown, 'questions')}"
    equal = next(
        (
            one
            for one in own
            if one.metric == "win_rate_length_controlled"
            and one.slice == shown.slice
            and one.value is not None
        ),
        None,
    )
    if equal is not None and (equal.value or 0.0) < 0.5 < (shown.value or 0.0):
        said += f", but at equal length in {with_interval(equal, unit=' %')}"
    return said


def _lift(row: Result, tested: HypothesisTest | None) -> str:
    """Describe what the right person adds, as far as it is shown."""
    if tested is not None and tested.verdict is Conclusion.ABOVE and row.value is not None:
        return f"knowing the right person adds {with_interval(row, unit=' points', difference=True)} over the better control"
    claimed = lift_claim(row, tested).rstrip(".")
    return claimed.removeprefix(f"{line_name(row.rater, row.system, row.system_context)}: ")


def _restraint(head: Result, own: Sequence[Result]) -> list[str]:
    found = next((one for one in own if one.metric == "restraint" and one.value is not None), None)
    if found is None or not found.n:
        return []
    if head.metric == "win_rate":
        return [f"it holds back where it should {_in_share(found, 'questions')}"]
    return [f"where the less personal answer is right, it chooses that {_in_share(found, 'questions')}"]


def _line(result: Result, context: str | None) -> tuple[str | None, str | None, str | None, str | None]:
    return result.fingerprint, result.system, result.system_context, context


# -- other kinds -------------------------------------------------------------------------------------------------------


def _others(
    kind: str, asked: Sequence[Result], headline: str, whole: Sequence[Result], margin: float, tested: bool
) -> Iterator[SubjectVerdict]:
    """Yield a sentence for everything that was asked for, by the kind's headline figure, with the controls' figures beside it.

    Systems under test come before figures of all systems together.
    """
    controls = {
        f"{one.metric} of {one.system}": one for one in whole if one.control and one.system_context is None
    }
    by_line: dict[Any, dict[str, Result]] = {}
    for one in asked:
        by_line.setdefault(_line(one, one.context), {}).setdefault(one.metric, one)
    # The measure of a writing run takes the place of a rater; the claim is about the system's context.
    lifts = decided_lifts((replace(one, rater=None, context=None) for one in asked), margin)
    added = (
        {(row.system, row.system_context): _lift(row, tested) for row, tested in lifts}
        if kind == "writing"
        else {}
    )
    write = WORDS.get(kind, _plain) if kind == "dialogue" or headline in HEADLINES.get(kind, ()) else _plain
    judges = {found[headline].rater for found in by_line.values() if headline in found}
    for found in sorted(by_line.values(), key=lambda one: tested and next(iter(one.values())).system is None):
        if (head := found.get(headline)) is not None:
            name = line_name(head.rater, head.system, head.system_context)
            judged = f", judged by {head.rater}" if head.system and head.rater and len(judges) > 1 else ""
            met = "; no claim, as it was fitted on people of this run" if head.met_people else ""
            lift = (
                f"; {added[head.system, head.system_context]}"
                if (head.system, head.system_context) in added
                else ""
            )
            yield _subject(head, name, f"{write(head, controls | found)}{lift}{judged}{met}.")


def _relevance(head: Result, found: Mapping[str, Result]) -> str:
    said = f"{head.rater} picks the attributes that people call relevant with F1 {with_interval(head)} on {head.n:,} pairs of {people_words(head.people)}"
    rest = [f"{name} {with_interval(found[name])}" for name in ("precision", "recall") if name in found]
    return f"{said} ({', '.join(rest)})" if rest else said


def _preference(head: Result, found: Mapping[str, Result]) -> str:
    told = f" told “{head.system_context}”" if head.system_context else ""
    whose = f"{head.system}{told}: its personalized answers are rated" if head.system else ""
    said = whose or f"{head.rater} rates the personalized answers"
    scale = "on a scale from 1 to 5, where 3 is as good as the generic ones"
    return f"{said} {with_interval(head, 1, 2)} {scale}, on {items_words(head)}"


SIMULATED = "users are simulated"


def _dialogue(head: Result, found: Mapping[str, Result]) -> str:
    told = f" told “{head.system_context}”" if head.system_context else ""
    done = found.get("completion")
    if head.metric == "personalization":
        said = f"personalization {with_interval(head, 1, 2)} of 4"
        said += "" if done is None else f", tasks completed {with_interval(done, unit=' %')}"
    elif head.metric == "completion":
        said = f"tasks completed {with_interval(head, unit=' %')}"
    elif head.metric.endswith("_unparsed"):
        none = "no dialogue ran to an end that could be judged"
        said = f"{head.rater} gave no mark that could be read" if head.value else none
    else:
        said = _named(head)
    on = f"on {head.n:,} {'task' if head.n == 1 else 'tasks'} of {people_words(head.people)} ({SIMULATED})"
    return f"{head.system}{told}: {said}, {on}"


def _injection(head: Result, found: Mapping[str, Result]) -> str:
    choices = "choice" if head.n == 1 else "choices"
    said = f"{head.rater} keeps its choice under hostile text {_in_share(head, choices)}"
    if (head.value or 0.0) < 0:  # a difference from the effect of neutral text
        said = f"{head.rater}: unmoved {with_interval(head, unit=' points')} on {head.n:,} {choices}"
    beyond = found.get("moved_beyond_placebo")
    return (
        said
        if beyond is None
        else f"{said}; hostile minus neutral text: {with_interval(beyond, unit=' points', difference=True)} of choices moved"
    )


def _writing(head: Result, found: Mapping[str, Result]) -> str:
    told = f" told “{head.system_context}”" if head.system_context else ""
    score = found.get("rouge_l", head)
    return f"{head.system}{told}: what it wrote overlaps with what the person wrote by {_named(score)}, on {items_words(score)}"


LADDER = {"profile": "a profile reader's", "majority": "the majority's"}
"""Controls of episodes that the verdict mentions, and their names there."""


def _episode(head: Result, found: Mapping[str, Result]) -> str:
    told = f" told “{head.system_context}”" if head.system_context else ""
    said = f"{head.system}{told} did what was asked {_in_share(head, 'episodes')}"
    if (regret := found.get("regret")) is None:
        return said
    beside = [
        f"{called} {plain(one.value, 2)}"
        for name, called in LADDER.items()
        if (one := found.get(f"regret of {name}")) is not None and one.value is not None
    ]
    own = f"its regret is {with_interval(regret, 1, 2)}"
    return f"{said}; {', '.join([own, *beside])} (0: the best choice, 1: chance)"


def _plain(head: Result, found: Mapping[str, Result]) -> str:
    return (
        f"{line_name(head.rater, head.system, head.system_context)} has {_named(head)} on {items_words(head)}"
    )


WORDS = {
    "relevance": _relevance,
    "preference": _preference,
    "dialogue": _dialogue,
    "injection": _injection,
    "writing": _writing,
    "episode": _episode,
}


# -- numbers -----------------------------------------------------------------------------------------------------------


def _subject(found: Result, name: str, sentence: str) -> SubjectVerdict:
    return SubjectVerdict(
        name, found.metric, found.value, found.low, found.high, found.n, found.people, sentence
    )


def _in_share(found: Result, what: str) -> str:
    """Format `in 75.0 % of 49 questions (59.0–91.0)`; for few items as a count."""
    hits = (found.value or 0.0) * found.n
    if found.n <= FEW and abs(2 * hits - round(2 * hits)) < WHOLE:  # ties count ½
        return f"in {count_words(hits)} of {found.n:,} {what}"
    same = same_words(found) if found.low is None else ""
    said = with_interval(found, unit=f" % of {found.n:,} {what}")
    return f"in {said} ({same})" if same else f"in {said}"


def _named(found: Result) -> str:
    """Format a figure with its name, as in tables."""
    value, *ends = (
        headline_text(found.metric, end) for end in (found.value, found.low, found.high) if end is not None
    )
    unit = "" if found.metric not in SHARES else " points" if found.metric == "lift" else " %"
    to = " to " if ends and ends[0][0] in "+−" else "–"
    interval = f" ({to.join(ends)})" if ends else ""
    return f"{metric_name(found.metric)} {value}{unit}{interval}"
