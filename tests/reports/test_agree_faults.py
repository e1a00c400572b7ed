"""What cannot be said about agreement is said in a sentence: no crash, no nan, nothing made up."""

from collections.abc import Callable
from pathlib import Path

import pytest

from personafit import UserError
from personafit.reports.agree import agreement_object, agreements, cautions
from personafit.reports.agree_ratings import folder_source
from tests.reports.test_agree import gold_of, make_folder, no_nan, only, value, vote
from tests.scripted import write_lines


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_folder(tmp_path / "mine")


@pytest.fixture
def tiny(tmp_path: Path) -> Callable[[int, int], Path]:
    return lambda people, each: make_folder(tmp_path / f"tiny{people}{each}", people, each)


def test_what_cannot_be_said_is_said(tiny: Callable[[int, int], Path]) -> None:
    one_item = tiny(1, 1)
    vote(one_item, ann=lambda n: True, ben=lambda n: True)
    source = folder_source(one_item, None)
    found = only(source)
    words = " ".join(cautions(found, source))
    assert "about 1 person only, so no interval can be given" in words
    assert value(found, "pair", "kappa", "ann", "ben") is None
    no_nan(agreement_object(source, [found]))

    two_people = tiny(2, 4)
    vote(two_people, ann=lambda n: n % 2 == 0, ben=lambda n: n % 3 != 0)
    source = folder_source(two_people, None)
    found = only(source)
    kappa = found.find("pair", "kappa", "ann", "ben")
    assert kappa is not None
    assert kappa.value is not None
    assert kappa.low is None
    assert "no interval: it needs at least 6 people" in (kappa.note or "")
    assert "about 2 people only" in " ".join(cautions(found, source))


def test_the_same_label_everywhere_is_undefined_not_perfect(folder: Path) -> None:
    rows = [
        {"item": item, "rater": rater, "label": "0"}
        for item, _ in gold_of(folder)
        for rater in ("ann", "ben")
    ]
    write_lines(folder / "votes.jsonl", rows)
    (folder / "gold.jsonl").write_text("")
    source = folder_source(folder, None)
    found = only(source)
    kappa = found.find("pair", "kappa", "ann", "ben")
    assert kappa is not None
    assert kappa.value is None
    assert "every rating is the same label" in (kappa.note or "")
    assert "Everybody gave the same label" in " ".join(cautions(found, source))


def test_missing_votes_and_raters_who_share_nothing(folder: Path) -> None:
    vote(
        folder,
        ann=lambda n: n % 3 > 0 if n < 20 else None,
        ben=lambda n: n % 4 > 0 if n >= 20 else None,
        cy=lambda n: n % 5 > 0,
    )
    source = folder_source(folder, None)
    found = only(source)
    words = " ".join(cautions(found, source))
    assert "25.0 % of the votes are missing" in words
    block = found.find("block", "kappa", "human", "human")
    assert block is not None
    assert "1 of 3 pairs left out as undefined" in (block.note or "")

    vote(folder, ann=lambda n: True if n < 20 else None, ben=lambda n: True if n >= 20 else None)
    (folder / "gold.jsonl").write_text("")
    source = folder_source(folder, None)
    found = only(source)
    assert cautions(found, source) == [
        "No two raters judged the same item, so nothing can be said about agreement."
    ]
    no_nan(agreement_object(source, [found]))


def test_refused_with_a_sentence(folder: Path) -> None:
    with pytest.raises(UserError, match=r"has no votes \(votes\.jsonl\) and the store no run on it"):
        folder_source(folder, None)
    vote(folder, ann=lambda n: True)
    (folder / "gold.jsonl").write_text("")
    with pytest.raises(UserError, match="only ann answered, and agreement takes two"):
        agreements(folder_source(folder, None))
    write_lines(folder / "votes.jsonl", [{"item": "nowhere", "rater": "ann", "label": "0"}])
    with pytest.raises(
        UserError, match=r"votes\.jsonl, line 1, field 'item': 'nowhere' is not in items\.jsonl"
    ):
        folder_source(folder, None)
    write_lines(folder / "votes.jsonl", [{"item": "x", "rater": "ann", "lable": "0"}])
    with pytest.raises(UserError, match=r"line 1, field 'lable'"):
        folder_source(folder, None)
    (folder / "votes.jsonl").write_text("")
    with pytest.raises(UserError, match="has no votes"):
        folder_source(folder, None)
