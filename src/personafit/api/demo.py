"""The demo: a judge that can tell, an assistant with and without memory, gates, and a dozen live asks, offline.

`qwen2.5-coder-1.5b.jsonl` beside this file is a recording of Qwen2.5-Coder-1.5B-Instruct (Q4_K_M weights, on one GPU): the
log-probability it gave to both answers of the 144 specific starter questions, told the profile, three retrieved memories, those
of a wrong person, or nothing. It is the part that the demo needs of docs/recordings/qwen2.5-coder-1.5b-memory.jsonl.
"""

import contextvars
import textwrap
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

import orjson

from personafit._errors import UserError
from personafit.api.decorators import rater
from personafit.api.evaluating import EvaluateOptions, evaluate
from personafit.api.places import make_folder
from personafit.api.run import Run
from personafit.benchmarks.answers import AnswerRow, Answers
from personafit.benchmarks.folder import FolderBenchmark
from personafit.benchmarks.starter import FOLDER
from personafit.contexts import People, make_context
from personafit.engine import STOP, Stop
from personafit.items.reading import replay_key
from personafit.reports import Result
from personafit.reports.assertions import totals
from personafit.reports.claims import gate
from personafit.reports.report_page import write_page
from personafit.statistics.decisions import GateOutcome
from personafit.store import Item, Store

WIDTH = 100  # columns of the terminal
RECORDING = Path(__file__).with_name("qwen2.5-coder-1.5b.jsonl")
JUDGE = f"replay:{RECORDING.name},ask=likelihood"
JUDGE_TITLE = "Qwen2.5-Coder-1.5B"
LABELS = "starter-labels"
WITH, WITHOUT = "assistant with memory", "assistant without memory"
SHOWN = ("profile", "none", "wrong:profile")
LIVE = "embedded"
LIVE_PEOPLE, LIVE_ITEMS = ["nadia"], 6
"""Six items of one person, told the profile, in both orders: twelve live asks."""
LIVE_ASKS = 2 * LIVE_ITEMS
LIVE_SECONDS = 20.0
TITLE = "Starter set: which of two answers fits the person?"
HALF = {"half": "specific"}
GATES = ((WITH, 0.02), (WITHOUT, 0.02), (WITH, 0.05), (WITH, 0.2))
"""Systems and the lift that each has to show."""

NOTE_JUDGE = (
    f"{JUDGE} is a recording of Qwen2.5-Coder-1.5B-Instruct, made once on a GPU: how likely it found each answer, told the "
    "profile, nothing, or a wrong person's profile. Replaying it asks no model. Only questions that call for the person are asked, so "
    "restraint is not measured; the way of asking was settled before on 18 of these questions, of three people."
)
NOTE_ASSISTANT = (
    "The assistant wrote nothing itself: for each question it sends one of two drafts of the starter set, chosen by the recorded "
    "Qwen2.5-Coder-1.5B. With memory it sends the draft that three retrieved memories of the person make likelier; without memory "
    "the draft that is likelier for anybody. If it sent simply the likelier draft in both cases, memory would seldom change its mind (8 "
    "% of comparisons), and the lift would be 1.6 points. The bars of the gates were set for the demo once its figures were known."
)
NOTE_JUDGES = (
    "The model that chose the drafts also judges them, told the profile in place of memories; starter-labels, the authors' own "
    "labels of which draft suits whom, judges beside it and depends on no model."
)
NOTE_LIVE = (
    f"embedded is SmolLM2 with 135M parameters, asked live {LIVE_ASKS} times: it is at chance on such choices and is shown only to "
    "prove that live models run on this machine."
)


class _Starter(FolderBenchmark):
    """The starter set under a title that fits any selection of it, with a note on who judges it."""

    def __init__(self, title: str, note: str) -> None:
        super().__init__(FOLDER)
        self.info = self.info.model_copy(update={"title": title})
        self._note = note

    def notes(self) -> list[str]:
        """The notes of the set, and who judges it."""
        return [*super().notes(), self._note]


@dataclass
class Recording:
    """The recorded log-probabilities, by item, context and answer."""

    scores: dict[str, float]

    @classmethod
    def read(cls) -> "Recording":
        """Read the recording that comes with the package."""
        rows = map(orjson.loads, RECORDING.read_bytes().splitlines())
        return cls({row["key"]: row["letter_scores"]["likelihood"] for row in rows})

    def score(self, item: str, context: str, answer: int) -> float:
        """The mean log-probability of an answer's tokens under a context."""
        return self.scores[replay_key(item, context, str(answer), 0)]

    def choice(self, item: str, context: str) -> int:
        """The answer that gains most from what is told of the person; told nothing, the likelier one."""
        gains = [
            self.score(item, context, answer) - (self.score(item, "none", answer) if context != "none" else 0)
            for answer in (0, 1)
        ]
        return gains.index(max(gains))


