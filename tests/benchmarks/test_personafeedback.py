"""PersonaFeedback as read and scored, against an independent computation that shares no code with the package."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from personafit import UserError
from personafit.benchmarks import PersonaFeedback
from tests.conftest import Command
from tests.helpers import results_of

DATA = Path(__file__).parents[3] / "shared" / "data" / "personafeedback"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"the published data is not at {DATA}")


def leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner)
    elif value not in (None, ""):
        yield str(value)


def bigrams(text: str) -> set[str]:
    return {text[i : i + 2] for i in range(len(text) - 1)}


def credit(one: float, other: float) -> float:
    return 1.0 if one > other else 0.5 if one == other else 0.0


@needs_data
def test_rules_match_a_few_lines_of_plain_python(personafit: Command, tmp_path: Path) -> None:
    """The rule raters' tier scores are exactly those of an independent computation."""
    personafit(
        "run",
        "personafeedback",
        "--data",
        str(DATA),
        "--rater",
        "rule:length",
        "--rater",
        "rule:overlap",
    )
    results = results_of(tmp_path)
    persona = {
        name[:-5]: bigrams(
            " ".join(leaves(json.loads((DATA / "persona_all" / name).read_text(encoding="utf-8"))))
        )
        for name in os.listdir(DATA / "persona_all")
    }
    everything: dict[str, list[float]] = {"rule:length": [], "rule:overlap": []}
    for file, tier in (("easy", "easy"), ("mid", "medium"), ("hard", "hard")):
        rows = [
            json.loads(line)
            for line in (DATA / "rm_benchmark_all" / f"general_{file}.jsonl")
            .read_text(encoding="utf-8")
            .splitlines()
        ]
        length = [credit(len(row["chosen"]), len(row["reject"])) for row in rows]
        overlap = []
        for row in rows:
            known, asked = persona[row["user_id"]], bigrams(row["question"])
            scores = [len((bigrams(row[key]) & known) - asked) for key in ("chosen", "reject")]
            overlap.append(credit(*scores))
        for rater, credits in (("rule:length", length), ("rule:overlap", overlap)):
            everything[rater] += credits
            (found,) = (
                r
                for r in results
                if (r["rater"], r["context"], r["metric"]) == (rater, "profile", "accuracy")
                and r["slice"] == {"half": "general", "tier": tier}
            )
            assert found["value"] == pytest.approx(sum(credits) / len(credits), abs=1e-12)
            assert found["n"] == len(rows)
            assert found["coverage"] == 1.0
            assert found["low"] < found["value"] < found["high"]
    for rater, credits in everything.items():
        (total,) = (
            r
            for r in results
            if (r["rater"], r["context"], r["metric"], r["slice"]) == (rater, "profile", "accuracy", {})
        )
        assert total["value"] == pytest.approx(sum(credits) / len(credits), abs=1e-12)

    # Length cannot lift; overlap is blind without the person and weaker with a wrong one.
    by = {(r["rater"], r["context"], r["metric"]): r for r in results if not r["slice"]}
    assert by["rule:length", "profile", "lift"]["value"] == 0.0
    assert by["rule:overlap", "none", "accuracy"]["value"] == 0.5
    wrong, lift = by["rule:overlap", "wrong:profile", "accuracy"], by["rule:overlap", "profile", "lift"]
    assert wrong["control"] == "most overlap"
    over = by["rule:overlap", "profile", "accuracy"]["value"] - max(0.5, wrong["value"])
    assert lift["value"] == pytest.approx(over)
    assert lift["low"] > 0


PERSONA = {
    "Name": "甲",
    "Demographics": {"Age": 30, "Language": ["中文"]},
    "Personality": {"Extraversion_or_Intuition": "I", "Judging_or_Pereceiving": "J"},
    "Preference": {"Local_Life": {"TravelDaily_Outings": "骑车"}},
}
ROW = {"question": "晚饭吃什么？", "chosen": "清淡的面", "reject": "火锅"}


