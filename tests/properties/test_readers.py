"""Every reader, on files of all sorts: records, or a UserError of one sentence. Any other exception is a bug."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from personafit import Store, UserError
from personafit.benchmarks import (
    Benchmark,
    FolderBenchmark,
    ImportedPairs,
    PersonaFeedback,
    check_folder,
    ingest,
)
from personafit.benchmarks.lines import DEEPEST, read_lines, read_object
from personafit.benchmarks.rows import file_benchmark
from personafit.models import parse_spec
from personafit.models.replay import ReplayModel
from tests.properties.strategies import JSON, TEXTS, THOROUGH, lines, nearly, one_sentence

PERSON = nearly(id="p0", language="en", facets=st.dictionaries(TEXTS, TEXTS, max_size=2), memories=[])
PRODUCT = nearly(id="a", kind="answer", text=TEXTS)
ITEM = nearly(
    id=TEXTS, person="p0", prompt=TEXTS, products=["a", "b"], slices=st.dictionaries(TEXTS, TEXTS, max_size=1)
)
GOLD = nearly(item="i", rater="author", label="0", extra={"tier": "easy"})
ANSWER = nearly(
    id=TEXTS,
    person=st.one_of(nearly(id="p0", job=TEXTS)),
    question=TEXTS,
    answer=TEXTS,
    generic=TEXTS,
    wrong=TEXTS,
)
PERSONAFEEDBACK = nearly(user_id=1, question=TEXTS, chosen=TEXTS, reject=TEXTS)
REPLAY = nearly(key="k", reply=TEXTS, reasoning=TEXTS, tokens_in=1, letter_scores={"A": -1.0})


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def _read(open_it: Callable[[], Benchmark]) -> Benchmark | None:
    """The benchmark read to its end, or None when it was refused in one sentence."""
    try:
        benchmark = open_it()
        for stream in (benchmark.people(), benchmark.products(), benchmark.items(), benchmark.gold()):
            list(stream)
        benchmark.notes()
    except UserError as error:
        one_sentence(error)
        return None
    return benchmark


def _store(benchmark: Benchmark | None) -> None:
    """What was read can be stored, and comes back."""
    if benchmark is None:
        return
    store = _one_store()
    dataset = ingest(store, benchmark)
    assert {person.id for person in benchmark.people()} == set(store.people(dataset))
    assert len(list(store.items(dataset))) == len(list(benchmark.items()))
    assert {item.person for item in store.items(dataset)} <= set(store.people(dataset))


_FOLDER = tempfile.TemporaryDirectory()  # gone when the tests end


@cache
def _one_store() -> Store:
    """One store for all examples: making one takes longer than all the rest."""
    return Store(Path(_FOLDER.name) / "s.db")


@THOROUGH
@given(lines(JSON))
@example('{"a": 1}'.encode("utf-16"))
@example('{"a": 1}'.encode("utf-16-le"))
@example(b'\xef\xbb\xbf{"a": 1}\n')
@example(b'{"a": "\\ud83d"}\n')
@example(b'{"a": "\xed\xa0\xbd"}\n')
@example('{"ä": 1}'.encode("latin-1"))
@example(b'{"a": "\\u0000"}\n')
@example(b"\x00\x00\n")
@example(b'{"a": 1e999, "b": 123456789012345678901234567890}\n')
def test_lines(data: bytes) -> None:
    with _folder() as folder:
        (folder / "x").write_bytes(data)
        try:
            rows = list(read_lines(folder / "x"))
        except UserError as error:
            one_sentence(error, f"{folder / 'x'}, line ")
            return
    assert all(isinstance(row, dict) and "\x00" not in orjson.dumps(row).decode() for _, row in rows)


@THOROUGH
@given(lines(PERSON), lines(PRODUCT), lines(ITEM), lines(GOLD), st.binary(max_size=40))
@example(b"", b"", b"", b"", b"x = " + b"[" * 3000)
@example(b"", b"", b"", b"", b"metrics = {a = 99999999999999999999999999, b = 1979-05-27}")
def test_folders(people: bytes, products: bytes, items: bytes, gold: bytes, toml: bytes) -> None:
    with _folder() as folder:
        for name, data in (("people", people), ("products", products), ("items", items), ("gold", gold)):
            (folder / f"{name}.jsonl").write_bytes(data)
        for head in (toml, b'name = "w"\nversion = "1"\n'):
            (folder / "benchmark.toml").write_bytes(head)
            for problem in check_folder(folder):
                one_sentence(UserError(problem))
            _store(_read(lambda: FolderBenchmark(folder)))


@THOROUGH
@given(lines(ANSWER))
@example(b'{"person": {"id": "a", "x": ' + b"[" * 900 + b"]" * 900 + b'}, "question": "q", "answer": "a"}')
def test_answer_logs(data: bytes) -> None:
    with _folder() as folder:
        (folder / "log.jsonl").write_bytes(data)

        _store(_read(lambda: file_benchmark(folder / "log.jsonl")))


@THOROUGH
@given(lines(PERSONAFEEDBACK), lines(st.dictionaries(TEXTS, JSON, max_size=3)))
@example(b"", b'{"a": ' * 990 + b"1" + b"}" * 990)
def test_personafeedback(pairs: bytes, personas: bytes) -> None:
    with _folder() as folder:
        (folder / "data" / "general").mkdir(parents=True)
        (folder / "persona").mkdir()
        (folder / "data" / "general" / "easy.jsonl").write_bytes(pairs)
        (folder / "persona" / "all_personas.jsonl").write_bytes(personas)
        _store(_read(lambda: PersonaFeedback(folder)))


CELLS = st.one_of(TEXTS, st.text(alphabet=',"\n\r\x00 a', max_size=6))


@THOROUGH
@given(
    st.lists(st.lists(CELLS, min_size=1, max_size=6), max_size=3),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "latin-1"]),
)
@example([["q\x00", "a", "b", "p", "x"]], "utf-8")
def test_pairs(rows: list[list[str]], encoding: str) -> None:
    head = "question,chosen,rejected,person,person.Job,tier"
    text = "\n".join([head, *(",".join(row) for row in rows)])
    with _folder() as folder:
        (folder / "pairs.csv").write_bytes(text.encode(encoding, "replace"))
        _store(_read(lambda: ImportedPairs(folder / "pairs.csv")))
        (folder / "raw.csv").write_bytes(text.encode("utf-16", "replace")[:-1])
        _store(_read(lambda: ImportedPairs(folder / "raw.csv")))


@THOROUGH
@given(lines(REPLAY))
def test_recordings(data: bytes) -> None:
    with _folder() as folder:
        (folder / "r.jsonl").write_bytes(data)
        try:
            ReplayModel(parse_spec(f"replay:{folder / 'r.jsonl'}"))
        except UserError as error:
            one_sentence(error)


@pytest.mark.parametrize("bracket", [(b'{"a":', b"}"), (b'{"a":[', b"]}")])
def test_nesting_without_end_is_refused(tmp_path: Path, bracket: tuple[bytes, bytes]) -> None:
    for depth, refused in ((DEEPEST // 2 - 1, False), (1000, True), (100_000, True)):
        (tmp_path / "x").write_bytes(bracket[0] * depth + b"1" + bracket[1] * depth)
        for read in (read_object, lambda path: list(read_lines(path))):
            try:
                read(tmp_path / "x")
            except UserError as error:
                one_sentence(error)
                assert refused
            else:
                assert not refused


@pytest.mark.parametrize("value", [{"person": "ann", "question": "Why?"}, [{"person": "ann"}]])
def test_json_over_several_lines_is_one_sentence(tmp_path: Path, value: object) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(orjson.dumps(value, option=orjson.OPT_INDENT_2))
    faults: list[str] = []
    assert list(read_lines(path, faults.append)) == []
    assert faults == [f"{path}, line 1 begins JSON over several lines; write one object to a line."]
