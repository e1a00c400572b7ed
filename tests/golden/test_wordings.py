"""Wordings, parsers and rules say and read what their versions said and read; fingerprints hash nothing of our source."""

import re
from pathlib import Path

import orjson
import pytest

import personafit
from personafit._versions import PINNED, fingerprint_of, frozen_text
from personafit.items import FIT
from tests.golden.__main__ import HERE
from tests.golden.wordings import entries, unversioned

SOURCE = Path(personafit.__file__).parent
READING = re.compile(r"\b(?:getsource\w*|findsource|linecache|co_code|__loader__|get_source)\b")
READS_SOURCE = {Path("models/functions.py")}
"""A function of the user's own is known by its source where it has no version."""


def test_every_wording_is_what_its_version_says() -> None:
    recorded, now = orjson.loads((HERE / "wordings.json").read_bytes()), entries()
    assert not unversioned(recorded, now)
    assert now == recorded, "new: python -m tests.golden --record wordings"


def test_other_words_need_a_new_version() -> None:
    now = entries()
    changed = {**now, "fit": {**now["fit"], "digest": "other"}}
    assert unversioned(now, changed) == [
        "fit says or reads something else than version 1 did: raise its version."
    ]
    assert not unversioned(now, {**now, "fit": {**changed["fit"], "version": "2"}})


def test_a_new_version_is_another_instrument(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fingerprint_of("fit", "1") == PINNED["fit", "1"]
    assert fingerprint_of("fit", "2") not in (*PINNED.values(), fingerprint_of("fit", "3"))
    monkeypatch.setattr(type(FIT), "version", "2")
    assert type(FIT)().fingerprint == fingerprint_of("fit", "2")
    assert frozen_text("signal", "2") == "signal 2" != frozen_text("signal", "1")


def test_every_pin_is_in_use() -> None:
    used = orjson.dumps(entries()).decode()
    assert [name for name, pin in PINNED.items() if pin not in used] == []


def test_nothing_reads_our_own_source() -> None:
    readers = {
        path.relative_to(SOURCE)
        for path in SOURCE.rglob("*.py")
        if READING.search(path.read_text(encoding="utf-8"))
    }
    assert readers == READS_SOURCE
