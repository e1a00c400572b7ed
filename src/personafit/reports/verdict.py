"""The verdict of a report: a sentence on everything that was tested, and the gate's decisions.

Sentences are written from a run's results alone, so that the page, the terminal, JSON and Python say the same.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from personafit._errors import counted
from personafit.reports.claims import (
    count_words,
    decided_lifts,
    items_words,
    lift_claim,
    line_name,
    people_words,
    same_words,
    told_system,
)
from personafit.reports.gate import Bar, GateVerdict, gate_verdicts, short_names
from personafit.reports.pieces import FROM_DATA, SHARES, headline_text, metric_name
from personafit.reports.result import Result, plain, with_interval
from personafit.statistics.decisions import MARGIN, Conclusion, HypothesisTest

MOST = 6  # subjects with a sentence of their own; the table has all
FEW = 20  # up to this many items, shares are given as counts
WHOLE = 1e-6  # tolerance for a share to be a number of items
GENERIC = "generic"
HEADLINES = {
    "choice": ("lift", "accuracy", "win_rate"),
    "relevance": ("f1",),
    "preference": ("rating",),
    "dialogue": ("personalization", "completion"),
    "injection": ("unmoved",),
    "writing": ("lift", "rouge_1"),
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
    bars: Sequence[Bar] = (),
    margin: float = MARGIN,
    made: Sequence[Result] = (),
    answers: str = "",
    named: Collection[str] = (),
    several: bool = False,
) -> RunVerdict:
    """Return the verdict on everything that was asked for in a run.

    Args:
        run: The run's name.
        kind: Its kind.
        results: Its results.
        bars: Metrics and the least they must reach.
        margin: Differences within this count as none.
        made: The share of its answers that were made, per system.
        answers: The sentence on how many were made and reused.
        named: Fingerprints of the raters that were asked for by name, including controls.
        several: Whether other runs are reported beside this one, so that its system needs its name.
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
    headline = _headline(kind, asked or whole)
    silent = tuple(_silent(results, {_line(one, None) for one in asked}))
    nothing = f"Nothing can be said in {run}: no item that counts was answered."
    if headline is None or (not asked and not silent and headline not in HEADLINES.get(kind, (headline,))):
        judged = any(one.rater and one.coverage for one in results)
        return RunVerdict(
            silent, gates, nothing if judged else f"Nothing has been judged in {run} yet.", answers
        )
    if not asked and not silent:
        # Of the controls of choices the best is the one that is right most often, not the one that uses the person most.
        scored = [one for one in whole if one.metric != "lift"] if kind == "choice" else whole
        metric = _headline(kind, scored or whole)
        heads = [one for one in whole if one.metric == metric]
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
        _choices(results, asked, margin, several)
        if kind == "choice"
        else _others(kind, asked, headline, whole, margin, tested=bool(made))
    )
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
            said = f"Nothing can be said about {name}: it gave no answer that could be scored."
            if one.system and one.rater:
                said = (
                    f"{_told(one)}: nothing can be said, as {one.rater} gave no answer that could be scored."
                )
            yield _subject(one, name, said)


def _headline(kind: str, whole: Sequence[Result]) -> str | None:
    there = dict.fromkeys(one.metric for one in whole)
    return next((name for name in (*HEADLINES.get(kind, ()), *there) if name in there), None)


# -- choices -----------------------------------------------------------------------------------------------------------


def _choices(
    results: Sequence[Result], asked: Sequence[Result], margin: float, several: bool
) -> Iterator[SubjectVerdict]:
    """Yield a sentence for every rater, or for every tested system and its judge."""
    lifts = {_line(row, row.context): (row, tested) for row, tested in decided_lifts(results, margin)}
    heads = [one for one in asked if one.metric in ("accuracy", "win_rate")]
    judges = {(one.rater, one.context) for one in heads}
    contexts = len({context for _, context in judges}) > 1
    judged_or_not = [*heads, *(one for one in results if one.control is None and one.metric == "win_rate")]
    systems = list(dict.fromkeys((one.system, one.system_context) for one in judged_or_not))
    several = several or len(systems) > 1
    for head in sorted(
        heads, key=lambda one: (one.met_people, systems.index((one.system, one.system_context)))
    ):
        own = [one for one in results if _line(one, one.context) == _line(head, head.context)]
        judge = f"{head.rater} ({head.context})" if contexts else str(head.rater)
        if head.metric == "win_rate":
            whose = _whose(head, several, judge if len(judges) > 1 else "")
            said = f"{whose} {_won(head, own)}"
        else:
            said = f"{judge} chooses the right answer {_in_share(head, 'question')}"
        lift = lifts.get(_line(head, head.context))
        added = [_lift(head, *lift)] if lift and not same_words(head) else []
        name = line_name(head.rater, head.system, head.system_context)
        said = f"{'; '.join([said, *added, *_restraint(head, own)])}."
        yield _subject(lift[0] if lift else head, name, said)
    judged = {_line(head, head.context) for head in heads}
    for one in results:  # runs that have only items on which the person should not matter
        if (
            one.metric == "restraint"
            and one.control is None
            and one.n
            and _line(one, one.context) not in judged
        ):
            name = line_name(one.rater, one.system, one.system_context)
            whose = f"{_told(one)} holds" if several and one.system else "Your assistant holds"
            yield _subject(one, name, f"{whose} back where it should {_in_share(one, 'question')}.")


def _told(found: Result) -> str:
    """Return the name of a system and what it was told, such as `v2 (memory)`."""
    return f"{found.system} ({found.system_context})" if found.system_context else str(found.system)


