"""Logs as they come: four layouts, and everything that is wrong with real ones; nothing is lost and everything says why."""

import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from personafit import Status, UserError
from personafit.extract.corpus import ConversationCorpus
from personafit.extract.reading import read_log
from personafit.extract.records import StagedConversation
from tests.extract.world import chat
from tests.scripted import write_lines


def read(path: Path, person: str = "") -> list[StagedConversation]:
    return list(read_log(path, person))


def said(conversation: StagedConversation) -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for turn in conversation.turns]


def message(role: str, *parts: Any) -> dict[str, Any]:
    return {"author": {"role": role}, "content": {"content_type": "text", "parts": list(parts)}}


def test_our_own_layout_with_known_attributes(tmp_path: Path) -> None:
    row = chat("c1", "ann", "hello") | {
        "attributes": [{"id": "a", "text": "The user greets.", "evidence": ["c1#0"]}]
    }
    (found,) = read(write_lines(tmp_path / "log.jsonl", [row]))
    assert (found.id, found.person, found.status) == ("c1", "ann", Status.OK)
    assert said(found) == [("user", "hello"), ("assistant", "Noted.")]
    assert [known.text for known in found.attributes] == ["The user greets."]


def test_sharegpt_as_lines_and_as_one_array(tmp_path: Path) -> None:
    rows = [
        {"id": "s1", "conversations": [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "yes?"}]},
        {"id": "s2", "conversations": [{"from": "human", "value": 'a ] in, "quotes" } too'}]},
    ]
    lines = read(write_lines(tmp_path / "log.jsonl", rows))
    (tmp_path / "log.json").write_text(json.dumps(rows, indent=2), encoding="utf-8")
    assert lines == read(tmp_path / "log.json")
    assert [found.person for found in lines] == ["s1", "s2"], (
        "without a user each conversation is somebody's own"
    )
    assert [found.person for found in read(tmp_path / "log.json", "ann")] == ["ann", "ann"]
    assert said(lines[0]) == [("user", "hi"), ("assistant", "yes?")]


def test_openai_export_reads_the_current_branch_and_counts_the_others(tmp_path: Path) -> None:
    image = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://x"}
    mapping = {
        "root": {"message": None, "parent": None, "children": ["u"]},
        "u": {
            "message": message("user", image, "What is this?"),
            "parent": "root",
            "children": ["old", "new"],
        },
        "old": {"message": message("assistant", "A cat."), "parent": "u", "children": []},
        "new": {"message": message("assistant", "A dog."), "parent": "u", "children": ["t"]},
        "t": {
            "message": {
                "author": {"role": "tool"},
                "content": {"content_type": "execution_output", "text": "42"},
            },
            "parent": "new",
            "children": [],
        },
    }
    export = [{"title": "x", "conversation_id": "c", "mapping": mapping, "current_node": "t"}]
    (tmp_path / "conversations.json").write_text(json.dumps(export), encoding="utf-8")
    (found,) = read(tmp_path)
    assert found.person == "me"
    assert said(found) == [("user", "What is this?"), ("assistant", "A dog."), ("tool", "")]
    assert found.turns[0].note == "not text: 1 image_asset_pointer"
    assert found.turns[2].note == "not text: 1 execution_output"
    assert found.reason is not None
    assert "1 messages on branches" in found.reason


def test_an_export_whose_parents_go_in_a_circle_ends(tmp_path: Path) -> None:
    mapping = {
        name: {"message": message("user", name), "parent": other} for name, other in (("a", "b"), ("b", "a"))
    }
    path = write_lines(tmp_path / "log.jsonl", [{"id": "c", "mapping": mapping, "current_node": "a"}])
    assert said(read(path)[0]) == [("user", "b"), ("user", "a")]


