"""How an evaluation runs: resumed, inside a running loop, twice at once, interrupted; and what its arguments may be."""

import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import personafit as pf
from tests.api.world import by_length, pairs
from tests.scripted import write_lines
from tests.stub_endpoint import StubEndpoint


def test_the_same_call_asks_nothing_twice(endpoint: StubEndpoint, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"raters": endpoint.spec(), "contexts": ["profile", "none"], "progress": False}
    run = pf.evaluate(pairs(), store=tmp_path / "s.db", **asked)
    assert len(endpoint.requests) == 8 * 2 * 2  # both contexts, both orders
    assert (run.finished, run.interrupted, run.failed, run.stopped) == (True, False, 0, [])
    again = pf.evaluate(pairs(), store=tmp_path / "s.db", **asked)
    assert len(endpoint.requests) == 8 * 2 * 2
    assert (again.name, again.asked, again.reused) == (run.name, 0, run.asked)
    assert again.results.equals(run.results)
    grown = pf.evaluate(pairs(10), store=tmp_path / "s.db", **asked)
    assert len(endpoint.requests) == 10 * 2 * 2  # the eight are known
    assert grown.name != run.name


def test_it_works_inside_a_running_loop(endpoint: StubEndpoint, tmp_path: Path) -> None:
    loops = []

    async def judge(answers: list[str]) -> int:
        loops.append(asyncio.get_running_loop())
        await asyncio.sleep(0)
        return 0

    async def notebook() -> tuple[pf.Run, pf.Run, Any]:
        plain = pf.evaluate(pairs(), raters=[judge, endpoint.spec()], store=tmp_path / "s.db", progress=False)
        judge.version = 2  # type: ignore[attr-defined]
        awaited = await pf.aevaluate(
            pairs(), raters=[judge, endpoint.spec()], store=tmp_path / "s.db", progress=False
        )
        return plain, awaited, asyncio.get_running_loop()

    plain, awaited, ours = asyncio.run(notebook())
    assert plain.finished
    assert awaited.finished
    assert awaited.reused > 0  # all but the judge's
    assert loops[0] is not ours  # a loop of its own
    assert loops[-1] is ours  # shared, so that its clients can be used
    assert len(set(map(id, loops))) == 2


def test_an_awaited_evaluation_that_is_cancelled_is_cancelled_and_resumes(tmp_path: Path) -> None:
    calls: list[int] = []
    hangs = True

    async def judge(answers: list[str]) -> int:
        calls.append(1)
        if hangs and len(calls) > 20:
            await asyncio.sleep(600)
        return 0

    judge.version = 1  # type: ignore[attr-defined]

    def evaluated() -> Any:
        return pf.aevaluate(
            pairs(40), raters=judge, contexts="profile", store=tmp_path / "s.db", progress=False
        )

    lost: list[Any] = []

    async def cancelled() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: lost.append(context))
        task = asyncio.ensure_future(evaluated())
        while len(calls) < 21:
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        gc.collect()

    asyncio.run(cancelled())
    assert not lost  # else asyncio prints a traceback
    begun, hangs = len(calls), False
    rest = asyncio.run(evaluated())
    assert rest.finished
    assert len(calls) == begun + 20  # the twenty that were answered are kept


@pytest.mark.parametrize("in_a_loop", [False, True])
def test_an_interrupt_gives_back_what_is_judged(in_a_loop: bool, tmp_path: Path) -> None:
    calls = []

    def judge(answers: list[str]) -> int:
        calls.append(1)
        if len(calls) == 20:
            os.kill(os.getpid(), signal.SIGINT)
        if len(calls) > 20:
            threading.Event().wait(0.02)
        return 0

    judge.version = 1  # type: ignore[attr-defined]
    before = signal.getsignal(signal.SIGINT)

    def evaluated() -> pf.Run:
        return pf.evaluate(
            pairs(400), raters=judge, contexts="profile", store=tmp_path / "s.db", progress=False
        )

    async def looped() -> pf.Run:
        return evaluated()

    run = asyncio.run(looped()) if in_a_loop else evaluated()
    assert signal.getsignal(signal.SIGINT) == before
    assert run.interrupted
    assert not run.finished
    judged = run.judgments.filter(rater="judge").height
    assert 1 <= judged < 400
    assert "not finished" in repr(run)
    rest = evaluated()
    assert rest.finished
    assert rest.name == run.name
    assert len(calls) <= 400 + 16  # those under way when it was interrupted are asked again, no others


