"""Endpoints that fail: the run ends with one clear cause and the right exit code, keeps what it has, and goes on later.

The commands are real processes against real servers, side by side: most of the time is spent until patience ends.
"""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from personafit.benchmarks import RunConfig
from tests.faults.world import Answer, answers, asks, carry_out, personafit, sentences, write_benchmark
from tests.stub_endpoint import StubEndpoint

ITEMS, ASKS, BEFORE = 3, 6, 2  # three items in two orders; two asks are answered before the fault sets in
RULES = 2 * ITEMS  # what the control raters judge whatever the endpoint does

# What goes wrong: the exit code, and what the sentence must say.
FAULTS = {
    "unauthorized": (2, "wants a key (HTTP 401) (Incorrect API key provided); set OPENAI_API_KEY"),
    "not_found": (2, "knows no model 'stub' or no chat completions (HTTP 404)"),
    "overloaded": (1, "is overloaded (HTTP 429) (Rate limit reached)"),
    "error": (1, "failed (HTTP 500) (internal error)"),
    "cut": (1, "broke off: "),
    "html": (1, "answered something that is not a chat completion"),
    "empty": (1, "answered something that is not a chat completion"),
    "hang": (1, "did not answer within 0.5 s"),
}


@dataclass
class Course:
    """What happened: the command, the same run taken up after the endpoint recovered, and the store in between."""

    code: int
    said: list[str]
    kept: dict[str, float]
    failed: int
    requests: int
    failed_after: int
    kept_after: dict[str, float]
    requests_after: int
    answers: list[Answer]


def _play(stub: StubEndpoint, fault: str, folder: Path) -> Course:
    write_benchmark(folder / "village", ITEMS, 2)
    store = folder / ".personafit" / "store.db"
    code = FAULTS[fault][0]
    stub.behave(fault, "letters", times=BEFORE if code == 1 else 0)
    line = ("run", "village", "--rater", stub.spec(",timeout=0.5"), "--context", "profile")
    first = personafit(*line, cwd=folder)
    kept, failed, requests = asks(store, "ok"), len(asks(store, "failed")), len(stub.requests)
    stub.behave("letters")
    config = RunConfig(str(folder / "village"), raters=[stub.spec(",timeout=0.5")], contexts=["profile"])
    after = carry_out(store, config)
    return Course(
        first.returncode,
        sentences(first.stderr),
        kept,
        failed,
        requests,
        after.failed,
        asks(store, "ok"),
        len(stub.requests) - requests,
        answers(store),
    )


@pytest.mark.slow
def test_faults_end_as_they_should_and_are_got_over(tmp_path: Path) -> None:
    """One test, so that all faults are played side by side whoever distributes the tests."""
    with ExitStack() as stack, ThreadPoolExecutor(len(FAULTS)) as pool:
        played = {
            fault: pool.submit(_play, stack.enter_context(StubEndpoint()), fault, tmp_path / fault)
            for fault in FAULTS
        }
        courses = {fault: course.result() for fault, course in played.items()}
    for fault, course in courses.items():
        _check_end(fault, course)
        _check_recovery(fault, course)


def _check_end(fault: str, course: Course) -> None:
    """The cause is named once, the exit code is right, retries are bounded, what was judged is kept."""
    code, expected = FAULTS[fault]
    assert course.code == code, f"{fault}: {course}"
    causes = [sentence for sentence in course.said if expected in sentence]
    others = [sentence for sentence in course.said if expected not in sentence]
    assert len(causes) == 1, f"{fault}: {course}"
    assert all("coverage" in sentence for sentence in others), f"{fault}: {course}"
    if code == 2:
        assert (len(course.kept), course.failed) == (RULES, 0), f"{fault}: {course}"
        assert course.requests <= ASKS, f"{fault}: {course}"
    else:
        assert (len(course.kept), course.failed) == (RULES + BEFORE, ASKS - BEFORE), f"{fault}: {course}"
        assert course.requests == BEFORE + (ASKS - BEFORE) * 6, f"{fault}: {course}"


def _check_recovery(fault: str, course: Course) -> None:
    """Nothing judged is judged again, and every job is judged exactly once."""
    assert course.failed_after == 0, f"{fault}: {course}"
    assert course.kept.items() <= course.kept_after.items(), f"{fault}: {course}"
    assert course.requests_after == ASKS - (len(course.kept) - RULES), f"{fault}: {course}"
    jobs = [row[:5] for row in course.answers]
    assert len(jobs) == len(set(jobs)) == ASKS + RULES, f"{fault}: {course}"
    assert {row[5] for row in course.answers} == {"ok"}, f"{fault}: {course}"


@pytest.mark.slow
def test_the_same_command_goes_on_and_then_has_nothing_left_to_ask(
    endpoint: StubEndpoint, tmp_path: Path
) -> None:
    write_benchmark(tmp_path / "village", 2, 2)
    line = ("run", "village", "--rater", endpoint.spec(), "--context", "profile", "--json")
    endpoint.behave("not_found", "letters", times=1)
    assert personafit(*line, cwd=tmp_path).returncode == 1, "one ask was answered: not simply a wrong address"
    endpoint.behave("letters")
    done = personafit(*line, cwd=tmp_path)
    assert (done.returncode, sentences(done.stderr)) == (0, [])
    asked = len(endpoint.requests)
    endpoint.behave("unauthorized")
    again = personafit(*line, cwd=tmp_path)
    assert (again.returncode, again.stdout, len(endpoint.requests)) == (0, done.stdout, asked)