def test_wildchat_tells_people_by_hashed_address(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": "hi", "hashed_ip": "ip7"}, {"role": "assistant", "content": "ho"}]
    rows = [
        {"conversation_hash": "w1", "hashed_ip": "ip8", "conversation": turns},
        {"conversation_hash": "w2", "conversation": turns},
    ]
    assert [found.person for found in read(write_lines(tmp_path / "log.jsonl", rows))] == ["ip8", "ip7"]


def test_everything_odd_has_a_status_and_a_sentence(tmp_path: Path) -> None:
    parts = [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "x"}}]
    rows: list[Any] = [
        {
            "id": "ok",
            "messages": [{"role": "user", "content": parts}, {"role": "alien", "content": "?"}, "stray"],
        },
        {"id": "silent", "messages": [{"role": "assistant", "content": "Anyone?"}]},
        {"id": "blank", "messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
        chat("twice", "ann", "the same"),
        chat("twice", "ann", "the same"),
        chat("twice", "ann", "something else"),
        {"nothing": 1},
    ]
    path = write_lines(tmp_path / "log.jsonl", rows)
    with path.open("a", encoding="utf-8") as file:
        file.write(
            '{"id": "cut", "turns": [\n[1, 2]\n\n{"id": "half", "turns": [{"role": "user", "text": "\\ud83d x"}]}\n'
        )
    found = read(path)
    got = [(one.id, one.status.value, one.step) for one in found]
    assert got == [
        ("ok", "ok", ""),
        ("silent", "skipped", "reading"),
        ("blank", "skipped", "reading"),
        ("twice", "ok", ""),
        ("twice~2", "skipped", "reading"),
        ("twice~3", "ok", ""),
        ("line-7", "unparsed", "reading"),
        ("line-8", "unparsed", "reading"),
        ("line-9", "unparsed", "reading"),
        ("half", "ok", ""),
    ]
    notes = [turn.note for turn in found[0].turns]
    assert notes == ["not text: 1 image_url", "unknown role 'alien'", "no message but str"]
    assert said(found[0]) == [("user", "look"), ("other", "?"), ("other", "")]
    reasons = [one.reason or "" for one in found]
    assert "no user turns" in reasons[1]
    assert "hold no text" in reasons[2]
    assert "read before, as twice" in reasons[4]
    assert "id twice was taken" in reasons[5]
    assert "line 8" in reasons[7]
    assert found[-1].turns[0].text == "\ufffd x", "what cannot be written down is marked"


def test_a_log_without_any_conversation_is_an_error_that_names_the_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"log.jsonl, line 1 is no conversation \(it has a\)"):
        read(write_lines(tmp_path / "log.jsonl", [{"a": 1}]))
    (tmp_path / "empty.jsonl").write_text("", encoding="utf-8")
    with pytest.raises(UserError, match="empty"):
        read(tmp_path / "empty.jsonl")
    with pytest.raises(UserError, match=r"conversations.jsonl or conversations.json"):
        read(tmp_path)


def test_parts_within_parts_end_somewhere(tmp_path: Path) -> None:
    nested: Any = "deep"
    for _ in range(900):
        nested = [nested]
    row = {"id": "c", "messages": [{"role": "user", "content": ["hi", nested]}]}
    (found,) = read(write_lines(tmp_path / "log.jsonl", [row]))
    assert (found.turns[0].text, found.turns[0].note) == ("hi", "not text: 1 deeply nested part")


def test_an_array_that_was_cut_off_is_said(tmp_path: Path) -> None:
    whole = json.dumps([chat(f"c{number}", "ann", "hi " * 50) for number in range(5)])
    (tmp_path / "log.json").write_text(whole[:-40], encoding="utf-8")
    with pytest.raises(UserError, match="may have been cut off"):
        read(tmp_path / "log.json")


def test_languages_are_told_apart(tmp_path: Path) -> None:
    rows = [
        chat("en", "ann", "I would like to know how to get to the station."),
        chat("zh", "ann", "我想知道怎么去车站。"),
        chat("none", "ann", "42"),
    ]
    with ConversationCorpus(tmp_path / "spool") as corpus:
        corpus.fill(read_log(write_lines(tmp_path / "log.jsonl", rows)), redacting=True)
        assert [entry.language for entry in corpus.entries] == ["en", "zh", "und"]


def test_memory_does_not_grow_with_what_is_said(tmp_path: Path) -> None:
    def peak(turns: int) -> int:
        def rows() -> Iterator[StagedConversation]:
            path = tmp_path / f"{turns}.jsonl"
            with path.open("w", encoding="utf-8") as file:
                for number in range(40):
                    row = chat(
                        f"c{number}",
                        f"p{number % 7}",
                        *[f"Message {n} about tea and buses." for n in range(turns)],
                    )
                    file.write(json.dumps(row) + "\n")
            return read_log(path)

        log = rows()
        with ConversationCorpus(tmp_path / "spool") as corpus:
            tracemalloc.start()
            corpus.fill(log, redacting=False)
            _, most = tracemalloc.get_traced_memory()
            tracemalloc.stop()
        return most

    peak(1)  # models are loaded once
    few, many = peak(5), peak(50)
    assert many < 15 * few, (
        "one conversation is held at a time: ten times the turns of each, not four hundred"
    )
