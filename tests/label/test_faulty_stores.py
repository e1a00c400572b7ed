"""Stores that fail: the rater gets a sentence, and the same answer goes in once the store is back."""

import sqlite3
import uuid
from contextlib import closing, suppress
from pathlib import Path

import pytest

from personafit import Store
from personafit.label import Studies
from personafit.label.votes import study_votes
from tests.faults.disks import remount, small_disk
from tests.label.served import RaterClient, invitation, new_study, serving

KEPT = "kept in this browser"


def test_a_locked_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process holds the store for longer than we wait."""
    from fastapi.testclient import TestClient

    from personafit.label.web.app import create_app
    from personafit.store import connection

    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.2)
    store = tmp_path / "store.db"
    new_study(store)
    with TestClient(create_app(store)) as client, Store(store) as opened:
        studies = Studies(opened)
        studies.take("pilot", 0, None, {"consent": True, "passed": True})
        access = client.app.state.access  # type: ignore[attr-defined]
        cookie = access.open_session("pilot", 0)
        client.cookies.set("personafit_rater", cookie)
        token = {"x-csrf-token": access.rater(cookie).csrf}
        body = {"id": str(uuid.uuid4()), "page": 0, "field": "fit", "value": "A", "client_time": 0.0}
        with closing(sqlite3.connect(store, isolation_level=None)) as lock:
            lock.execute("BEGIN IMMEDIATE")
            refused = client.post("/api/answers", json=body, headers=token)
            assert (refused.status_code, KEPT in refused.json()["error"]) == (503, True)
            lock.execute("ROLLBACK")
        stored = client.post("/api/answers", json=body, headers=token)
        assert stored.json() == {"id": body["id"], "generation": 0, "done": True}
        assert len(study_votes(studies, "pilot")) == 1


def test_a_full_disk(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "32m") as disk:
        store = disk / "store.db"
        new_study(store, seats=1, overlap=1)
        with serving(store) as server, RaterClient(server.address, invitation(store)) as rater:
            ballast = disk / "ballast"
            with ballast.open("wb", buffering=0) as file, suppress(OSError):
                while file.write(b"x" * 4096):
                    pass
            refused, key = None, str(uuid.uuid4())
            for number in range(400):  # what the file had room for is taken first
                sent = rater.answer(
                    number % 6, "A", note="n" * 2000, id=key if refused else str(uuid.uuid4())
                )
                if sent.status_code == 503:
                    refused = sent
                    break
                assert sent.status_code == 200, sent.text
            assert refused is not None
            assert KEPT in refused.json()["error"] or "cannot" in refused.json()["error"]
            remount(disk, "size=128m")
            ballast.unlink()
            stored = rater.answer(0, "B", id=key)
            assert stored.status_code == 200, stored.text
        with Store(store) as opened:
            votes = study_votes(Studies(opened), "pilot")
            assert votes.filter(votes["page"] == votes["page"][0]).height == 1
