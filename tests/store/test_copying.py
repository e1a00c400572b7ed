"""Rows by the hundred, new ones and known ones in turn: each is there once, as it first came, whichever way it went in."""

from collections.abc import Sequence

from sqlalchemy import select

from personafit import Store
from personafit.store import Judgment, Product, tables
from tests.store.databases import PostgresServer, create_database
from tests.store.outcomes import outcome

ODD = "tab\tnew\nline \\N \\. \x00 quote ' “是” 😀"


def _labels(store: Store, jobs: Sequence[str]) -> dict[str, str | None]:
    query = select(tables.judgments.c.item, tables.judgments.c.label)
    with store.engine.connect() as connection:
        found = [tuple(row) for row in connection.execute(query)]
    assert len(found) == len(dict(found)), "none is doubled"
    assert set(dict(found)) == set(jobs)
    return dict(found)


def test_new_rows_and_known_ones_in_turn(url: str) -> None:
    jobs = [f"j{number:04}" for number in range(500)]
    with Store(url) as store:
        for first in (0, 100, 200):  # all new
            store.write([outcome(job, label="0") for job in jobs[first : first + 100]])
        store.write([outcome(job, label="1") for job in jobs[250:400]])  # a third of them known
        store.write([outcome(job, label="2") for job in jobs[400:450]])
        store.write([outcome(job, label="3") for job in jobs[400:450]])  # all known
        twice = [outcome(job, label=label) for job in jobs[450:] for label in ("4", "5")]
        store.write(twice)
        found = _labels(store, jobs)
    assert [found[jobs[at]] for at in (0, 150, 250, 300, 399, 425, 475)] == [
        "0",
        "0",
        "0",
        "1",
        "1",
        "2",
        "4",
    ]


def test_every_kind_of_value_arrives_as_it_was(url: str) -> None:
    judgments = [
        Judgment.built(
            ask="a",
            item=f"i{number}",
            question="fit",
            rater="r",
            target="",
            parse=0,
            status="ok",
            label=None if number % 2 else ODD.replace("\x00", ""),
            value=number if number % 3 else None,  # a whole number where a float is kept
            extra={"text": "是"} if number % 5 else None,
        )
        for number in range(60)
    ]
    products = [Product(kind="answer", text=f"{number} {ODD}") for number in range(60)]
    with Store(url) as store:
        store.add_judgments(judgments)
        store.add_products(products)
        rows = store.frame(select(tables.judgments)).to_dicts()
        stored = {row["item"]: row for row in rows}
        for one in judgments:
            row = stored[one.item]
            assert (row["label"], row["value"]) == (one.label, one.value)
            assert row["extra"] == ('{"text":"是"}' if one.extra else None)
        texts = store.texts(product.id for product in products)
        assert texts == {product.id: product.text.replace("\x00", "\ufffd") for product in products}


def test_nothing_temporary_stays_and_no_error_is_logged_for_known_rows(server: PostgresServer) -> None:
    url = create_database(server.address, "copied")
    with Store(url) as store:
        run = store.begin_run("run", "d", {}, 100).id
        keys = [f"j{number}" for number in range(100)]
        store.plan_jobs(run, keys)
    logged = (server.folder / "log").read_text(encoding="utf-8")
    with Store(url) as again:  # as when a run is resumed
        for _ in range(3):
            again.plan_jobs(run, keys)
        with again.engine.connect() as connection:
            left = connection.exec_driver_sql("SELECT relname FROM pg_class WHERE relname ~ '^adding_'")
            assert left.fetchall() == []
    assert "duplicate key" not in (server.folder / "log").read_text(encoding="utf-8")[len(logged) :]
