"""Names that data gives stay names: nothing is written outside the folder that is meant, whatever a folder or a store says."""

from pathlib import Path

import pytest
from sqlalchemy import update

from personafit import Store, UserError
from personafit.api.places import out_folder
from personafit.benchmarks import FolderBenchmark, ImportedPairs, check_folder, write_folder
from personafit.benchmarks.publishing import push_folder
from personafit.build import read_config
from personafit.store import tables
from tests.attack.world import hostile_folder
from tests.conftest import Command
from tests.scripted import invoke, simple_pairs, write_pairs

ESCAPED = "escaped"


@pytest.mark.parametrize("command", [("audit",), ("run",), ("data", "check")], ids=" ".join)
@pytest.mark.parametrize("absolute", [False, True], ids=["above", "absolute"])
def test_a_benchmark_does_not_choose_where_its_files_go(
    command: tuple[str, ...],
    absolute: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    name = str(tmp_path / ESCAPED) if absolute else f"../../../{ESCAPED}"
    hostile_folder(work / "theirs", {"name": name})
    invoke(monkeypatch, work, *command, "theirs", code=2)
    assert [path.name for path in tmp_path.iterdir()] == ["work"]
    assert {path.name for path in work.iterdir()} <= {"theirs", ".personafit"}
    (sentence,) = capsys.readouterr().err.strip().splitlines()
    assert f"theirs/benchmark.toml, field 'name': '{name[:80]}' cannot name a benchmark" in sentence


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", ".hidden", "-x", "a/b", "a\\b", "a b", "a\nb", "a\x7f", "x" * 81, "mine/", "~", "C:"],
)
def test_names_of_benchmarks_are_names_of_studies(name: str, tmp_path: Path) -> None:
    folder = hostile_folder(tmp_path / "theirs", {"name": name})
    for read in (check_folder, FolderBenchmark):
        with pytest.raises(
            UserError, match=r"benchmark.toml, field 'name'.*cannot name a benchmark"
        ) as caught:
            read(folder)
        assert caught.value.code == 2


def test_a_store_does_not_choose_where_a_report_goes(tmp_path: Path, personafit: Command) -> None:
    personafit("run", "starter", "--limit", "30")
    outside = tmp_path.parent / f"{tmp_path.name}-{ESCAPED}"
    with Store(tmp_path / ".personafit" / "store.db") as store, store.engine.begin() as connection:
        connection.execute(update(tables.runs).values(name=f"../../../{outside.name}"))
    said = personafit("report", "last", code=2)
    assert not outside.exists()
    assert "names a place outside .personafit/runs; say with --out where to write" in said.err
    personafit("report", "last", "--out", "here")


def test_a_link_does_not_lead_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    runs = tmp_path / ".personafit" / "runs"
    runs.mkdir(parents=True)
    (runs / "mine").symlink_to(tmp_path / "elsewhere")
    (runs / "circle").symlink_to(runs / "circle")
    for name in ("mine", "circle", "..", ".", "a/b", "/a", "nul\x00", ""):
        with pytest.raises(UserError, match="names a place outside"):
            out_folder(None, name)
    assert out_folder(None, "starter-1a2b3c4d") == Path(".personafit/runs/starter-1a2b3c4d")


def test_what_is_made_here_has_such_names(tmp_path: Path) -> None:
    odd = ImportedPairs(write_pairs(tmp_path / "..my pairs (2).csv", simple_pairs(3)))
    write_folder(tmp_path / "folder", odd)
    assert FolderBenchmark(tmp_path / "folder").info.name == "my-pairs-2-"
    odd.info.name = "x" * 81
    with pytest.raises(UserError, match="cannot name a benchmark"):
        write_folder(tmp_path / "other", odd)
    assert not (tmp_path / "other").exists()
    for name in ("x" * 81, "../x"):
        (tmp_path / "build.toml").write_text(f'[build]\nname = "{name}"\n', encoding="utf-8")
        with pytest.raises(UserError, match="cannot name a benchmark"):
            read_config(tmp_path / "build.toml")


def test_a_link_in_a_folder_is_not_published(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("the user's own", encoding="utf-8")
    folder = hostile_folder(tmp_path / "theirs", {})
    (folder / "card.md").unlink(missing_ok=True)
    (folder / "card.md").symlink_to(tmp_path / "secret.md")
    with pytest.raises(UserError, match=r"card.md is a link to a file outside the folder"):
        push_folder(folder, "me/mine", True, "Apache-2.0", True)
