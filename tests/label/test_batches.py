"""Answers that are written together: which are new, which page is done, and what is refused."""

from personafit.label.answers import (
    GONE,
    PAUSED,
    UNDONE,
    Answer,
    AnswerBatch,
    AnswerReceipt,
    NotStored,
    Standing,
    StoredAsk,
)
from personafit.label.forms import LabelValue
from personafit.label.records import Field

FIT, HELPFUL = (Field(code=name, question=name, item="i") for name in ("fit", "helpful"))
FLAG = Field(code="flag", question="flag", item="i")
OPEN = {("s", 0, 0): Standing("p", "active", "open")}


def answer(
    field: Field, id: str, why: str | None = None, required: tuple[Field, ...] = (FIT, HELPFUL)
) -> Answer:
    detail = {"why": why} if why else {}
    answered = None if why else LabelValue("1", 1.0)
    return Answer(
        "s", 0, "r", "p", field, answered, detail, "profile", "", "self", 1.0, id, 0, required, FLAG
    )  # fmt: skip


def settled(*answers: Answer, held: list[StoredAsk] | None = None) -> AnswerBatch:
    batch = AnswerBatch(answers)
    batch.settle(OPEN, held or [], now=5.0)
    return batch


def held_as(sent: Answer, generation: int = 0, undone: bool = False) -> StoredAsk:
    (row,) = settled(sent).added
    detail = {"why": UNDONE} if undone else {}
    return StoredAsk(row.ask.job, row.ask.id, generation, row.judgments[0].label, detail)


def test_a_page_is_done_when_every_required_field_stands() -> None:
    first, second = answer(FIT, "one"), answer(HELPFUL, "two")
    assert settled(first).results == [AnswerReceipt("one", 0, False)]
    assert settled(second, held=[held_as(first)]).results == [AnswerReceipt("two", 0, True)]
    assert settled(first, second).results == [AnswerReceipt("one", 0, True), AnswerReceipt("two", 0, True)]
    assert settled(second, held=[held_as(first, undone=True)]).results == [AnswerReceipt("two", 0, False)]
    assert settled(answer(FLAG, "flag")).results == [AnswerReceipt("flag", 0, True)]


def test_what_was_undone_last_stands_no_more() -> None:
    first, second = answer(FIT, "one"), answer(HELPFUL, "two")
    batch = settled(answer(FIT, "three", UNDONE), held=[held_as(first), held_as(second)])
    assert batch.results == [AnswerReceipt("three", 1, False)]
    assert batch.pages == {("s", 0, 0): False}


def test_one_sent_twice_is_one_and_corrections_count_on() -> None:
    first, later = answer(FIT, "one"), answer(FIT, "two")
    batch = settled(first, later, first, held=[held_as(first, generation=3)])
    assert [result.generation for result in batch.results if isinstance(result, AnswerReceipt)] == [3, 4, 3]
    assert [row.ask.generation for row in batch.added] == [4]


def test_an_answer_that_arrives_again_after_it_was_undone_changes_nothing() -> None:
    late, undone = answer(FIT, "one", required=(FIT,)), answer(FIT, "two", UNDONE, required=(FIT,))
    batch = settled(late, held=[held_as(late), held_as(undone, generation=1, undone=True)])
    assert batch.results == [AnswerReceipt("one", 0, False)]
    assert (batch.added, batch.pages) == ([], {})


def test_an_answer_is_refused_where_its_page_is_not() -> None:
    for standing, sentence, code in (
        ({}, GONE, 404),
        ({("s", 0, 0): Standing("another", "active", "open")}, GONE, 404),
        ({("s", 0, 0): Standing("p", "active", "paused")}, PAUSED, 403),
    ):
        batch = AnswerBatch([answer(FIT, "one")])
        batch.settle(standing, [], now=5.0)
        (refused,) = batch.results
        assert isinstance(refused, NotStored)
        assert (refused.sentence, refused.code) == (sentence, code)
        assert (batch.added, batch.pages) == ([], {})
