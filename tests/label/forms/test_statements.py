"""Statements beside conversations: what they point to, and that what is false does not give itself away."""

from pathlib import Path

from personafit.benchmarks import FolderBenchmark
from personafit.benchmarks.starter import FOLDER
from personafit.extract.records import (
    ExtractedAttribute,
    StagedConversation,
    StagedTurn,
    StageFile,
    write_lines,
)
from personafit.label.sources import of_benchmark, of_stages
from personafit.people import Attribute


def test_the_starter_set_has_true_and_false_statements_that_all_point_somewhere() -> None:
    found = list(of_benchmark(FolderBenchmark(FOLDER, None).conversations(), FOLDER.parent / "traps.jsonl"))
    assert len(found) == 34
    labels = {one.label for _, statements in found for one in statements}
    assert labels == {"accepted", "rejected"}
    for conversation, statements in found:
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
    ((conversation, statements),) = of_stages(tmp_path)
    assert [turn.role for turn in conversation.turns] == ["user", "system"]
    assert [(one.id, one.text, one.evidence, one.label) for one in statements] == [
        ("a1", "Keeps bees.", [0], None)
    ]


def test_a_statement_without_evidence_points_to_the_turn_most_like_it() -> None:
    conversation = next(iter(FolderBenchmark(FOLDER, None).conversations()))
    text = conversation.turns[4].text
    alone = conversation.model_copy(update={"attributes": [Attribute(id="x", text=text)]})
    ((_, (one,)),) = of_benchmark([alone], None)
    assert one.evidence == [4]
