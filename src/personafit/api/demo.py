"""The demo: a judge that uses the context, an assistant with and without memory, gates, and a dozen live asks, offline.

`qwen2.5-coder-1.5b.jsonl` beside this file is a recording of Qwen2.5-Coder-1.5B-Instruct (Q4_K_M weights, on one GPU): the
log-probability it gave to both answers of the 144 specific starter questions, given the profile, three retrieved memories, those
of a wrong person, or no context. It is the part of docs/recordings/qwen2.5-coder-1.5b-memory.jsonl that the demo needs.
The demo's figures are therefore always the same.
"""

import textwrap
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

from personafit._errors import UserError
from personafit.api.decorators import rater
from personafit.api.evaluating import evaluate
from personafit.api.places import make_folder
from personafit.api.run import Run
from personafit.benchmarks.answers import AnswerRow, Answers
from personafit.benchmarks.folder import FolderBenchmark
from personafit.benchmarks.starter import FOLDER
from personafit.contexts import People, make_context
from personafit.engine import STOP, Stop
from personafit.items.reading import replay_key
from personafit.reports.gate import gate, totals
from personafit.reports.report_page import write_page
from personafit.reports.result import Result, plain, with_interval
from personafit.statistics.decisions import GateOutcome
from personafit.store import Item, Store

WIDTH = 100  # columns of the terminal
RECORDING = Path(__file__).with_name("qwen2.5-coder-1.5b.jsonl")
MODEL = "Qwen2.5-Coder-1.5B"
JUDGE = f"{MODEL}-recorded"
LABELS = "authors-labels"
WITH, WITHOUT = "assistant with memory", "assistant without memory"
SHOWN = ("profile", "none", "wrong:profile")
SPECIFIC, GENERIC = {"half": "specific"}, {"against": "generic"}
LIVE = "embedded"
LIVE_PEOPLE, LIVE_ITEMS = ["nadia"], 6
"""Six items of one person, under the profile, in both orders: twelve live asks."""
LIVE_SECONDS = 20.0
LIVE_TITLE = "Do live models run on this machine?"
QUESTIONS = (
    "Can a judge tell which of two answers fits the person?",
    "Does memory make an assistant's answers fit the person better?",
    "Would a gate in CI notice if the memory were lost?",
)
GATES = ((WITH, 0.02), (WITHOUT, 0.02), (WITH, 0.05), (WITH, 0.2))
"""Systems and the lift that the gate requires of each."""

NOTE_JUDGE = (
    f"{JUDGE} is Qwen2.5-Coder-1.5B-Instruct, recorded once on a GPU: how likely it found each answer, told the profile, nothing, or "
    "a wrong person's profile. Replaying it asks no model. Only questions that call for the person are asked, so "
    "restraint is not measured; the way of asking was settled before on 18 of these questions, of three people."
)
NOTE_ASSISTANT = (
    "The assistant wrote nothing itself: for each question it sends one of two drafts of the starter set, chosen by the recorded "
    "Qwen2.5-Coder-1.5B. With memory it sends the draft that three retrieved memories of the person make likelier; without memory "
    "the draft that is likelier for anybody. If it sent simply the likelier draft in both cases, memory would seldom change its mind (8 "
    "% of comparisons), and the lift would be 1.6 points. The bars of the gates were set for the demo once its figures were known."
)
DETAILS = " “How it was made” has the details."
SCRIPTED = (
    f"The assistant is scripted: for each question it sends one of two written drafts, chosen by the recorded {MODEL}, which knows "
    f"three memories of the person or none.{DETAILS}"
)
NOTE_JUDGES = (
    "The model that chose the drafts also judges them, told the profile in place of memories. The authors' own labels of which "
    "draft suits whom judge beside it and depend on no model."
)
NOTE_LIVE = (
    f"embedded is SmolLM2 with 135M parameters, asked live {2 * LIVE_ITEMS} times: it is at chance on such choices and is shown only "
    "to prove that live models run on this machine."
)


class _Starter(FolderBenchmark):
    """The starter set under a title that fits any selection of it, with a note on its judge."""

    def __init__(self, title: str, note: str, **described: str) -> None:
        super().__init__(FOLDER)
        self.info = self.info.model_copy(update={"title": title, **described})
        self._note = note

    def notes(self) -> list[str]:
        return [*super().notes(), self._note]


