"""Faults on the wire, against real processes: resets, dripping replies, wrong content, storms of 429.

Passing faults are only a delay: the run ends as if nothing had been. Lasting ones end it with one sentence and the right
exit code, and the same command finishes once the endpoint has recovered. Undisturbed runs say what "as if" means.
"""

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from personafit.benchmarks import RunConfig
from personafit.models import openai
from tests.faults.wire import sent_bytes
from tests.faults.world import Answer, answers, asks, carry_out, personafit, sentences, write_benchmark
from tests.stub_endpoint import StubEndpoint

ITEMS, ASKS = 12, 24
FEW = 3  # items, where patience has to run out: six asks, six tries each
OPTIONS = ",timeout=1"

PASSING = [
    *("reset", "cut", "drip", "drip_head", "hang", "endless", "no_http", "bad_gzip", "truncated", "html"),
    *("empty", "null", "wrong_shape", "error_in_200", "error", "overloaded", "overloaded_soon"),
    *("overloaded_odd", "overloaded_past", "overloaded_zero"),
]

# What lasts, and what the sentence must say.
LASTING = {
    "reset": "broke off: ",
    "drip": "did not answer within 1 s",
    "bad_gzip": "broke off: ",
    "truncated": "answered something that is not a chat completion",
    "overloaded_past": "is overloaded (HTTP 429) (Come back later)",
    "overloaded_ages": "is overloaded (HTTP 429) (Come back later)",
}


def _line(stub: StubEndpoint) -> tuple[str, ...]:
    return ("run", "village", "--rater", stub.spec(OPTIONS), "--context", "profile", "--out", "out", "--json")


def _undisturbed(stub: StubEndpoint, folder: Path, items: int) -> tuple[str, list[Answer]]:
    """The same command in a world of its own, with an endpoint that behaves."""
    stub.behave("letters")
    write_benchmark(folder / "village", items)
    done = personafit(*_line(stub), cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout, answers(folder / ".personafit" / "store.db")


@pytest.mark.slow
def test_passing_faults_of_all_kinds_only_delay_a_run(tmp_path: Path, endpoint: StubEndpoint) -> None:
    expected = _undisturbed(endpoint, tmp_path / "undisturbed", ITEMS)
    before = len(endpoint.requests)
    write_benchmark(tmp_path / "disturbed" / "village", ITEMS)
    endpoint._first = deque(PASSING)
    done = personafit(*_line(endpoint), cwd=tmp_path / "disturbed")
    assert (done.returncode, sentences(done.stderr)) == (0, [])
    assert (done.stdout, answers(tmp_path / "disturbed" / ".personafit" / "store.db")) == expected
    assert len(endpoint.requests) - before == ASKS + len(PASSING), "each fault costs one more request"
    assert sent_bytes[endpoint.port] < 2 * openai.LARGEST_REPLY, "an endless reply is cut off"


@dataclass
class Course:
    """A run with a lasting fault, the same command after it, and the same without it."""

    code: int
    said: list[str]
    kept: dict[str, float]
    failed: int
    requests: int
    finished: tuple[int, list[str]]
    requests_after: int
    answers: list[Answer]
    undisturbed: list[Answer]


def _play(stub: StubEndpoint, fault: str, folder: Path) -> Course:
    write_benchmark(folder / "village", FEW)
    store = folder / ".personafit" / "store.db"
    stub.behave(fault, "letters", times=1)
    first = personafit(*_line(stub), cwd=folder)
    kept, failed, requests = asks(store, "ok"), len(asks(store, "failed")), len(stub.requests)
    stub.behave("letters")
    again = personafit(*_line(stub), cwd=folder)
    after = len(stub.requests) - requests
    config = RunConfig(str(folder / "village"), raters=[stub.spec(OPTIONS)], contexts=["profile"])
    carry_out(folder / "undisturbed.db", config)
    return Course(
        first.returncode,
        sentences(first.stderr),
        kept,
        failed,
        requests,
        (again.returncode, sentences(again.stderr)),
        after,
        answers(store),
        answers(folder / "undisturbed.db"),
    )


@pytest.mark.slow
def test_lasting_faults_end_a_run_in_good_order_and_the_same_command_finishes_it(tmp_path: Path) -> None:
    """One test, so that all faults are played side by side whoever distributes the tests."""
    with ExitStack() as stack, ThreadPoolExecutor(len(LASTING)) as pool:
        played = {
            fault: pool.submit(_play, stack.enter_context(StubEndpoint()), fault, tmp_path / fault)
            for fault in LASTING
        }
        courses = {fault: course.result() for fault, course in played.items()}
    for fault, course in courses.items():
        asked, rules = 2 * FEW, 2 * FEW
        causes = [sentence for sentence in course.said if LASTING[fault] in sentence]
        others = [sentence for sentence in course.said if sentence not in causes]
        assert (course.code, len(causes)) == (1, 1), f"{fault}: {course}"
        assert all("coverage" in sentence for sentence in others), f"{fault}: {course}"
        assert (len(course.kept), course.failed) == (rules + 1, asked - 1), f"{fault}: {course}"
        tries = 1 if fault == "overloaded_ages" else 6  # nobody waits for ages
        assert course.requests == 1 + (asked - 1) * tries, f"{fault}: {course}"
        assert course.finished == (0, []), f"{fault}: {course}"
        assert course.requests_after == asked - 1, f"{fault}: nothing judged is judged again: {course}"
        assert course.answers == course.undisturbed, f"{fault}: {course}"
        assert len({row[:5] for row in course.answers}) == len(course.answers) == asked + rules


def test_an_account_no_number_holds_does_not_spoil_an_answer(tmp_path: Path, endpoint: StubEndpoint) -> None:
    write_benchmark(tmp_path / "village", FEW)
    endpoint.behave("odd_numbers")
    config = RunConfig(str(tmp_path / "village"), raters=[endpoint.spec()], contexts=["profile"])
    assert carry_out(tmp_path / "store.db", config).failed == 0
    assert {row[5] for row in answers(tmp_path / "store.db")} == {"ok"}


@pytest.mark.parametrize("fault", ["overloaded_ages", "overloaded_far"])
def test_a_wait_that_outlasts_all_patience_is_not_begun(
    tmp_path: Path, endpoint: StubEndpoint, fault: str
) -> None:
    write_benchmark(tmp_path / "village", FEW)
    endpoint.behave(fault)
    config = RunConfig(str(tmp_path / "village"), raters=[endpoint.spec()], contexts=["profile"])
    assert carry_out(tmp_path / "store.db", config).failed == 2 * FEW
    assert len(endpoint.requests) == 2 * FEW