def test_two_at_once_on_one_store_share_and_do_not_disturb(tmp_path: Path) -> None:
    runs: list[pf.Run] = []
    errors: list[BaseException] = []

    def evaluated(rater: Any) -> None:
        try:
            runs.append(pf.evaluate(pairs(30), raters=rater, store=tmp_path / "s.db", progress=False))
        except BaseException as error:
            errors.append(error)

    def other(answers: list[str]) -> int:
        return 1

    threads = [threading.Thread(target=evaluated, args=(one,)) for one in (by_length, by_length, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    names = {run.name for run in runs}
    assert len(names) == 2
    for run in runs:
        assert run.finished
        assert run.judgments.height == 30 * 3 * 3  # every ask once, whoever made it
        assert run.judgments["status"].unique().to_list() == ["ok"]


def test_a_second_process_on_the_same_store_is_safe(tmp_path: Path) -> None:
    code = (
        "import personafit as pf\n"
        "from tests.api.world import by_length, pairs\n"
        f"run = pf.evaluate(pairs(30), raters=by_length, store={str(tmp_path / 's.db')!r}, progress=False)\n"
        "print(run.name, run.judgments.height)\n"
    )
    root = Path(__file__).parents[2]
    started = [
        subprocess.Popen([sys.executable, "-c", code], cwd=root, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    printed = {process.communicate(timeout=120)[0] for process in started}
    assert [process.returncode for process in started] == [0, 0]
    assert len(printed) == 1
    assert printed.pop().endswith(" 270\n")


def test_progress_is_shown_on_standard_error_and_can_be_silenced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pf.evaluate(pairs(), raters=by_length, store=tmp_path / "s.db")
    printed = capsys.readouterr()
    assert "by_length 24/24" in printed.err
    assert printed.out == ""
    pf.evaluate(pairs(), raters=by_length, store=tmp_path / "s.db", progress=False)
    assert capsys.readouterr() == ("", "")


def test_selections_and_places_are_what_they_say(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    rows = [
        row | {"tier": "hard" if number % 2 else "easy", "topic": "day"}
        for number, row in enumerate(pairs(12))
    ]
    asked: dict[str, Any] = {
        "raters": "rule:length",
        "contexts": "profile",
        "store": store,
        "progress": False,
    }
    assert pf.evaluate(rows, limit=4, **asked).items.height == 4
    assert pf.evaluate(rows, people=3, **asked).items["person"].n_unique() == 3
    some = sorted(pf.evaluate(rows, **asked).items["person"])[:2]
    assert sorted(pf.evaluate(rows, people=some, **asked).items["person"]) == some
    hard = pf.evaluate(rows, where={"tier": "hard"}, **asked)
    assert hard.items["tier"].to_list() == ["hard"] * 6
    assert pf.evaluate(rows, where=["tier=hard"], **asked).name == hard.name
    with pytest.raises(pf.UserError, match="--where tier: write NAME=VALUE, such as tier="):
        pf.evaluate(rows, where="tier", **asked)
    out = tmp_path / "out"
    run = pf.evaluate(rows, out=out, samples=2, **asked)
    assert sorted(path.name for path in out.iterdir()) == ["report.html", "results.json", "run.json"]
    assert run.judgments["sample"].unique().sort().to_list() == [0, 1]
    plan = pf.estimate(rows, raters="rule:length", contexts="profile", store=store)
    assert plan.startswith("pairs: 24 asks would be made")
    with pytest.raises(TypeError, match="unexpected keyword argument 'rater'"):
        pf.estimate(rows, rater="rule:length", store=store)  # type: ignore[call-arg]


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "limit": ({"limit": 0}, "limit=0: give a whole number from 1 to 2,147,483,647"),
    "samples": ({"samples": 1.5}, "samples=1.5: give a whole number"),
    "people": ({"people": 0}, "people=0: give a number of at least 1"),
    "seed": ({"seed": "7"}, "seed='7': give a whole number"),
    "too large": ({"seed": 10**30}, "give a whole number from -2,147,483,647 to 2,147,483,647"),
    "budget": ({"budget": -1}, "budget=-1: give the most that may be spent, in USD, such as 2.5"),
    "options": ({"options": ["tasks"]}, "options=['tasks']: give names with their values"),
    "stranger": ({"people": ["nobody"]}, "--people: nobody is called 'nobody' in this benchmark"),
    "somebody": ({"people": "nobody.txt"}, "--people nobody.txt: neither a number nor a readable file"),
    "where": ({"where": {"tier": "x"}}, "items have no 'tier'; they have no slices"),
    "retry": ({"retry": "often"}, "'often' is not a valid Status; there are ok, unparsed"),
    "contexts": (
        {"contexts": 3},
        "contexts are names such as 'profile' or functions under @pf.context(NAME), not int",
    ),
    "context": ({"contexts": "horoscope"}, "Unknown context 'horoscope'"),
    "rater": ({"raters": "nobody"}, "'nobody' names no rater"),
    "user": ({"user": "embedded"}, "--user means nothing"),
    "store": ({"store": "mysql://x"}, "The store mysql://x cannot be used"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_arguments_are_refused_in_a_sentence(case: str, tmp_path: Path) -> None:
    arguments, said = WRONG[case]
    with pytest.raises(pf.UserError) as refused:
        pf.evaluate(pairs(), **{"store": tmp_path / "s.db", "raters": "rule:length", **arguments})
    assert said in str(refused.value)
    with pytest.raises(pf.UserError, match="There is no benchmark 'nothing'"):
        pf.evaluate("nothing", store=tmp_path / "s.db")


def test_the_best_answer_is_chosen_inside_a_running_loop(tmp_path: Path) -> None:
    rows = [
        {"person": {"id": f"p{one}", "Likes": "tea"}, "question": "What now?", "answers": ["Coffee.", "Tea."]}
        for one in range(3)
    ]
    file = write_lines(tmp_path / "candidates.jsonl", rows)

    def likes_tea(person: str, question: str, answers: list[str]) -> list[int]:
        return ["Tea" in answer for answer in answers]

    async def in_a_notebook() -> list[int | None]:
        found = pf.best_of(file, rater=likes_tea, length_control=False, store=tmp_path / "s.db")
        assert found.choice is not None
        return [row.chosen for row in found.choice.rows]

    assert asyncio.run(in_a_notebook()) == [1, 1, 1]


def test_a_script_that_names_itself_does_not_start_again_while_it_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = 'pf.evaluate("starter", raters="python:unguarded:judge", limit=4, store="s.db", progress=False)'
    script = f"import personafit as pf\n\ndef judge(answers):\n    return 0\n\n{call}\n"
    (tmp_path / "unguarded.py").write_text(script, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "unguarded.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert "unguarded starts a run when it is imported; put the call under `if __name__" in done.stderr


ODD: Any = 3
NONE: Any = []


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda store: pf.evaluate("starter", data=ODD, store=store), "data=3: give the path of a folder"),
        (lambda store: pf.evaluate("starter", out=ODD, store=store), "out=3: give the path of a folder"),
        (
            lambda store: pf.evaluate("starter", backend=ODD, limit=1, store=store),
            "backend=3: there are local",
        ),
        (lambda store: pf.load(store=ODD), "store=3: give the path of a file"),
        (lambda store: pf.compare("a", "b", margin=-1, store=store), "margin=-1: give a share of the scale"),
        (lambda store: pf.agree("a", margin=5, store=store), "margin=5: give a share of the scale"),
        (lambda store: pf.agree(ODD, store=store), "agree takes a run, .* not int"),
        (lambda store: pf.analyze("a", ODD, store=store), "There is no analysis 3"),
        (lambda store: pf.analyze("a", NONE, store=store), r"There is no analysis \[\]"),
        (lambda store: pf.best_of("a", rater=ODD, store=store), "raters takes specs"),
        (lambda store: pf.best_of("a", rater=NONE, store=store), "best_of takes one rater"),
        (lambda store: pf.best_of("a", rater="rule:length", samples=ODD - 3, store=store), "samples=0: give"),
        (
            lambda store: pf.best_of("a", rater="rule:length", temperature=-ODD, store=store),
            "temperature=-3: give",
        ),
        (lambda store: pf.analyze("a", "power", people=0, store=store), "people=0: give a whole number"),
    ],
)
def test_arguments_of_another_type_are_one_sentence(call: Any, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(pf.UserError, match=sentence):
        call(tmp_path / "s.db")
