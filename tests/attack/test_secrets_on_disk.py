"""Another user of the machine looks for what they can read of a store: nothing, from its first byte on."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from personafit import Store
from tests.label.served import new_study, serving

WATCHED = """
import os, stat, sys

def watch(event, args):
    if event == "sqlite3.connect":
        path = os.fsdecode(args[0])
        print(oct(stat.S_IMODE(os.stat(path).st_mode)) if os.path.exists(path) else "absent", flush=True)

sys.addaudithook(watch)
os.umask(0)
from personafit.store import Store
Store(sys.argv[1]).close()
"""


def modes(folder: Path) -> dict[str, int]:
    """The modes of a folder and of all files below it."""
    found = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*")}
    return found | {folder.name: stat.S_IMODE(folder.stat().st_mode)}


def test_a_store_is_closed_from_the_start(tmp_path: Path) -> None:
    """Whatever the umask, through the command line, and with the log and the shared memory of a server that runs."""
    command = [
        sys.executable,
        "-m",
        "personafit",
        "label",
        "new",
        "pilot",
        "--from",
        "starter",
        "--limit",
        "2",
    ]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, umask=0)
    folder = tmp_path / ".personafit"
    with serving(folder / "store.db"):
        found = modes(folder)
    assert {"store.db", "store.db-wal", "store.db-shm", ".personafit"} <= set(found)
    assert not {name: oct(mode) for name, mode in found.items() if mode & 0o077}


def test_there_is_no_moment_in_which_it_is_open(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, str(tmp_path / "new" / "store.db")],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert set(done.stdout.split()) == {"0o600"}
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


def test_a_store_that_was_open_is_closed_when_it_is_opened(tmp_path: Path) -> None:
    folder = tmp_path / ".personafit"
    new_study(folder / "store.db")
    for path in (folder, *folder.iterdir()):
        path.chmod(0o755 if path.is_dir() else 0o644)
    with Store(folder / "store.db") as opened:
        opened.runs()
        assert not {name: oct(mode) for name, mode in modes(folder).items() if mode & 0o077}


def test_a_folder_of_the_user_stays_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir(mode=0o755)
    Store(folder / "store.db").close()
    assert modes(folder)["project"] == 0o755
    assert modes(folder)["store.db"] == 0o600


def test_where_it_cannot_be_closed_a_sentence_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "store.db"
    Store(path).close()
    path.chmod(0o644)

    def refuse(*_args: object, **_kwargs: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "chmod", refuse)
    for _ in range(2):
        with Store(path) as opened:
            assert list(opened.runs()) == []
    said = capsys.readouterr().err.splitlines()
    assert said == [
        f"personafit: {path} can be read by other users of this machine and cannot be closed to them (operation not permitted); "
        "give it mode 600 as its owner, or choose another place with --store."
    ]


def test_a_folder_named_as_the_store_is_not_touched(tmp_path: Path) -> None:
    from personafit import UserError

    (tmp_path / "folder").mkdir(mode=0o755)
    with pytest.raises(UserError, match="cannot be opened"):
        Store(tmp_path / "folder")
    assert modes(tmp_path)["folder"] == 0o755
