"""The audit finds what is known to be in the data, and nothing where nothing is."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from personafit import UserError, audit
from personafit.api.reading import write_audit
from personafit.benchmarks import BenchmarkInfo, FolderBenchmark, Published, starter, write_folder
from personafit.people import Person
from personafit.reports.audit import Audit, audit_benchmark, audit_object, read_audit
from personafit.reports.audit.checks import STRANGER
from personafit.reports.pieces import Grid
from personafit.store import Item, Judgment, Product
from tests.benchmarks.test_personafeedback import DATA, needs_data
from tests.conftest import Command

Row = tuple[str, str, str, str, str | None]


class Toy:
    """Pairs given as (person, question, chosen, rejected, tier); people are English but for those whose language is given."""

    def __init__(self, *rows: Row, languages: Mapping[str, str] | None = None) -> None:
        self.info = BenchmarkInfo(name="toy", version="1", layout=[["tier"]])
        self.rows = rows
        self.languages = languages or {}

    def people(self) -> Iterator[Person]:
        facets = {"Name": "Zoe", "Preferences.Food": "noodles", "Demographics.Work": "nurse"}
        yield from [
            Person(id=p, language=self.languages.get(p, "en"), facets=dict(facets))
            for p in dict.fromkeys(row[0] for row in self.rows)
        ]

    def products(self) -> Iterator[Product]:
        yield from [Product(kind="answer", text=text) for row in self.rows for text in row[2:4]]

    def items(self) -> Iterator[Item]:
        yield from [
            Item(id=str(n), person=row[0], prompt=row[1], products=self._ids(row))
            for n, row in enumerate(self.rows)
        ]

    def gold(self) -> Iterator[Judgment]:
        yield from [
            Judgment(
                item=str(n),
                rater="author",
                label=str(self._ids(row).index(Product(kind="answer", text=row[2]).id)),
                extra={"tier": row[4]} if row[4] else None,
            )
            for n, row in enumerate(self.rows)
        ]

    def _ids(self, row: Row) -> list[str]:
        return sorted(Product(kind="answer", text=text).id for text in row[2:4])

    def published(self) -> list[Published]:
        return []

    def notes(self) -> list[str]:
        return []


def audit_of(tmp_path: Path, *rows: Row, languages: Mapping[str, str] | None = None) -> Audit:
    write_folder(tmp_path / "toy", Toy(*rows, languages=languages))
    return audit_benchmark(FolderBenchmark(tmp_path / "toy"))


def test_repeats_contradictions_and_counts_are_found(tmp_path: Path) -> None:
    found = audit_of(
        tmp_path,
        ("a", "q", "one", "two", "easy"),
        ("a", "q", "two", "one", "hard"),
        ("a", "q", "one", "three", "easy"),
        ("b", "q", "one", "two", "easy"),
        ("b", "r", "four", "five", "hard"),
    )
    assert (found.repeats.rows, found.repeats.distinct, found.repeats.contradictory_pairs) == (5, 4, 1)
    (leak,) = found.leaks
    assert (leak.people, leak.prompts, leak.pairs) == (2, 1, 1)
    grades = {verdict.check: verdict.grade for verdict in found.verdicts()}
    assert grades["contradictory gold"] == "fails"


def test_rules_count_what_they_say(tmp_path: Path) -> None:
    found = audit_of(
        tmp_path,
        ("a", "q", "you like noodles, Zoe", "**eat**", "easy"),
        ("b", "q", "rice", "bread and much more", "easy"),
    )
    everything = {rule: scores["all"].value for rule, scores in found.rules.items()}
    assert everything["length"] == 0.5
    assert everything["second-person"] == 0.75
    assert everything["name"] == 0.75
    assert everything["markup"] == 0.25


def test_a_rule_that_is_always_wrong_in_one_tier_gives_the_answer_away(tmp_path: Path) -> None:
    short, long = "Yes.", "A much longer answer."
    rows: list[Row] = [(f"p{n}", f"Q{n}?", short, long, "hard") for n in range(20)]
    rows += [(f"p{n}", f"R{n}?", long, short, "easy") for n in range(20)]
    rows[-1] = ("p19", "R19?", short, long, "easy")
    audit = audit_of(tmp_path, *rows)
    assert audit.rules["length"]["hard"].value == 0.0
    (verdict,) = [one for one in audit.verdicts() if one.check == "length rule"]
    assert (verdict.grade, verdict.finding) == ("fails", "0.0 % (0.0–16.8) right by length alone (tier hard)")


def test_too_few_pairs_are_no_pass(tmp_path: Path) -> None:
    rows: list[Row] = [
        (f"p{n}", f"Q{n}?", "A longer answer." if n % 2 else "Yes.", "Perhaps not.", None) for n in range(8)
    ]
    (verdict,) = [one for one in audit_of(tmp_path, *rows).verdicts() if one.check == "length rule"]
    assert verdict.grade == "cannot tell"
    assert "right by length alone; these data are too few to tell any score from chance" in verdict.finding
    (verdict,) = [one for one in audit_of(tmp_path, *rows[:4]).verdicts() if one.check == "length rule"]
    assert (verdict.grade, verdict.finding) == (
        "cannot tell",
        "2 of 4, 4 people right by length alone; too few people to claim anything (6 are needed)",
    )


def test_a_shortcut_that_never_decides_passes(tmp_path: Path) -> None:
    rows: list[Row] = [(f"p{n}", f"Q{n}?", "One way.", "Or none.", None) for n in range(8)]
    (verdict,) = [one for one in audit_of(tmp_path, *rows).verdicts() if one.check == "markup rule"]
    assert (verdict.grade, verdict.finding) == ("passes", "ties throughout: no pair is right by markup alone")


def test_overlap_with_the_person_has_to_be_shown_to_beat_a_strangers(tmp_path: Path) -> None:
    found = audit_benchmark(starter())
    (verdict,) = [one for one in found.verdicts() if one.check == "overlap with the person"]
    low = found.gain.low
    assert low is not None
    assert low < 0.05
    assert verdict.grade == "cannot tell"
    assert f"{100 * (found.gain.value or 0):+.1f} points" in verdict.finding


def test_a_person_whose_language_nobody_shares_loses_the_stranger_and_not_the_audit(tmp_path: Path) -> None:
    rows: list[Row] = [
        (f"p{n}", f"q{n}", f"noodles are good {n}", f"rice is good {n}", None) for n in range(8)
    ]
    found = audit_of(tmp_path, *rows, languages={"p3": "de"})
    assert found.rules["overlap"]["all"].n == 8
    assert found.rules[STRANGER]["all"].n == found.gain.n == 7
    alone = audit_of(tmp_path, *rows, languages={f"p{n}": f"x{n}" for n in range(8)})
    assert (alone.rules[STRANGER]["all"].value, alone.gain.value) == (None, None)
    verdicts = {verdict.check: verdict for verdict in alone.verdicts()}
    gain = verdicts["overlap with the person"]
    assert gain.grade == "cannot tell"
    assert "nobody shares anybody's language" in gain.finding


def test_pairs_without_a_tier_are_in_none(tmp_path: Path) -> None:
    audit = audit_of(tmp_path, ("a", "Q?", "Yes.", "No.", "hard"), ("b", "R?", "Yes.", "No.", None))
    assert audit.rules["length"]["hard"].n == 1
    json.dumps(audit_object(audit), allow_nan=False)


def test_the_starter_set_does_not_fail_its_own_audit(tmp_path: Path) -> None:
    """Its tiers are small: what its pairs cannot rule out is not called a pass."""
    found = audit_benchmark(starter())
    grades = {verdict.check: verdict.grade for verdict in found.verdicts()}
    for check in ("name rule", "answer counts", "contradictory gold"):
        assert grades[check] == "passes", check
    for check in ("length rule", "second-person rule", "markup rule", "surface features, no person"):
        assert grades[check] == "cannot tell", check
    assert 0.4 < (found.surface["all"].value or 0) < 0.6
    written = write_audit(audit(starter(), command="personafit audit starter"), tmp_path)
    page = written.read_text(encoding="utf-8")
    assert "Audit of starter: how far is it solved without the person?" in page
    assert "personafit audit starter" in page


def test_the_part_of_an_audit_shows_what_the_audit_found_and_is_read_back_from_its_file(
    tmp_path: Path,
) -> None:
    found = audit_benchmark(starter())
    write_audit(audit(starter()), tmp_path)
    part = read_audit(tmp_path / "audit.json")
    verdicts, shortcuts = part.lead[-1], part.sections[0].pieces[0]
    assert isinstance(verdicts, Grid)
    assert isinstance(shortcuts, Grid)
    assert [(row.names[0], row.cells[0].text[2:], row.cells[1].text) for row in verdicts.rows] == [
        (verdict.check, verdict.grade, verdict.finding) for verdict in found.verdicts()
    ]
    assert list(shortcuts.columns) == ["all", "easy", "medium", "hard"]
    length = next(row for row in shortcuts.rows if row.names[0] == "length")
    assert [cell.sort for cell in length.cells] == [
        estimate.value for estimate in found.rules["length"].values()
    ]
    grades = [verdict.grade for verdict in found.verdicts()]
    blind = {name: one["all"] for name, one in found.rules.items() if name not in ("overlap", "name")}
    blind |= {"surface features, no person": found.surface["all"], "answer counts": found.occurrences["all"]}
    value, name = max((one.value or 0.0, name) for name, one in blind.items())
    assert part.sentences[0].startswith(
        f"Without the person, “{name}” does best: right in {100 * value:.1f} % ("
    )
    assert part.sentences[1].startswith(f"{grades.count('fails')} of {len(grades)} checks of starter fail")
    assert len(part.sentences) == 2 + grades.count("fails") + grades.count("warns")
    assert [section.title for section in part.sections] == [
        "Shortcuts in numbers",
    ]
    (tmp_path / "half.json").write_text('{"benchmark": "starter", "verdicts": [{}]}')
    with pytest.raises(UserError, match=r"half\.json cannot be read"):
        read_audit(tmp_path / "half.json")


def test_a_template_reused_across_people_is_seen(tmp_path: Path) -> None:
    """Each rejected answer is one text with the person's name and facts filled in; the chosen ones are all different."""
    rows: list[Row] = [
        (
            f"p{n}",
            f"q{n}",
            f"Own words {chr(97 + n % 6) * (1 + n)} for this one",
            "Dear Zoe, as a nurse try noodles 3 times.",
            None,
        )
        for n in range(40)
    ]
    found = audit_of(tmp_path, *rows)
    assert found.occurrences["all"].value == 1.0
    (counted,) = (one for one in found.verdicts() if one.check == "answer counts")
    assert counted.grade == "fails"
    assert "the people its template was written to" in counted.finding