def run_demo(out: Path, live_seconds: float = LIVE_SECONDS, say: Callable[[str], None] = print) -> Path:
    """Run the whole demo into a folder, say what was measured and found, and return the path of the report."""
    make_folder(out)
    say(f"Offline, no key: {JUDGE_TITLE} was recorded on a GPU and is replayed; all else runs here.")
    say("Scores in %, lift in points; in brackets 95 % intervals over people.")
    with Store(str((out / "store.db").resolve())) as store:
        with chdir(out):  # the recording's name is the judge's name in every table
            Path(RECORDING.name).write_bytes(_rekeyed())
            judge = _go_on(_evaluated(store, _Starter(TITLE, NOTE_JUDGE), raters=JUDGE, where=HALF))
            _say_judge(judge.figures, say)
            assistant = _go_on(_evaluated(store, assistant_answers(), raters=[JUDGE, _label_rater()]))
            _say_assistant(assistant.figures, say)
            say("\n4. Do live models run on this machine?")
            live, sentence = _run_live(store, live_seconds)
            say(textwrap.fill(sentence, WIDTH, initial_indent="   ", subsequent_indent="   "))
        runs = {"judge": judge, "assistant": assistant, "live": live}
        found = {name: run for name, run in runs.items() if run is not None}
        results = {name: {"run": run.name, **run.as_dict()} for name, run in found.items()}
        (out / "results.json").write_bytes(orjson.dumps({"runs": results}, option=orjson.OPT_INDENT_2))
        page = out / "report.html"
        write_page([run.part() for run in found.values()], page, "personafit demo")
    say("\nWhat was found")
    for sentence in _findings(judge.figures, assistant.figures):
        say(textwrap.fill(sentence, WIDTH, initial_indent="   ", subsequent_indent="   "))
    return page


def _evaluated(store: Store, benchmark: Any, **asked: Unpack[EvaluateOptions]) -> Run:
    told: EvaluateOptions = {"contexts": SHOWN, "command": "personafit demo", **asked}
    return evaluate(benchmark, store=store, progress=False, **told)


def _run_live(store: Store, seconds: float) -> tuple[Run | None, str]:
    """A dozen asks of the embedded model, ended after some seconds, and a sentence on what came of it."""
    if seconds <= 0:
        return None, "Not asked, because of --live-seconds 0."
    stop, context, began = Stop(), contextvars.copy_context(), time.monotonic()
    context.run(STOP.set, stop)
    timer = threading.Timer(seconds, stop.stop)
    timer.daemon = True
    timer.start()
    try:
        run = context.run(
            lambda: _evaluated(
                store,
                _Starter("Starter set: a dozen live asks", NOTE_LIVE),
                raters=LIVE,
                contexts="profile",
                people=LIVE_PEOPLE,
                limit=LIVE_ITEMS,
                where=HALF,
            )
        )
    except UserError as error:
        return None, f"Not shown: {error}"
    finally:
        timer.cancel()
    _go_on(run, stop)
    answered = len(run.judgments.filter(rater=LIVE, status="ok"))
    if not answered:
        busy = f"the embedded model gave no answer within {seconds:g} s; the machine may be busy."
        return None, f"Not shown: {' '.join(run.stopped) or busy}"
    taken = (
        f"before its limit of {seconds:g} s" if run.interrupted else f"in {time.monotonic() - began:.0f} s"
    )
    if earlier := sum(
        lane.reused for lane in (run.summary.lanes if run.summary else ()) if lane.name == LIVE
    ):
        taken = f"({earlier} in an earlier demo)"
    return run, (
        f"Yes: embedded answered {answered} of {LIVE_ASKS} asks {taken}. It has 135M parameters and is at chance on such "
        "choices: shown only to prove that live models run."
    )


def _go_on(run: Run, stop: Stop | None = None) -> Run:
    """The run, unless Ctrl-C ended it."""
    if run.interrupted and not (stop and stop.requested):
        raise KeyboardInterrupt
    return run