def write(path: Path, *rows: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8")


def test_hub_layout_counts_people_by_line_and_knows_the_misspelt_folder(tmp_path: Path) -> None:
    write(tmp_path / "persona" / "all_personas.jsonl", PERSONA, {**PERSONA, "Name": "乙"})
    write(tmp_path / "data" / "spedific" / "easy.jsonl", {"user_id": "2", **ROW})
    write(tmp_path / "data" / "general" / "medium.jsonl", {"user_id": "1", **ROW})
    benchmark = PersonaFeedback(tmp_path)
    assert [(item.id, item.person) for item in benchmark.items()] == [
        ("personafeedback/general/medium/1", "1"),
        ("personafeedback/specific/easy/1", "2"),
    ]
    assert {person.id: person.facets["Name"] for person in benchmark.people()} == {"1": "甲", "2": "乙"}


def test_persona_keys_are_normalised_and_reported(tmp_path: Path) -> None:
    write(tmp_path / "persona_all" / "a_1.json", PERSONA)
    write(tmp_path / "rm_benchmark_all" / "general_mid.jsonl", {"user_id": "a_1", **ROW})
    benchmark = PersonaFeedback(tmp_path)
    (person,) = benchmark.people()
    assert list(person.facets) == [
        "Name",
        "Demographics.Age",
        "Demographics.Language",
        "Personality.Extraversion_or_Introversion",
        "Personality.Judging_or_Perceiving",
        "Preference.Local_Life.Daily_Outings",
    ]
    assert any(
        "Extraversion_or_Intuition → Extraversion_or_Introversion (once)" in note
        for note in benchmark.notes()
    )
    (gold,) = benchmark.gold()
    (item,) = benchmark.items()
    texts = {product.id: product.text for product in benchmark.products()}
    assert texts[item.products[int(gold.label or "")]] == ROW["chosen"]
    assert gold.extra == {"tier": "medium"}


def test_the_same_pair_in_two_tiers_stays_two_items_with_their_own_gold(tmp_path: Path) -> None:
    write(tmp_path / "persona_all" / "a_1.json", PERSONA)
    turned = {"user_id": "a_1", "question": ROW["question"], "chosen": ROW["reject"], "reject": ROW["chosen"]}
    write(tmp_path / "rm_benchmark_all" / "general_easy.jsonl", {"user_id": "a_1", **ROW})
    write(tmp_path / "rm_benchmark_all" / "general_hard.jsonl", turned)
    benchmark = PersonaFeedback(tmp_path)
    easy, hard = benchmark.items()
    assert easy.id != hard.id
    assert easy.hash == hard.hash
    labels = [gold.label for gold in benchmark.gold()]
    assert sorted(label or "" for label in labels) == ["0", "1"]


def test_unknown_person_is_named_with_file_line_and_field(tmp_path: Path) -> None:
    write(tmp_path / "persona_all" / "a_1.json", PERSONA)
    write(
        tmp_path / "rm_benchmark_all" / "general_easy.jsonl",
        {"user_id": "a_1", **ROW},
        {"user_id": "b", **ROW},
    )
    with pytest.raises(
        UserError, match=r"general_easy.jsonl, line 2, field 'user_id': there is no persona 'b'"
    ):
        list(PersonaFeedback(tmp_path).items())


def test_a_name_is_found_however_its_accents_are_composed_and_hidden_files_are_no_people(
    tmp_path: Path,
) -> None:
    composed, decomposed = "Jos\u00e9_1", "Jose\u0301_1"
    write(tmp_path / "persona_all" / f"{decomposed}.json", PERSONA)
    (tmp_path / "persona_all" / "._a.json").write_bytes(b"\x00\x05")
    rows = [{"user_id": name, **ROW} for name in (composed, decomposed)]
    write(tmp_path / "rm_benchmark_all" / "general_easy.jsonl", *rows)
    benchmark = PersonaFeedback(tmp_path)
    assert [person.id for person in benchmark.people()] == [composed]
    assert [item.person for item in benchmark.items()] == [composed, composed]


def test_published_tables_add_up() -> None:
    """Row-weighted averages of the quoted tiers reproduce the quoted averages, so no figure was mistyped."""
    raw = json.loads(
        (Path(__file__).parents[2] / "src/personafit/benchmarks/published/personafeedback.json").read_text(
            "utf-8"
        )
    )
    sizes = raw["sizes"]["pairs"]
    assert sum(size for name, size in sizes.items() if name) == sizes[""] == 8298
    checked = 0
    for row in raw["scores"]:
        scores = row["scores"]
        if not row["source"].endswith("Table 3"):
            continue
        for half in ("specific", "general"):
            tiers = [f"{half}/{tier}" for tier in ("easy", "medium", "hard")]
            mean = sum(scores[t] * sizes[t] for t in tiers) / sum(sizes[t] for t in tiers)
            assert mean == pytest.approx(scores[half], abs=1.0), row["model"]
            checked += 1
    assert checked == 62
    assert sum(row["percent"] for row in raw["scenarios"]["rows"]) == pytest.approx(100, abs=0.1)


def test_two_copies_of_a_tier_are_refused(tmp_path: Path) -> None:
    """They would have the same ids, and one would take the place of the other."""
    (tmp_path / "rm_benchmark_all").mkdir()
    for name in ("general_mid", "general_medium"):
        (tmp_path / "rm_benchmark_all" / f"{name}.jsonl").write_text("", encoding="utf-8")
    with pytest.raises(UserError, match=r"general_medium.jsonl and .*general_mid.jsonl both hold"):
        PersonaFeedback(tmp_path)


def test_the_check_lists_the_faults_of_every_file(personafit: Command, tmp_path: Path) -> None:
    write(tmp_path / "persona_all" / "a_1.json", PERSONA)
    write(tmp_path / "rm_benchmark_all" / "general_easy.jsonl", {"user_id": "b_2", **ROW}, {"user_id": "a_1"})
    write(tmp_path / "rm_benchmark_all" / "general_hard.jsonl", {"user_id": "a_1", **ROW, "chosen": ["x"]})
    said = personafit("data", "check", "personafeedback", "--data", str(tmp_path), code=1).out
    assert [line.partition("general_")[2] for line in said.splitlines()[:-1]] == [
        "easy.jsonl, line 1, field 'user_id': there is no persona 'b_2' in this folder.",
        "easy.jsonl, line 2, field 'question' is missing.",
        "easy.jsonl, line 2, field 'chosen' is missing.",
        "easy.jsonl, line 2, field 'reject' is missing.",
        "hard.jsonl, line 1, field 'chosen' must be a text, not a list.",
    ]


def test_a_file_named_after_no_tier_is_left_out_aloud(tmp_path: Path) -> None:
    write(tmp_path / "persona_all" / "a_1.json", PERSONA)
    for name in ("general_easy", "general_harder"):
        write(tmp_path / "rm_benchmark_all" / f"{name}.jsonl", {"user_id": "a_1", **ROW})
    benchmark = PersonaFeedback(tmp_path)
    assert len(list(benchmark.items())) == 1
    assert any(note.startswith("general_harder.jsonl is left out") for note in benchmark.notes())
    write(tmp_path / "hub" / "persona" / "all_personas.jsonl", PERSONA)
    for name in ("general/easy", "general/train", "other/easy"):
        write(tmp_path / "hub" / "data" / f"{name}.jsonl", {"user_id": 1, **ROW})
    left = [note.split()[0] for note in PersonaFeedback(tmp_path / "hub").notes() if "is left out" in note]
    assert left == ["train.jsonl", "easy.jsonl"]