def test_a_template_is_what_is_left_without_the_person(tmp_path: Path) -> None:
    class Own(Toy):
        def people(self) -> Iterator[Person]:
            for n, row in enumerate(self.rows):
                facets = {"name": f"Ann{chr(97 + n)} Lee", "Job": f"job {chr(97 + n)}"}
                yield Person(id=row[0], language="en", facets=dict(facets))

    rows: list[Row] = [
        (f"p{n}", f"q{n}", f"As a job {c}, Ann{c}, you know how.", f"Other words {c * 4}", None)
        for n, c in enumerate("abcdefgh")
    ]
    write_folder(tmp_path / "own", Own(*rows))
    assert audit_benchmark(FolderBenchmark(tmp_path / "own")).occurrences["all"].value == 1.0


@needs_data
def test_known_structure_of_personafeedback_is_found(personafit: Command) -> None:
    done = personafit("audit", "personafeedback", "--data", str(DATA), "--json")
    body = json.loads(done.out)
    assert body["repeats"]["distinct"] == 1942
    assert body["repeats"]["contradictory_pairs"] > 0
    counts = {
        (r["rater"], r["slice"].get("tier")): r["value"]
        for r in body["results"]
        if set(r["slice"]) <= {"tier"}
    }
    assert counts["answer counts", "hard"] == pytest.approx(0.987, abs=0.002)
    assert counts["rule:second-person", None] > 0.65
    assert counts["surface features, no person", None] > counts["rule:length", None]


def test_nothing_to_audit_is_said(personafit: Command, tmp_path: Path) -> None:
    write_folder(tmp_path / "toy", Toy(("a", "q", "one", "two", "easy")))
    (tmp_path / "toy" / "gold.jsonl").write_text("")
    done = personafit("audit", "toy", code=2)
    assert "there is nothing to audit" in done.err