def assistant_answers() -> Answers:
    """What the assistant sends with memory and without: for each question one of two drafts, chosen by the recorded model."""
    recording, rows = Recording.read(), []
    benchmark = FolderBenchmark(FOLDER)
    for item, drafts in _questions(benchmark):
        sent = {
            context: drafts[recording.choice(item.id, context)]
            for context in ("memory", "none", "wrong:memory")
        }
        for system, answer, wrong in (
            (WITH, sent["memory"], sent["wrong:memory"]),
            (WITHOUT, sent["none"], sent["none"]),
        ):
            rows.append(
                AnswerRow(
                    id=f"{system.replace(' ', '-')}/{item.id}",
                    person=item.person,
                    question=item.prompt,
                    answer=answer,
                    generic=sent["none"],
                    wrong=wrong,
                    system=system,
                )
            )
    people = {person.id: person for person in benchmark.people()}
    answers = Answers(rows, people, 0, [NOTE_ASSISTANT, NOTE_JUDGES])
    answers.info = answers.info.model_copy(update={"title": "An assistant with memory and without"})
    return answers


def _questions(benchmark: FolderBenchmark) -> Iterator[tuple[Item, list[str]]]:
    """The specific questions with the texts of their two drafts."""
    texts = {product.id: product.text for product in benchmark.products()}
    for item in benchmark.items():
        if item.slices.get("half") == "specific":
            yield item, [texts[product] for product in item.products]


def _rekeyed() -> bytes:
    """The recording, and the same figures again under the keys of the assistant's answers, which are the same texts."""
    recording, answers = Recording.read(), assistant_answers()
    drafts = {
        (item.person, item.prompt): (item.id, texts) for item, texts in _questions(FolderBenchmark(FOLDER))
    }
    texts = {product.id: product.text for product in answers.products()}
    rows = []
    for item in answers.items():
        source, known = drafts[item.person, item.prompt]
        for context in SHOWN:
            for place, product in enumerate(item.products):
                score = recording.score(source, context, known.index(texts[product]))
                key = replay_key(item.id, context, str(place), 0)
                rows.append({"key": key, "reply": "", "letter_scores": {"likelihood": score}})
    return RECORDING.read_bytes() + b"".join(orjson.dumps(row) + b"\n" for row in rows)


def _label_rater() -> Callable[[str, str, Sequence[str]], list[float]]:
    """The authors' labels as a judge: it knows which draft suits the person it is told about, and nothing without one."""
    benchmark = FolderBenchmark(FOLDER)
    people = {person.id: person for person in benchmark.people()}
    profile = make_context("profile", People(people), 0)
    labels = {judgment.item: judgment.label for judgment in benchmark.gold()}
    suited = {
        (profile.build(people[item.person], item).text, item.prompt, drafts[int(labels[item.id] or 0)])
        for item, drafts in _questions(benchmark)
    }

    @rater(LABELS, version=benchmark.info.version, order_matters=False)
    def starter_labels(person: str, question: str, answers: Sequence[str]) -> list[float]:
        return [float((person, question, answer) in suited) for answer in answers]

    return starter_labels


def _say_judge(results: Sequence[Result], say: Callable[[str], None]) -> None:
    """Print how often each judge chose the fitting answer, told the right person, nobody and a wrong person."""
    first = _total(results, "accuracy", JUDGE)
    say(
        f"\n1. Can a judge tell which of two answers suits the person? {first.n} questions of {first.people} invented people"
    )
    say(f"   {'':<33} {'told the profile':<17} {'nothing':>7} {'wrong person':>13}  lift")
    for name, title in (
        (JUDGE, f"{JUDGE_TITLE}, recorded"),
        ("rule:overlap", "rule: overlaps more with profile"),
        ("rule:length", "rule: longer answer"),
    ):
        told, none, wrong = (_total(results, "accuracy", name, context) for context in SHOWN)
        lift = _total(results, "lift", name)
        say(f"   {title:<33} {_score(told):<17} {_plain(none):>7} {_plain(wrong):>13}  {_points(lift)}")


def _say_assistant(results: Sequence[Result], say: Callable[[str], None]) -> None:
    """Print how the assistant's answers fare with memory and without, and what gates make of it."""
    first = _total(results, "win_rate", JUDGE, system=WITH)
    say(f"\n2. Does memory make an assistant's answers fit the person better? {first.n} comparisons")
    say(f"   Scripted: it sends one of two written drafts, chosen by the recorded {JUDGE_TITLE} from")
    say("   three memories of the person or none; judged against its generic and its wrong-person answer.")
    say(f"   {'':<24}  {'judged by':<28}  {'win rate':<17}  lift")
    for system in (WITH, WITHOUT):
        judges: dict[str, str] = {}
        for name, title in ((JUDGE, f"{JUDGE_TITLE}, recorded"), (LABELS, "labels of the starter set")):
            win, lift = (_total(results, metric, name, system=system) for metric in ("win_rate", "lift"))
            figures = f"{_score(win):<17}  {_points(lift)}"
            judges[figures] = "both" if figures in judges else title
        for figures, title in judges.items():
            say(f"   {system:<24}  {title:<28}  {figures}")
    say("\n3. Gates: --fail-under lift=0.02 wants every interval above 2 points (bars set for this demo)")
    for system, bar in GATES:
        say(f"   lift={bar:<5g} {system.removeprefix('assistant '):<16} {_gate(results, system, bar)}")