class Recording:
    """The recorded log-probabilities, by item, context and answer."""

    def __init__(self) -> None:
        rows = map(orjson.loads, RECORDING.read_bytes().splitlines())
        self._scores = {row["key"]: row["letter_scores"]["likelihood"] for row in rows}

    def score(self, item: str, context: str, answer: int) -> float:
        """Return the mean log-probability of an answer's tokens under a context."""
        return float(self._scores[replay_key(item, context, str(answer), 0)])

    def choice(self, item: str, context: str) -> int:
        """Return the answer that gains most from the context; without a context, the likelier one."""
        gains = [
            self.score(item, context, answer) - (self.score(item, "none", answer) if context != "none" else 0)
            for answer in (0, 1)
        ]
        return gains.index(max(gains))


def run_demo(out: Path) -> Path:
    """Run the whole demo into a folder, print what was measured and found, and return the path of the report."""
    make_folder(out)
    print(f"Offline, no key: {MODEL} was recorded on a GPU and is replayed; all else runs here.")
    findings: list[tuple[str, str]] = []

    def say(question: str, answer: str) -> None:
        findings.append((question, answer))
        print(f"\n{len(findings)}. {question}\n{_indented(answer)}")

    with Store(str((out / "store.db").resolve())) as store:
        recorded, labels = recorded_judges()
        judge = _evaluated(store, _Starter(QUESTIONS[0], NOTE_JUDGE), raters=[recorded], where=SPECIFIC)
        say(QUESTIONS[0], _of_judge(judge.figures))
        assistant = _evaluated(store, assistant_answers(), raters=[recorded, labels])
        say(QUESTIONS[1], _of_assistant(assistant.figures))
        say(QUESTIONS[2], _of_gates(assistant.figures))
        live, answered = _run_live(store)
        say(LIVE_TITLE, answered)
        runs = {"judge": judge, "assistant": assistant} | ({"live": live} if live else {})
        body = {"runs": {name: run.as_dict() for name, run in runs.items()}}
        (out / "results.json").write_bytes(orjson.dumps(body, option=orjson.OPT_INDENT_2))
        page = out / "report.html"
        write_page([run.part() for run in runs.values()], page, "personafit demo", findings)
    said = f"In brackets are 95 % intervals over people. {SCRIPTED.removesuffix(DETAILS)}"
    print(f"\n{textwrap.fill(said, WIDTH)}")
    return page


def _indented(text: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent="   ", subsequent_indent="   ")


def _evaluated(store: Store, benchmark: Any, **asked: Any) -> Run:
    told = {"contexts": SHOWN, "command": "personafit demo"} | asked
    run = evaluate(benchmark, store=store, progress=False, **told)
    if run.interrupted and STOP.get() is None:
        raise KeyboardInterrupt
    return run


def _run_live(store: Store, seconds: float = LIVE_SECONDS) -> tuple[Run | None, str]:
    """Ask the embedded model a dozen times, stopping after `seconds`; return the run, if anything was answered, and a sentence."""
    benchmark = _Starter(LIVE_TITLE, NOTE_LIVE, description=NOTE_LIVE)
    stop = Stop()
    timer = threading.Timer(seconds, stop.stop)
    timer.daemon = True
    timer.start()
    known = STOP.set(stop)
    try:
        run = _evaluated(
            store,
            benchmark,
            raters=LIVE,
            contexts="profile",
            people=LIVE_PEOPLE,
            limit=LIVE_ITEMS,
            where=SPECIFIC,
        )
        answered = len(run.judgments.filter(rater=LIVE, status="ok"))
        why = " ".join(run.stopped) or f"no answer within {seconds:g} s; the machine may be busy."
    except UserError as error:
        answered, why = 0, str(error)
    finally:
        timer.cancel()
        STOP.reset(known)
    if not answered:
        return None, f"Not shown: {why}"
    asks = 2 * LIVE_ITEMS
    within = f" within {seconds:g} s" if answered < asks else ""
    return run, (
        f"Yes: {LIVE} (SmolLM2, 135M parameters) answered {answered} of {asks} asks{within}. It is at chance on such choices: "
        "shown only to prove that live models run."
    )


def assistant_answers() -> Answers:
    """Return the assistant's answers with memory and without: for each question one of two drafts, chosen by the recorded model."""
    recording, rows = Recording(), []
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
    answers.info = answers.info.model_copy(update={"title": QUESTIONS[1], "description": SCRIPTED})
    return answers


def _questions(benchmark: FolderBenchmark) -> Iterator[tuple[Item, list[str]]]:
    """Yield the specific questions with the texts of their two drafts."""
    texts = {product.id: product.text for product in benchmark.products()}
    for item in benchmark.items():
        if item.slices.get("half") == "specific":
            yield item, [texts[product] for product in item.products]


Judge = Callable[[str, str, Sequence[str]], list[float]]


