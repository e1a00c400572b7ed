"""A store's files closed to other users of the machine: it holds answers of people and the secret that sessions are signed with.

The file exists with its mode before SQLite opens it, and SQLite gives its log and its shared memory the mode of the file, so there is
no moment in which somebody else could read one of them.
"""

import os
import stat
import sys
from pathlib import Path

FOLDER_MODE, FILE_MODE = 0o700, 0o600
OWN_FOLDER = ".personafit"
"""The folder that personafit makes for itself; any other that is there already is the user's, with whatever else lies in it."""
BESIDE = ("", "-wal", "-shm", "-journal", ".lock")


def make_private(path: Path) -> None:
    """Make a store's file, and folders where there are none, for their owner alone; close those that are open to others.

    Where that cannot be done it is said in a sentence, once, and the store is used all the same.
    """
    for folder in reversed(path.parents):
        if not folder.exists():
            folder.mkdir(mode=FOLDER_MODE, exist_ok=True)
        elif folder.name == OWN_FOLDER:
            _close(folder, FOLDER_MODE)
    if not path.exists():
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, FILE_MODE))
    for ending in BESIDE:
        beside = path.with_name(path.name + ending)
        if beside.is_file():
            _close(beside, FILE_MODE)


def private_opener(path: str, flags: int) -> int:
    """An `opener` for `open` that makes files for their owner alone."""
    return os.open(path, flags, FILE_MODE)


def _close(path: Path, mode: int) -> None:
    try:
        if not _open_to_others(path):
            return
        path.chmod(mode)
        if not _open_to_others(path):
            return
        reason = "the file system keeps no modes"
    except FileNotFoundError:
        return
    except OSError as error:
        reason = str(error.strerror).lower()
    sentence = (
        f"personafit: {path} can be read by other users of this machine and cannot be closed to them ({reason}); "
        f"give it mode {mode:o} as its owner, or choose another place with --store."
    )
    if sentence not in _said:
        _said.add(sentence)
        print(sentence, file=sys.stderr)


_said: set[str] = set()


def _open_to_others(path: Path) -> bool:
    return bool(stat.S_IMODE(path.stat().st_mode) & 0o077)
