"""Asks with several judgments, about a list or about several targets: which of them count, and whose are stored."""

from personafit import Status, Store
from personafit.store import Ask, Judgment, Outcome, run_answers


def test_of_a_superseded_ask_no_part_counts(url: str) -> None:
    def answer(ask: str, generation: int, status: Status, at: float, **labels: str) -> Outcome:
        made = Ask(
            id=ask, job="j", generation=generation, item="i", question="q", rater="r", status=status, at=at
        )
        parts = [Judgment(ask=ask, item="i", rater="r", target=name, label=labels[name]) for name in labels]
        return Outcome(ask=made, judgments=parts)

    def counted(store: Store) -> list[tuple[str, str | None]]:
        frame = run_answers(store, store.run("run").id).sort("target")
        return list(frame.select("target", "label").iter_rows())

    with Store(url) as store:
        store.plan_jobs(store.begin_run("run", "data", {}, 1).id, ["j"])
        store.write([answer("f", 0, Status.FAILED, 1.0)])
        assert counted(store) == [("", None)]
        store.write([answer("g0", 0, Status.OK, 2.0, a="1", b="2")])
        assert counted(store) == [("a", "1"), ("b", "2")], "the failure is past"
        store.write([answer("g1", 1, Status.OK, 3.0, a="5")])
        assert counted(store) == [("a", "5")], "what was said before about b is superseded too"


def test_an_ask_about_a_list_has_an_answer_for_each_of_its_items(url: str) -> None:
    with Store(url) as store:
        store.plan_jobs(store.begin_run("run", "data", {}, 1).id, ["j"])
        made = Ask(id="a", job="j", item="list", question="q", rater="r", status=Status.OK)
        judged = [Judgment(ask="a", item=name, rater="r", label="yes") for name in ("one", "two")]
        store.write([Outcome(ask=made, judgments=judged)])
        assert sorted(run_answers(store, store.run("run").id)["item"]) == ["one", "two"]


def test_of_two_processes_that_ask_the_same_one_has_its_judgments_stored_whole(url: str) -> None:
    def answer(at: float, *items: str) -> Outcome:
        made = Ask(id="a", job="j", item="list", question="q", rater="r", status=Status.OK, at=at)
        return Outcome(
            ask=made, judgments=[Judgment(ask="a", item=name, rater="r", label=str(at)) for name in items]
        )

    with Store(url) as store:
        store.plan_jobs(store.begin_run("run", "data", {}, 1).id, ["j"])
        store.write([answer(1.0, "one", "two")])
        store.write([answer(2.0, "one", "two", "three")])
        store.write([answer(1.0, "one", "two")])  # as after a lost connection
        frame = run_answers(store, store.run("run").id).sort("item")
        assert list(frame.select("item", "label").iter_rows()) == [("one", "1.0"), ("two", "1.0")]
