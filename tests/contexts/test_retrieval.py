"""Finding memories: terms, rankings, indexes that are kept and go out of date, recall and precision."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pytest

from personafit import Store, UserError
from personafit.contexts import retrieval
from personafit.contexts.memories import memories_of, oldest_first
from personafit.contexts.retrieval import (
    Bm25Index,
    Retrieval,
    Retriever,
    best,
    chance_recall,
    embed,
    fused,
    precision_at,
    recall_at,
    terms,
)
from personafit.models.embeddings import Embedder, Vectors
from personafit.people import Memory, Person

COFFEE = Memory(id="m1", text="Cannot sleep after drinking coffee late.", time="2025-02-01")
TRAIN = Memory(id="m2", text="Took the night train to Vienna.", time="2025-01-01")
SPICY = Memory(id="m3", text="同事聚餐点了红锅，她全程只喝白水。", time="2025-03-01")
MEMORIES = [COFFEE, TRAIN, SPICY]


def test_words_lose_their_endings_and_chinese_becomes_pairs() -> None:
    assert terms("The trains were sleeping, 喝白水!") == ["train", "sleep", "喝白", "白水"]
    assert terms("水") == ["水"]
    assert terms("ＡＢＣ") == terms("abc")
    assert terms("of the and !?") == []


def test_the_best_scores_come_first_and_ties_by_place() -> None:
    scores = np.array([0.5, 2.0, 0.5, 1.0, 0.5])
    assert best(scores, 3) == [1, 3, 0]
    assert best(scores, 9) == [1, 3, 0, 2, 4]


def test_two_rankings_become_one_by_reciprocal_rank() -> None:
    # 4 is second in both (2/62); 7 and 1 are first in one only (1/61): being in both wins.
    assert fused([[7, 4], [1, 4]]) == [4, 1, 7]
    assert fused([[], [3, 2]]) == [3, 2]


@pytest.mark.parametrize(
    ("query", "first"), [("I sleep badly", "m1"), ("a journey by train", "m2"), ("聚餐吃什么", "m3")]
)
def test_bm25_finds_by_words_and_by_character_pairs(query: str, first: str) -> None:
    found = Retriever("bm25").find("ann", MEMORIES, query, 2)
    assert [memory.id for memory in found] == [first]


def test_bm25_finds_nothing_where_no_word_is_shared() -> None:
    assert Retriever("bm25").find("ann", MEMORIES, "quantum chess", 3) == []
    assert Bm25Index(["!!!", "..."]).search("anything", 3) == []
    assert Retriever("bm25").find("ann", [], "sleep", 3) == []


@pytest.mark.parametrize("by", ["dense", "hybrid"])
def test_vectors_find_what_shares_no_word_and_no_language(by: str) -> None:
    found = Retriever(by).find("ann", MEMORIES, "晚上睡不着怎么办？", 1)
    assert [memory.id for memory in found] == ["m1"]


def test_a_large_index_is_kept_beside_the_store_and_forgotten_with_the_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retrieval, "KEPT_FROM", 2)
    with Store(tmp_path / "store.db") as store:
        folder = store.index_folder
        assert folder is not None

        def kept() -> set[str]:
            return {path.name for path in folder.glob("*/*")}

        first = Retriever("hybrid", folder=folder).find("ann", MEMORIES, "sleep", 3)
        before = kept()
        (path,) = folder.glob("*/*")
        (path.parent / "hybrid-of-an-earlier-version").mkdir()
        assert len(before) == 1

        embedded: list[int] = []

        def counted(embedder: Embedder, texts: Sequence[str]) -> Vectors:
            embedded.append(len(texts))
            return embed(embedder, texts)

        with monkeypatch.context() as patched:
            patched.setattr(retrieval, "embed", counted)
            assert Retriever("hybrid", folder=folder).find("ann", MEMORIES, "sleep", 3) == first
        assert embedded == [1], "what is kept is read: only the question was embedded"
        changed = [*MEMORIES[:2], SPICY.model_copy(update={"text": "Now loves the hot pot."})]
        Retriever("hybrid", folder=folder).find("ann", changed, "sleep", 3)
        assert len(kept()) == 1
        assert kept() != before
        store.forget("ann")
        assert kept() == set()


def test_a_damaged_index_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrieval, "KEPT_FROM", 2)
    expected = Retriever("dense", folder=tmp_path).find("ann", MEMORIES, "sleep", 1)
    (vectors,) = tmp_path.glob("*/*.npy")
    vectors.write_bytes(b"not an array")
    assert Retriever("dense", folder=tmp_path).find("ann", MEMORIES, "sleep", 1) == expected


def test_too_many_memories_to_embed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrieval, "MOST_EMBEDDED", 2)
    with pytest.raises(UserError, match=r"'ann' has 3 memories, more than the 2 .* by=bm25"):
        Retriever("dense").find("ann", MEMORIES, "sleep", 1)


def test_a_huge_memory_is_embedded_by_its_beginning() -> None:
    huge = Memory(id="m9", text="Paints boats in the harbour. " * 4_000)
    found = Retriever("dense").find("ann", [*MEMORIES, huge], "painting boats", 1)
    assert [memory.id for memory in found] == ["m9"]


class SlowToIterate(dict[str, Any]):
    """A dictionary that gives other threads time between finding its first key and deleting it."""

    def __iter__(self) -> Iterator[str]:
        keys = list(self.keys())
        sleep(0.05)
        return iter(keys)


def test_raters_planned_in_several_threads_share_a_retriever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrieval, "HELD", 1)
    retriever = Retriever("bm25")
    monkeypatch.setattr(retriever, "_held", SlowToIterate())

    def found(place: int) -> str:
        memories = [Memory(id=f"m{place}", text=f"tea {place}")]
        return retriever.find(f"p{place}", memories, "tea", 1)[0].id

    assert found(0) == "m0"
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(found, range(1, 9))) == [f"m{place}" for place in range(1, 9)]


def test_an_unknown_way_is_one_sentence() -> None:
    with pytest.raises(UserError, match=r"by=magic: memories are found by bm25, dense, hybrid\."):
        Retriever("magic")


def test_recall_and_precision_by_hand() -> None:
    rows = [
        Retrieval("ann", "q1", ["a", "b", "c"], frozenset({"a", "c"})),
        Retrieval("ben", "q2", ["x"], frozenset({"y"})),
        Retrieval("ben", "q3", ["x", "z"], frozenset()),
        Retrieval("cat", "q4", [], frozenset({"k"})),
    ]
    # At 2: ann found 1 of 2, ben 0 of 1, cat 0 of 1; q3 has nothing to find. Of what was found: 1/2, 0/1, 0/2.
    assert recall_at(rows, 2).value == pytest.approx(0.5 / 3)
    assert recall_at(rows, 2).n == 3
    assert precision_at(rows, 2).value == pytest.approx(0.5 / 3)
    assert precision_at(rows, 3).value == pytest.approx((2 / 3) / 3)
    assert chance_recall(rows, 2, {"ann": 4, "ben": 2, "cat": 1}) == pytest.approx((0.5 + 1 + 1) / 3)
    assert recall_at([], 2).value is None


def test_summaries_become_one_memory_for_each_sentence_or_bullet() -> None:
    person = Person(
        id="ann",
        language="en",
        summaries={"Books": "Likes crime. Reads at night!", "Food": "- no nuts\n- tea"},
    )
    assert [(memory.id, memory.text) for memory in memories_of(person)] == [
        ("Books#1", "Likes crime."),
        ("Books#2", "Reads at night!"),
        ("Food#1", "no nuts"),
        ("Food#2", "tea"),
    ]
    assert [
        m.text for m in memories_of(Person(id="b", language="zh", summaries={"书": "爱看书。睡前看！"}))
    ] == [
        "爱看书。",
        "睡前看！",
    ]


def test_unusable_memories_are_one_sentence() -> None:
    twice = Person(id="ann", language="en", memories=[COFFEE, COFFEE])
    with pytest.raises(UserError, match="'ann' has two memories with the id 'm1'"):
        memories_of(twice)
    blank = Person(id="ann", language="en", memories=[Memory(id="m9", text="  ")])
    with pytest.raises(UserError, match="Memory 'm9' of person 'ann' is blank"):
        memories_of(blank)


def test_oldest_first_puts_the_undated_in_front() -> None:
    undated = Memory(id="m0", text="Undated.")
    assert [memory.id for memory in oldest_first([COFFEE, undated, TRAIN])] == ["m0", "m2", "m1"]