def recorded_judges() -> tuple[Judge, Judge]:
    """Return two judges: the recorded model, which prefers the answer that gains most from the context, and the authors' labels."""
    benchmark, recording = FolderBenchmark(FOLDER), Recording()
    people = {person.id: person for person in benchmark.people()}
    contexts = {name: make_context(name, People(people), 0) for name in SHOWN}
    gold = {judgment.item: int(judgment.label or 0) for judgment in benchmark.gold()}
    scores: dict[tuple[str, str, str], float] = {}
    suited: set[tuple[str, str, str]] = set()
    for item, drafts in _questions(benchmark):
        for name, context in contexts.items():
            told = context.build(people[item.person], item).text
            for place, draft in enumerate(drafts):
                gain = recording.score(item.id, name, place) - recording.score(item.id, "none", place)
                scores[told, item.prompt, draft] = gain
            if name == "profile":
                suited.add((told, item.prompt, drafts[gold[item.id]]))

    @rater(JUDGE, version=benchmark.info.version, order_matters=False)
    def recorded(person: str, question: str, answers: Sequence[str]) -> list[float]:
        return [scores[person, question, answer] for answer in answers]

    @rater(LABELS, version=benchmark.info.version, order_matters=False)
    def labels(person: str, question: str, answers: Sequence[str]) -> list[float]:
        return [float((person, question, answer) in suited) for answer in answers]

    return recorded, labels


def _of_judge(results: Sequence[Result]) -> str:
    """Return how often the judge chose the fitting answer, told the right person's context, none and a wrong person's."""
    told, none, wrong = (_percent(_total(results, "accuracy", JUDGE, context)) for context in SHOWN)
    lift = _total(results, "lift", JUDGE)
    can = "Yes" if (lift.low or 0) > 0 else "Not shown"
    overlap, longer = (
        _percent(_total(results, "accuracy", f"rule:{rule}")) for rule in ("overlap", "length")
    )
    return (
        f"{can}: told the person's profile, {MODEL} chooses the fitting answer in {told} % of {lift.n} questions; told nothing, in "
        f"{none} %; told somebody else's profile, in {wrong} %. Knowing the person adds "
        f"{with_interval(lift, unit=' points', difference=True)}. Two simple rules beside it: the answer with more words of the profile is "
        f"right in {overlap} %, the longer one in {longer} %."
    )


def _of_assistant(results: Sequence[Result]) -> str:
    """Return how often the assistant's answers beat its generic ones, with memory and without."""
    wins = [_total(results, "win_rate", name, system=WITH, **GENERIC) for name in (JUDGE, LABELS)]
    helps = "Yes" if all((win.low or 0) > 0.5 for win in wins) else "Not shown"
    by_model, by_authors = (with_interval(win, unit=" %") for win in wins)
    return (
        f"{helps}: with memory, the assistant's answers beat its own generic ones in {by_model} of {wins[0].n} questions by the recorded "
        f"judge and in {by_authors} by the authors' labels, where 50 % is chance. Without memory it sends everybody the same answer."
    )


def _of_gates(results: Sequence[Result]) -> str:
    """Return what gates decide about the assistant with memory and without."""
    outcomes = {(system, bar): _gate(results, system, bar).value for system, bar in GATES}
    bar = GATES[0][1]
    noticed = "Yes" if outcomes[WITH, bar] != outcomes[WITHOUT, bar] else "No"
    rest = " and ".join(f"lift={other:g} {outcomes[WITH, other]}" for _, other in GATES[2:])
    return (
        f"{noticed}: the gate lift={bar:g}, by which knowing the person must be shown to add more than {100 * bar:g} points, "
        f"{outcomes[WITH, bar]} with memory and {outcomes[WITHOUT, bar]} without it. Higher bars, with memory: {rest}. The bars were set "
        "for this demo."
    )


def _gate(results: Sequence[Result], system: str, bar: float) -> GateOutcome:
    """Return the worst of the gate's outcomes over all judges."""
    outcomes = {gate(lift, bar).outcome for lift in totals(results, "lift") if lift.system == system}
    worst = (GateOutcome.FAILS, GateOutcome.CANNOT_TELL, GateOutcome.PASSES)
    return next(outcome for outcome in worst if outcome in outcomes)


def _total(
    results: Sequence[Result],
    metric: str,
    rater: str,
    context: str = "profile",
    system: str | None = None,
    **where: str,
) -> Result:
    wanted = (metric, rater, context, system, where)
    (found,) = (
        result
        for result in results
        if (result.metric, result.rater, result.context, result.system, result.slice) == wanted
    )
    return found


def _percent(result: Result) -> str:
    return plain(100 * (result.value or 0.0))