def _findings(judged: Sequence[Result], answered: Sequence[Result]) -> list[str]:
    """What the demo's figures say, a sentence each."""
    told, wrong = (_total(judged, "accuracy", JUDGE, context) for context in ("profile", "wrong:profile"))
    lift = _total(judged, "lift", JUDGE)
    wins = [_total(answered, "win_rate", name, system=WITH) for name in (JUDGE, LABELS)]
    uses = "uses" if (lift.low or 0) > 0 else "is not shown to use"
    helps = "helps" if all((win.low or 0) > 0.5 for win in wins) else "is not shown to help"
    return [
        f"{JUDGE_TITLE} {uses} the person: right in {_plain(told)} % told the profile, {_plain(wrong)} % told a wrong one.",
        f"Memory {helps} the assistant: it wins {' and '.join(_plain(win) for win in wins)} % by its two judges; 50 is chance.",
        _advice(*(_highest_passed(answered, system) for system in (WITH, WITHOUT))),
    ]


def _advice(with_memory: float | None, without: float | None) -> str:
    """What the highest bars that are passed with memory and without say about shipping it."""
    passed = [f"lift={bar:g}" if bar is not None else "no gate" for bar in (with_memory, without)]
    told = f"The assistant passes {passed[0]} with memory, {passed[1]} without"
    if with_memory is None or (without is not None and without >= with_memory):
        return f"{told}: nothing here speaks for shipping memory."
    return f"{told}: ship memory if {100 * with_memory:g} points are enough."


def _highest_passed(results: Sequence[Result], system: str) -> float | None:
    """The highest bar whose gate a system passes."""
    bars = [bar for name, bar in GATES if name == system]
    return max((bar for bar in bars if _outcome(results, system, bar) is GateOutcome.PASSES), default=None)


def _outcome(results: Sequence[Result], system: str, bar: float) -> GateOutcome:
    """The gate's outcome over all judges: it passes if every judge passes, and fails if one fails."""
    outcomes = {gate(lift, bar).outcome for lift in _lifts(results, system)}
    worst = (GateOutcome.FAILS, GateOutcome.CANNOT_TELL, GateOutcome.PASSES)
    return next(outcome for outcome in worst if outcome in outcomes)


def _gate(results: Sequence[Result], system: str, bar: float) -> str:
    """The outcome of a gate with the lowest figure it rests on."""
    lowest = min(_lifts(results, system), key=lambda lift: (lift.low or 0.0, lift.value or 0.0))
    why = f"lift {_points(lowest)}"
    if lowest.low is None:
        why = "same answer for everybody, lift 0.0 throughout"
    outcome = _outcome(results, system, bar)
    return f"{outcome.value} (exit {int(outcome is not GateOutcome.PASSES)}): {why}"


def _lifts(results: Sequence[Result], system: str) -> list[Result]:
    return [result for result in totals(results, "lift") if result.system == system]


def _total(
    results: Sequence[Result], metric: str, rater: str, context: str = "profile", system: str | None = None
) -> Result:
    (found,) = (
        result
        for result in results
        if (result.metric, result.rater, result.view, result.system) == (metric, rater, context, system)
        and not result.slice
    )
    return found


def _plain(result: Result) -> str:
    return f"{100 * (result.value or 0.0):.1f}"


def _score(result: Result) -> str:
    """A share in %, with its interval, e.g. `77.8 (69.5–84.3)`."""
    if result.low is None or result.high is None:
        return _plain(result)
    return f"{_plain(result)} ({100 * result.low:.1f}–{100 * result.high:.1f})"


def _points(result: Result) -> str:
    """A difference in points, with its interval, e.g. `+27.8 (+20.3 to +35.2)`."""
    value = 100 * (result.value or 0.0)
    if result.low is None or result.high is None:
        return f"{value:.1f}" if not value else f"{value:+.1f}"
    return f"{value:+.1f} ({100 * result.low:+.1f} to {100 * result.high:+.1f})"
