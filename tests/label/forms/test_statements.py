"""Statements beside conversations: what they point to, and that what is false does not give itself away."""

import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from personafit import Status, Store
from personafit.api.places import find_run
from personafit.benchmarks import FolderBenchmark
from personafit.benchmarks.starter import FOLDER
from personafit.extract.records import (
    ExtractedAttribute,
    StagedConversation,
    StagedTurn,
    StageFile,
    write_lines,
)
from personafit.label import StudyConfig, make_study
from personafit.label.sources import of_benchmark, of_stages
from personafit.label.web.app import create_app
from personafit.people import Attribute
from tests.label.researcher.researcher import hidden
from tests.label.served import invitation, starter_store


def test_the_starter_set_has_true_and_false_statements_that_all_point_somewhere() -> None:
    found = list(of_benchmark(FolderBenchmark(FOLDER, None).conversations(), FOLDER.parent / "traps.jsonl"))
    assert len(found) == 34
    labels = {one.label for each in found for one in each.statements}
    assert labels == {"accepted", "rejected"}
    for conversation, statements, others, _ in found:
        assert not others
        assert len({one.id for one in statements}) == len(statements)
        for one in statements:
            assert one.evidence
            assert all(0 <= turn < len(conversation.turns) for turn in one.evidence)


def test_what_an_extractor_found_is_asked_as_it_stood_before_refinement(tmp_path: Path) -> None:
    files = StageFile(tmp_path)
    turns = [StagedTurn(role="user", text="I keep bees."), StagedTurn(role="tool", text="", note="[image]")]
    write_lines(files.conversations, [StagedConversation(id="c1", person="p", turns=turns)])
    write_lines(
        files.attributes,
        [
            ExtractedAttribute(id="a1", person="p", text="Keeps bees well.", original="Keeps bees.", status="rewritten",
                      confidence=1, conversation="c1", evidence=["c1#0", "c9#4"]),
            ExtractedAttribute(id="a2", person="p", text="Likes bees.", status="merged", into="a1", confidence=1, conversation="c1"),
        ],
    )  # fmt: skip
    ((conversation, statements, _, _),) = of_stages(tmp_path)
    assert [turn.role for turn in conversation.turns] == ["user", "system"]
    assert [(one.id, one.text, one.evidence, one.label) for one in statements] == [
        ("a1", "Keeps bees.", [0], None)
    ]


def test_a_statement_without_evidence_points_to_the_turn_most_like_it() -> None:
    conversation = next(iter(FolderBenchmark(FOLDER, None).conversations()))
    text = conversation.turns[4].text
    alone = conversation.model_copy(update={"attributes": [Attribute(id="x", text=text)]})
    ((_, (one,), _, _),) = of_benchmark([alone], None)
    assert one.evidence == [4]


def _extracted(folder: Path) -> None:
    """Three conversations of one person, one of another and one that was left out; a statement that rests on three of them."""
    files = StageFile(folder)
    said = {"c1": "I keep bees.", "c2": "My bees swarm.", "c3": "Honey from my bees.", "d1": "I fish."}
    logs = [
        StagedConversation(
            id=name, person="q" if name == "d1" else "p",
            turns=[StagedTurn(role="user", text=text), StagedTurn(role="assistant", text="I see.")],
        )
        for name, text in said.items()
    ]  # fmt: skip
    skipped = StagedConversation(id="c4", person="p", turns=logs[0].turns, status=Status.SKIPPED)
    write_lines(files.conversations, [*logs, skipped])
    rests_on = ["c1#0", "c2#0", "c3#0", "d1#0"]
    write_lines(
        files.attributes,
        [
            ExtractedAttribute(
                id="a1",
                person="p",
                text="Keeps bees.",
                confidence=1,
                conversation="c2",
                evidence=rests_on,
                why="They speak of <b>their</b> bees.",
            )
        ],
    )


def test_evidence_of_every_conversation_of_the_person_is_shown(tmp_path: Path) -> None:
    _extracted(tmp_path)
    ((conversation, (statement,), others, left_out),) = of_stages(tmp_path)
    assert (conversation.id, [one.id for one in others], left_out) == ("c2", ["c1", "c3"], 0)
    turns = [turn.text for one in (conversation, *others) for turn in one.turns]
    assert [turns[place] for place in statement.evidence] == [
        "My bees swarm.",
        "I keep bees.",
        "Honey from my bees.",
    ]


def test_a_long_history_is_cut_but_for_what_statements_rest_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _extracted(tmp_path)
    monkeypatch.setattr("personafit.label.sources.MOST_HISTORY", 0)
    files = StageFile(tmp_path)
    (attribute,) = files.read_attributes()
    write_lines(files.attributes, [attribute.model_copy(update={"evidence": ["c3#0"]})])
    ((_, (statement,), others, left_out),) = of_stages(tmp_path)
    assert ([one.id for one in others], left_out, statement.evidence) == (["c3"], 1, [2])


def test_the_page_has_every_passage_and_the_other_conversations_folded(tmp_path: Path) -> None:
    _extracted(tmp_path)
    store = starter_store(tmp_path / "store.db")
    with Store(store) as opened:
        config = StudyConfig(overlap=1, seats=1)
        make_study(opened, "pilot", str(tmp_path), "attributes", config, find_run)
    with TestClient(create_app(store), headers={"accept": "text/html"}) as client:
        link = invitation(store)
        client.post(link, data=hidden(client.get(link).text) | {"agree": "yes"})
        page = client.get("/rate/0").text
    assert 'data-evidence="0 2 4"' in page
    assert "They speak of &lt;b&gt;their&lt;/b&gt; bees." in page
    assert re.findall(r'href="#turn-(\d+)"', page) == ["0", "2", "4"]
    folded = re.findall(r'<details class="other">.*?</details>', page, re.DOTALL)
    assert [re.findall(r'id="turn-(\d+)"', one) for one in folded] == [["2", "3"], ["4", "5"]]
    assert "I keep bees." in folded[0]
    assert "Honey from my bees." in folded[1]
