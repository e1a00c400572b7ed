"""Votes in and out: exports in every format, taken in again, decided, erased; and one table with the models."""

import json
import sqlite3
from collections import Counter
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import polars as pl
import pytest

from personafit import Store, UserError
from personafit.label import (
    RaterState,
    Studies,
    disputes,
    erase_rater,
    export_study,
    import_votes,
    simulate_votes,
    status_object,
    steering,
    study_overview,
    write_benchmark,
)
from personafit.label.adjudicating import decide
from personafit.label.agreement import study_source
from personafit.label.exports import FORMATS
from personafit.label.steering import forget_in_studies
from personafit.label.votes import adjudicated_votes, study_votes
from personafit.store import tables as t
from tests.conftest import Command
from tests.label.researcher.vote_files import NAME, lines, write_votes
from tests.label.served import new_study


@pytest.mark.parametrize("state", ["paused", "closed"])
def test_a_study_that_takes_no_answers_is_not_simulated(studies: Studies, state: str) -> None:
    steering.set_state(studies, "pilot", state)
    with pytest.raises(UserError, match=f"pilot is {state} and takes no answers"):
        simulate_votes(studies.store, "pilot")


def test_every_format_has_the_same_votes(studies: Studies, tmp_path: Path) -> None:
    item = study_votes(studies, "pilot")["item"][0]
    rows = [{"item": item, "rater": NAME, "label": "0"}]
    import_votes(studies, "pilot", write_votes(tmp_path / "named.jsonl", rows))
    for format in FORMATS:
        export_study(studies, "pilot", tmp_path / format, format)
    votes = pl.read_parquet(tmp_path / "parquet" / "votes.parquet")
    assert votes.height == 25
    assert [row["label"] for row in lines(tmp_path / "jsonl" / "votes.jsonl")] == votes["label"].to_list()
    tally = {row["item"]: json.loads(row["counts"]) for row in lines(tmp_path / "jsonl" / "aggregate.jsonl")}
    assert tally[item] == dict(Counter(votes.filter(pl.col("item") == item)["label"]))
    card = (tmp_path / "jsonl" / "card.md").read_text(encoding="utf-8")
    assert "25 votes" in card
    assert "simulated" in card
    for line in (tmp_path / "csv" / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split("  ")
        assert sha256((tmp_path / "csv" / name).read_bytes()).hexdigest() == digest


def test_what_raters_must_not_see_is_not_exported(studies: Studies, tmp_path: Path) -> None:
    with Store(tmp_path / "store.db"):
        new_study(tmp_path / "store.db", "marks", 3, question="preference", simulated=True, source="starter")
    simulate_votes(studies.store, "marks")
    secrets = [reason for page in studies.pages("marks") for reason in page.content["reasons"] if reason]
    assert secrets
    export_study(studies, "marks", tmp_path / "out", "jsonl")
    for path in (tmp_path / "out").glob("*.json*"):
        text = path.read_text(encoding="utf-8")
        assert not any(json.dumps(secret)[1:-1] in text or secret in text for secret in secrets), path


def test_who_somebody_is_elsewhere_never_leaves(studies: Studies, tmp_path: Path) -> None:
    """Not in any export, nor in the benchmark, nor in what the status says."""
    prolific = "5f3e0c9a7b1d2e4f6a8b9c0d"
    with studies.engine.begin() as connection:
        connection.execute(t.study_raters.update().values(external=prolific))
    for format in FORMATS:
        export_study(studies, "pilot", tmp_path / "out" / format, format)
    write_benchmark(studies.store, "pilot", tmp_path / "out" / "benchmark")
    (tmp_path / "out" / "status.json").write_text(json.dumps(status_object(study_overview(studies, "pilot"))))
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert [path for path in files if prolific.encode() in path.read_bytes()] == []
    assert len(files) > len(FORMATS)


def test_an_export_does_not_write_over_anything(studies: Studies, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("x")
    with pytest.raises(UserError, match="not empty"):
        export_study(studies, "pilot", tmp_path / "out", "csv")


def test_a_decision_stands_beside_the_votes_and_can_be_changed(studies: Studies) -> None:
    before = study_votes(studies, "pilot")
    (first, *rest) = disputes(studies, "pilot")
    assert [one.share for one in (first, *rest)] == sorted(one.share for one in (first, *rest))
    for label in ("0", "1"):
        decide(studies, "pilot", first.key, label, "because")
        (row,) = adjudicated_votes(studies, "pilot").iter_rows(named=True)
        assert (row["label"], row["rater"], row["note"]) == (label, "adjudicated", "because")
    assert row["generation"] == 1
    assert study_votes(studies, "pilot").equals(before)
    with pytest.raises(UserError, match="is no answer to fit"):
        decide(studies, "pilot", first.key, "9")
    decide(studies, "pilot", first.key, None)
    assert adjudicated_votes(studies, "pilot").is_empty()


def test_excluded_raters_leave_everything_and_come_back(studies: Studies) -> None:
    seat = studies.seats("pilot")[1]
    whole = status_object(study_overview(studies, "pilot"))
    steering.exclude(studies, seat, "never read the answers")
    part = status_object(study_overview(studies, "pilot"))
    assert (whole["votes"], part["votes"]) == (24, 16)
    assert seat.code not in set(study_votes(studies, "pilot")["rater"])
    assert part["agreement"][0]["raters"] == 2
    steering.resume(studies, steering.find_seat(studies, "pilot", seat.code))
    back = status_object(study_overview(studies, "pilot"))
    assert back["agreement"] == whole["agreement"]
    assert back["votes"] == 24


def test_an_excluded_rater_s_pages_go_to_a_new_seat(studies: Studies) -> None:
    seat = studies.seats("pilot")[1]
    left = {one.page for one in studies.assigned("pilot", seat.seat)}
    steering.exclude(studies, seat, "gone")
    studies.extend("pilot", 1)
    assert {one.page for one in studies.assigned("pilot", 3)} == left


def test_an_erased_participant_is_nowhere(studies: Studies, tmp_path: Path) -> None:
    item = study_votes(studies, "pilot")["item"][0]
    secret = "my own words about it"
    rows = [{"item": item, "rater": NAME, "label": "0", "note": secret}]
    import_votes(studies, "pilot", write_votes(tmp_path / "named.jsonl", rows))
    seat = next(one for one in studies.seats("pilot") if one.external == NAME)
    steering.exclude(studies, seat, f"{NAME} asked to stop")
    counts = erase_rater(studies, steering.find_seat(studies, "pilot", seat.code)).counts
    assert (counts["asks"], counts["judgments"]) == (1, 1)
    export_study(studies, "pilot", tmp_path / "out", "jsonl")
    studies.store.close()
    database = b"".join(path.read_bytes() for path in tmp_path.glob("store.db*"))
    for trace in (NAME, secret, seat.code, seat.rater, "asked to stop"):
        assert trace.encode() not in database, trace
        assert not any(trace.encode() in path.read_bytes() for path in (tmp_path / "out").iterdir()), trace
    after = studies.seat("pilot", seat.seat)
    assert after is not None
    assert (after.state, after.external, after.joined) == (RaterState.ERASED, None, None)
    with studies.engine.connect() as connection:
        told = [row.what for row in connection.execute(t.study_events.select())]
    assert told[-1] == "erased"
    with pytest.raises(UserError, match="erased before"):
        erase_rater(studies, after)


def test_forgetting_a_person_takes_their_pages_and_every_answer_to_them(studies: Studies) -> None:
    votes = study_votes(studies, "pilot")
    person = votes["person"][0]
    theirs = votes.filter(pl.col("person") == person)
    with studies.engine.begin() as connection:
        counts = forget_in_studies(connection, person)
    assert counts["judgments"] >= theirs.height
    left = study_votes(studies, "pilot")
    assert left.height == votes.height - theirs.height
    assert person not in {page.person for page in studies.pages("pilot")}
    for seat in studies.seats("pilot"):
        places = [one.position for one in studies.assigned("pilot", seat.seat)]
        assert places == list(range(len(places)))


def test_bytes_that_could_not_be_freed_are_spoken_of(
    personafit: Command, studies: Studies, tmp_path: Path
) -> None:
    seat, store = studies.seats("pilot")[0], tmp_path / "store.db"
    with closing(sqlite3.connect(store, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM asks").fetchone()
        said = personafit("label", "erase", "pilot", seat.code, "--yes", "--store", str(store), code=1)
    assert "their bytes may remain in the store's files" in said.err


def test_the_command_forgets_a_person_in_studies_too(
    personafit: Command, studies: Studies, tmp_path: Path
) -> None:
    page = studies.pages("pilot")[0]
    store = str(tmp_path / "store.db")
    before = personafit("data", "forget", page.person, "--dry-run", "--store", store).out
    assert page.id in {one.id for one in studies.pages("pilot")}
    done = personafit("data", "forget", page.person, "--store", store).out
    told = [word for word in before.split() if word.isdigit()]
    assert told == [word for word in done.split() if word.isdigit()], (before, done)
    assert "study pages" in done
    studies.store.close()
    words = page.content["profile"].splitlines()[0].encode()
    assert not any(words in path.read_bytes() for path in tmp_path.glob("store.db*"))


def test_people_models_gold_and_decisions_stand_in_one_table(
    personafit: Command, studies: Studies, tmp_path: Path
) -> None:
    decide(studies, "pilot", disputes(studies, "pilot")[0].key, "0")
    personafit("run", "starter", "--rater", "rule:overlap", "--store", str(tmp_path / "store.db"))
    source = study_source(studies, "pilot")
    kinds = Counter(source.raters[key].kind for key in set(source.votes()["rater"]))
    assert kinds["simulated"] == 3
    assert kinds["rule"] >= 1
    assert kinds["gold"] == 2
    table = json.loads(personafit("agree", "pilot", "--json", "--store", str(tmp_path / "store.db")).out)
    judged = {row["rater"]: row["n"] for row in table["raters"]}
    assert judged["rule:overlap"] == 8
    assert sum(name.startswith("simulated:") for name in judged) == 3
