"""Memories chosen or written, features inferred from a sample of them."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from personafit import UserError
from personafit.build import Unfit
from personafit.build.memories import MemoryCorpus, list_reader, numbers_reader
from personafit.models.embeddings import Vectors, unit_rows
from tests.build.builds import lines, run_build, write_build

PEOPLE = "[people]\nquota = 4\ntraining = 2\nfields = []\nsimilarity = 1.0\n"
TEXTS = (
    "The new tram line is a joke",
    "Sourdough, day five",
    "Which back exercises help?",
    "My team lost again",
    "好想去露营",
)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "posts.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS), encoding="utf-8")
    return path


def test_memories_are_chosen_from_a_corpus(tmp_path: Path, corpus: Path) -> None:
    section = '[memories]\nper_person = 3\nnoise = 0\ncorpora = ["posts.jsonl"]\nsampled = 2\nfeatures = 2\n'
    config, out = write_build(tmp_path, PEOPLE + section, 'languages = ["en"]'), tmp_path / "out"
    run_build(config, out)
    people = lines(out / "people.jsonl")
    training = lines(out / "steps/features/training_people.jsonl")
    assert (len(people), len(training)) == (4, 2)
    for person in [*people, *training]:
        assert len({memory["text"] for memory in person["memories"]} & set(TEXTS)) == 3
        assert all(memory["source"].startswith("posts.jsonl#") for memory in person["memories"])
        known = {memory["id"] for memory in person["memories"]}
        assert [set(one["evidence"]) <= known for one in person["attributes"]] == [True, True]
    sampled = {row["person"]: row["sampled"] for row in lines(out / "steps/features/lineage.jsonl")}
    assert len(sampled) == 6
    assert all(len(ids) == 2 for ids in sampled.values())
    with corpus.open("a", encoding="utf-8") as file:  # another corpus is another build of what comes from it
        file.write(json.dumps({"text": "Selling a piano"}) + "\n")
    assert run_build(config, out).done == ["memories", "features"]


def test_a_reply_that_is_no_choice_leaves_it_to_the_nearest(tmp_path: Path, corpus: Path) -> None:
    section = '[memories]\nper_person = 2\ncorpora = ["posts.jsonl"]\nsampled = 1\nfeatures = 1\n'
    config, out = write_build(tmp_path, PEOPLE + section, 'languages = ["en"]'), tmp_path / "out"
    (tmp_path / "strong_writer.py").write_text("def answer(messages):\n    return 'A'\n", encoding="utf-8")
    run_build(config, out)
    memories = [
        line for line in (out / "card.md").read_text("utf-8").splitlines() if line.startswith("| memory |")
    ]
    assert [line.split(" | ")[1] for line in memories] == ["template:memories-1"]
    assert all(len(person["memories"]) == 2 for person in lines(out / "people.jsonl"))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [("", "is more than the 0 different entries"), ('{"txt": "a"}', "field 'text' is missing")],
)
def test_a_corpus_of_nothing_is_a_sentence(tmp_path: Path, corpus: Path, content: str, sentence: str) -> None:
    corpus.write_text(content, encoding="utf-8")
    section = '[memories]\nper_person = 2\ncorpora = ["posts.jsonl"]\nsampled = 1\nfeatures = 1\n'
    with pytest.raises(UserError, match=sentence):
        run_build(write_build(tmp_path, PEOPLE + section, 'languages = ["en"]'), tmp_path / "out")
    assert not (tmp_path / "out").exists(), "said before anything is asked"


def test_a_corpus_with_fewer_entries_than_are_asked_for_is_a_sentence(tmp_path: Path, corpus: Path) -> None:
    config = write_build(tmp_path, PEOPLE + '[memories]\nper_person = 6\ncorpora = ["posts.jsonl"]\n')
    with pytest.raises(
        UserError, match=r"per_person = 6 is more than the 5 different entries .* in posts.jsonl"
    ):
        run_build(config, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_of_a_large_corpus_the_same_sample_is_taken_whatever_the_order(tmp_path: Path) -> None:
    texts = [f"Entry number {number} of many" for number in range(500)]
    for name, order in (("a.jsonl", texts), ("b.jsonl", [*texts[::-1], *texts])):
        (tmp_path / name).write_text("".join(json.dumps({"text": one}) + "\n" for one in order))
    one, other = (
        [entry.text for entry in MemoryCorpus([tmp_path / name], 20, 3, ByLength()).entries]
        for name in ("a.jsonl", "b.jsonl")
    )
    assert one == other
    assert len(set(one)) == 20
    assert max(int(text.split()[2]) for text in one) > 250, "from all over the file"


class ByLength:
    """Texts are alike as far as they are equally long."""

    fingerprint = "length"

    def embed(self, texts: Sequence[str]) -> Vectors:
        return unit_rows(np.array([[len(text), 1] for text in texts], dtype=np.float32))


def test_lists_are_read_strictly() -> None:
    assert numbers_reader(3, 9)(" 1, 5，9 ") == "1,5,9"
    for bad in ("1, 5", "1, 5, 5", "1, 5, 10", "I choose 1, 5, 9", ""):
        with pytest.raises(Unfit):
            numbers_reader(3, 9)(bad)
    read = list_reader("en", 2, 4)
    assert read("1. Likes quiet evenings at home [1, 3]\n2) Saves money for travel abroad [2].").endswith(
        "[2]"
    )
    for bad in (
        "1. Likes quiet evenings at home",
        "1. Likes quiet evenings at home [1]\n2. Likes tea very much too [7]",
    ):
        with pytest.raises(Unfit):
            read(bad)
