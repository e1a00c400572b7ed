"""Preparing real logs: each step leaves out whom it should, and says why."""

from pathlib import Path

import pytest

from personafit import UserError
from personafit.extract.preparing import ALL, STEPS, parse_steps
from personafit.extract.records import StageFile
from tests.extract.conftest import Bags
from tests.extract.world import chat, run_stages
from tests.scripted import write_lines
from tests.stub_endpoint import StubEndpoint

TOPICS = ["tea", "buses", "dogs", "maps", "rain", "soup", "chess", "paint", "bread", "stars"]


def talk(person: str, conversations: int, messages: int, about: str = "") -> list[dict[str, object]]:
    """Conversations of somebody who says something new each time."""
    return [
        chat(
            f"{person}-{number}",
            person,
            *[
                f"I wonder about {about or TOPICS[(number + n) % len(TOPICS)]}, question {n} of day {number} by {person}."
                for n in range(messages)
            ],
        )
        for number in range(conversations)
    ]


def left(out: Path) -> list[str]:
    return [person.id for person in StageFile(out).read_people()]


def reasons(out: Path, person: str) -> set[tuple[str, str, str]]:
    found = StageFile(out).read_conversations()
    return {(one.status.value, one.step, one.reason or "") for one in found if one.person == person}


def test_steps_are_named_counted_and_taken_in_order(
    tmp_path: Path, endpoint: StubEndpoint, bags: Bags
) -> None:
    template = "Please write a product description of at most one hundred words for our web shop, in a friendly tone, about: item"
    rows = [
        *talk("ann", 3, 5),
        *talk("short", 2, 9),
        *talk("quiet", 3, 4),
        *talk("breaker", 4, 5, about="a jailbreak"),
        *[chat(f"bot-{n}", "bot", *[f"{template} {n}{m}" for m in range(4)]) for n in range(4)],
        *[
            chat(f"li-{n}", "li", *[f"我想问一下第{m}个问题，关于{n}号的安排。" for m in range(5)])
            for n in range(3)
        ],
    ]
    log = write_lines(tmp_path / "log.jsonl", rows)
    done = run_stages(
        tmp_path / "store.db",
        log,
        tmp_path / "out",
        endpoint.spec(),
        prepare="all,language=en",
        verifiers=["rule"],
    )
    assert left(tmp_path / "out") == ["ann"]
    assert reasons(tmp_path / "out", "li") == {("skipped", "language", "The user writes in zh, not in en.")}
    assert reasons(tmp_path / "out", "bot") == {
        ("skipped", "scripted", "The account looks scripted: 16 of 16 messages hold the same text.")
    }
    ((_, step, why),) = reasons(tmp_path / "out", "short")
    assert (step, why.startswith("The person has 2 conversations and 18 messages;")) == ("minimum", True)
    ((_, step, why),) = reasons(tmp_path / "out", "quiet")
    assert (step, why.startswith("The person has 3 conversations and 12 messages;")) == ("minimum", True)
    ((_, step, why),) = reasons(tmp_path / "out", "breaker")
    assert (step, "to 0.10" in why) == ("assistant", True)
    assert done.counts is not None
    counted = [(row["name"], row["people_in"], row["people_out"]) for row in done.counts["prepare"]]
    assert counted == [("language", 6, 5), ("scripted", 5, 4), ("minimum", 4, 2), ("assistant", 2, 1)]
    assert done.counts["conversations"]["by_status"] == {"ok": 3, "skipped": 16}


def test_people_repeat_themselves_without_being_scripts(
    tmp_path: Path, endpoint: StubEndpoint, bags: Bags
) -> None:
    rows = [
        chat(f"c{n}", "ann", "continue", "thanks!", "continue", f"What about {TOPICS[n]}?") for n in range(8)
    ]
    log = write_lines(tmp_path / "log.jsonl", rows)
    run_stages(
        tmp_path / "s.db", log, tmp_path / "out", endpoint.spec(), prepare="scripted", verifiers=["rule"]
    )
    assert left(tmp_path / "out") == ["ann"]


def test_the_diverse_are_those_who_talk_of_different_things(
    tmp_path: Path, endpoint: StubEndpoint, bags: Bags
) -> None:
    rows = [row for n in range(6) for row in talk(f"same{n}", 1, 3, about="tea")]
    rows += talk("odd", 1, 3, about="volcanoes under the sea near Iceland in winter")
    log = write_lines(tmp_path / "log.jsonl", rows)
    more = {"prepare": "diverse=3", "verifiers": ["rule"]}
    run_stages(tmp_path / "s.db", log, tmp_path / "out", endpoint.spec(), **more)
    kept = left(tmp_path / "out")
    assert len(kept) == 3
    assert "odd" in kept
    log = write_lines(tmp_path / "log.jsonl", rows[::-1])
    run_stages(tmp_path / "s.db", log, tmp_path / "again", endpoint.spec(), **more)
    assert left(tmp_path / "again") == kept, "the order of the log changes nothing"


def test_nobody_left_is_said_and_not_an_error_of_ours(
    tmp_path: Path, endpoint: StubEndpoint, bags: Bags
) -> None:
    log = write_lines(tmp_path / "log.jsonl", talk("ann", 1, 1))
    done = run_stages(tmp_path / "s.db", log, tmp_path / "out", endpoint.spec(), prepare="minimum")
    assert done.counts is not None
    assert done.counts["extraction"]["coverage"] is None
    assert left(tmp_path / "out") == []
    assert endpoint.requests == []


def test_how_steps_are_written() -> None:
    assert list(parse_steps("all")) == list(ALL)
    wanted = parse_steps("diverse=5,language=en,minimum")
    assert list(wanted.items()) == [("language", "en"), ("minimum", ""), ("diverse", "5")]
    assert parse_steps(None) == {}
    assert set(ALL) < set(STEPS)
    for wrong in ("nonsense", "language", "diverse", "diverse=x", "diverse=0", "minimum=3", ","):
        with pytest.raises(UserError, match="--prepare"):
            parse_steps(wrong)
