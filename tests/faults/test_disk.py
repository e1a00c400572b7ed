"""Disks that are full or write-protected: one sentence, nothing lost, and the same command goes on once there is room."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.faults.disks import remount, small_disk
from tests.faults.world import Answer, answers, command, personafit, quiet, sentences, write_benchmark

ITEMS = 300
LINE = ("run", "village", "--rater", "rule:length", "--out", "out", "--json")
KEPT = "what was judged before is kept and the same command goes on from there."


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, list[Answer]]:
    """The command in a folder of its own: its store, what it printed and what it judged."""
    folder = tmp_path_factory.mktemp("calm")
    write_benchmark(folder / "village", ITEMS, 20)
    done = personafit(*LINE, "--store", "calm.db", cwd=folder)
    assert (done.returncode, sentences(done.stderr)) == (0, [])
    return folder / "calm.db", done.stdout, answers(folder / "calm.db")


@pytest.fixture
def undisturbed(calm: tuple[Path, str, list[Answer]], tmp_path: Path) -> tuple[str, list[Answer]]:
    """What the command prints and judges, and the same benchmark here."""
    write_benchmark(tmp_path / "village", ITEMS, 20)
    return calm[1:]


@pytest.mark.slow
def test_a_full_disk_under_the_store(
    tmp_path: Path, calm: tuple[Path, str, list[Answer]], undisturbed: tuple[str, list[Answer]]
) -> None:
    needed = calm[0].stat().st_size
    with small_disk(tmp_path / "disk", str(needed // 2)) as disk:
        store = disk / "store.db"
        full = personafit(*LINE, "--store", str(store), cwd=tmp_path)
        (said,) = sentences(full.stderr)
        assert full.returncode == 1, said
        assert said.startswith("The store could not be read or written (")
        assert "disk is full" in said or "disk I/O error" in said
        assert said.endswith(KEPT)
        again = personafit(*LINE, "--store", str(store), cwd=tmp_path)
        assert again.returncode in (1, 2), "still full"
        assert len(sentences(again.stderr)) == 1
        remount(disk, f"size={needed * 8}")
        assert set(answers(store)) <= set(undisturbed[1])
        done = personafit(*LINE, "--store", str(store), cwd=tmp_path)
        assert (done.returncode, sentences(done.stderr)) == (0, [])
        assert (done.stdout, answers(store)) == undisturbed


def test_a_full_disk_under_the_report(tmp_path: Path, undisturbed: tuple[str, list[Answer]]) -> None:
    with small_disk(tmp_path / "out", "8k") as out:
        full = personafit(*LINE, "--store", "store.db", cwd=tmp_path)
        (said,) = sentences(full.stderr)
        assert (full.returncode, full.stdout) == (2, "")
        assert said == "out cannot be written (No space left on device); choose another with --out."
        assert answers(tmp_path / "store.db") == undisturbed[1], "what was judged is kept"
        remount(out, "size=16m")
        done = personafit(*LINE, "--store", "store.db", cwd=tmp_path)
        assert (done.returncode, done.stdout, sentences(done.stderr)) == (0, undisturbed[0], [])


@pytest.mark.slow
def test_a_write_protected_disk(tmp_path: Path, undisturbed: tuple[str, list[Answer]]) -> None:
    with small_disk(tmp_path / "disk", "16m") as disk:
        store = disk / "store.db"
        assert personafit(*LINE, "--store", str(store), cwd=tmp_path).returncode == 0
        remount(disk, "ro")
        for line in (
            (*LINE, "--store", str(store)),
            (*LINE, "--store", str(disk / "another.db")),
            ("report", "last", "--store", str(store)),
            ("data", "forget", "p1", "--store", str(store)),
        ):
            refused = personafit(*line, cwd=tmp_path)
            (said,) = sentences(refused.stderr)
            assert refused.returncode == 2, said
            assert "cannot be opened (" in said
            assert (
                "read-only" in said.lower() or "readonly" in said.lower() or "unable to open" in said.lower()
            )
            assert said.endswith("choose another place with --store.")
        remount(disk, "rw")
        assert answers(store) == undisturbed[1]


def test_a_write_protected_folder_for_the_report(
    tmp_path: Path, undisturbed: tuple[str, list[Answer]]
) -> None:
    with small_disk(tmp_path / "disk", "1m") as disk:
        remount(disk, "ro")
        refused = personafit(*LINE[:-2], str(disk / "out"), "--store", "store.db", cwd=tmp_path)
        (said,) = sentences(refused.stderr)
        assert refused.returncode == 2
        assert said == f"{disk / 'out'} cannot be written (Read-only file system); choose another with --out."
        assert not (tmp_path / "store.db").exists() or answers(tmp_path / "store.db") == [], "found out first"


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_folder_one_may_not_write_to(tmp_path: Path, undisturbed: tuple[str, list[Answer]]) -> None:
    (tmp_path / "locked").mkdir(mode=0o555)
    refused = personafit(*LINE, "--store", "locked/store.db", cwd=tmp_path)
    (said,) = sentences(refused.stderr)
    assert (refused.returncode, "cannot be opened (" in said) == (2, True)


@pytest.mark.parametrize("line", [("data", "list"), ("run", "village", "--rater", "rule:length", "--json")])
def test_output_nobody_can_take(tmp_path: Path, line: tuple[str, ...]) -> None:
    """Standard output on a full disk: a sentence, not a traceback."""
    write_benchmark(tmp_path / "village", 6)
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            command(*line),
            cwd=tmp_path,
            env=quiet(),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            check=False,
        )
    (said,) = sentences(done.stderr)
    assert (done.returncode, said) == (1, "The output could not be written (No space left on device).")