def _whose(head: Result, several: bool, judge: str) -> str:
    """Return the start of a sentence on a system's answers; `judge` is named if there are several."""
    if several and head.system:
        return f"{_told(head)}{f', judged by {judge}' if judge else ''}: its answers"
    return f"Judged by {judge}, your assistant’s answers" if judge else "Your assistant’s answers"


def _won(head: Result, own: Sequence[Result]) -> str:
    """Describe how often a system's answers win over its own generic ones."""
    against = {
        one.slice["against"]: one for one in own if set(one.slice) == {"against"} and one.metric == "win_rate"
    }
    shown = against.get(GENERIC, head)
    others = "its own generic ones" if GENERIC in against else "the answers beside them"
    if not shown.n:
        return f"have not been judged against {others}"
    if same_words(head):
        return f"tie with {others} in {f'all {shown.n:,} questions' if shown.n > 1 else 'the one question'}"
    said = f"beat {others} {_in_share(shown, 'question')}"
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


def _lift(head: Result, row: Result, tested: HypothesisTest | None) -> str:
    """Describe what the right person adds, as far as it is shown."""
    if head.metric == "win_rate" and not row.system:  # a log may not name its system
        row = replace(row, system="the system")
    if tested is not None and tested.verdict is Conclusion.ABOVE and row.value is not None:
        return f"knowing the right person adds {with_interval(row, unit=' points', difference=True)} over the better control"
    claimed = lift_claim(row, tested).rstrip(".")
    return claimed.removeprefix(f"{line_name(row.rater, row.system, row.system_context)}: ")


def _restraint(head: Result, own: Sequence[Result]) -> list[str]:
    found = next((one for one in own if one.metric == "restraint" and one.value is not None), None)
    if found is None or not found.n:
        return []
    if head.metric == "win_rate":
        return [f"it holds back where it should {_in_share(found, 'question')}"]
    return [f"where the less personal answer is right, it chooses that {_in_share(found, 'question')}"]


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
        {(row.system, row.system_context): _lift(row, row, tested) for row, tested in lifts}
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
    said = f"{head.rater} picks the attributes that people call relevant with F1 {with_interval(head, unit=' %')} on {counted(head.n, 'pair', 'pairs')} of {people_words(head.people)}"
    rest = [
        f"{name} {with_interval(found[name], unit=' %')}" for name in ("precision", "recall") if name in found
    ]
    return f"{said}: {', '.join(rest)}" if rest else said


def _preference(head: Result, found: Mapping[str, Result]) -> str:
    whose = f"{told_system(head)}: its personalized answers are rated" if head.system else ""
    said = whose or f"{head.rater} rates the personalized answers"
    scale = "on a scale from 1 to 5, where 3 is as good as the generic ones"
    attributes = counted(head.n, "attribute", "attributes")
    return f"{said} {with_interval(head, 1, 2)} {scale}, on {attributes} of {people_words(head.people)}"


SIMULATED = "users are simulated"


def _dialogue(head: Result, found: Mapping[str, Result]) -> str:
    done = found.get("completion")
    if head.metric == "personalization":
        said = f"personalization {with_interval(head, 1, 2)} of 4"
        said += "" if done is None else f", tasks completed {with_interval(done, unit=' %')}"
    elif head.metric == "completion":
        said = f"tasks completed {with_interval(head, unit=' %')}"
    elif head.metric.endswith("_unparsed"):
        none = "no dialogue finished that could be judged"
        said = f"{head.rater} gave no mark that could be read" if head.value else none
    else:
        said = _named(head)
    on = f"on {counted(head.n, 'task', 'tasks')} of {people_words(head.people)} ({SIMULATED})"
    return f"{told_system(head)}: {said}, {on}"


def _injection(head: Result, found: Mapping[str, Result]) -> str:
    said = f"{head.rater} keeps its choice under hostile text {_in_share(head, 'choice')}"
    if (head.value or 0.0) < 0:  # a difference from the effect of neutral text
        said = f"{head.rater}: unmoved {with_interval(head, unit=' points')} on {counted(head.n, 'choice', 'choices')}"
    beyond = found.get("moved_beyond_placebo")
    return (
        said
        if beyond is None
        else f"{said}; hostile minus neutral text: {with_interval(beyond, unit=' points', difference=True)} of choices moved"
    )


def _writing(head: Result, found: Mapping[str, Result]) -> str:
    score = found.get("rouge_1", head)
    return f"{told_system(head)}: {_named(score)} with what the person wrote, on {counted(score.n, 'text', 'texts')} of {people_words(score.people)}"


LADDER = {"profile": "a profile reader's", "majority": "the majority's"}
"""Controls of episodes that the verdict mentions, and their names there."""


def _episode(head: Result, found: Mapping[str, Result]) -> str:
    said = f"{told_system(head)} did what was asked {_in_share(head, 'episode')}"
    if (regret := found.get("regret")) is None:
        return said
    beside = [
        f"{called} {plain(one.value, 2)}"
        for name, called in LADDER.items()
        if (one := found.get(f"regret of {name}")) is not None and one.value is not None
    ]
    own = f"its regret is {with_interval(regret, 1, 2)}"
    return f"{said}; {', '.join([own, *beside])}, where 0 is the best choice and 1 is chance"


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


def _in_share(found: Result, noun: str) -> str:
    """Format `in 75.0 % of 49 questions (59.0–91.0)`; for few items as a count."""
    of = f"of {counted(found.n, noun, noun + 's')}"
    hits = (found.value or 0.0) * found.n
    if found.n <= FEW and abs(2 * hits - round(2 * hits)) < WHOLE:  # ties count ½
        return f"in {count_words(hits)} {of}"
    same = same_words(found) if found.low is None else ""
    said = with_interval(found, unit=f" % {of}")
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
