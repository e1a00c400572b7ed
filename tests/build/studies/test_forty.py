"""A benchmark of forty people: questions come from many features, and no surface rule tells the better answer."""

import re
from collections import Counter
from pathlib import Path

import pytest

import personafit as pf
from personafit.build import Stopped
from personafit.build.studies.balance import REPORTED
from personafit.models import Message
from tests.build.answers import models
from tests.build.answers.building import rows, write_config
from tests.build.builds import lines, run_build
from tests.scripted import write_lines

QUESTIONS = 6


def writer(messages: list[Message]) -> str:
    """As able, but a feature says what one memory says; answers say something of the person now and then, in one form whatever is told of
    whom, and nothing where nothing is told."""
    asked = messages[-1]["content"]
    if "They ask: " in asked and "\n- " not in asked:
        own = "".join(chr(97 + int(digit)) for digit in str(models.mark(asked))[-6:])
        known = f"Would be glad of advice on this: Bought an old bicycle pump, number {models.mark(asked) % 12 + 1} of {own}"
        messages = [{"role": "user", "content": f"{asked}\n- {known}"}]
    if "[2, 5]" in asked:
        notes = re.findall(r"^\d+\. (.+)$", asked.partition("features")[0] or asked, re.MULTILINE)
        count = int(re.search(r"Give (\d+)", asked)[1])  # type: ignore[index]
        return "\n".join(
            f"{n}. Would be glad of advice on this: {note} [{n}]" for n, note in enumerate(notes[:count], 1)
        )
    said = models.able(messages)
    if "Somebody asks: " in asked:
        return re.sub(r"what would you choose in matter q\d+\?", "something small", said)
    return said if "They ask: " not in asked or models.mark(asked) % 3 else said.replace("you could ", "")


def _votes(study: Path) -> list[dict[str, str]]:
    """Three people's votes, by a taste that goes by nothing on the surface; they differ now and then."""
    texts = {row["id"]: row["text"] for row in lines(study / "products.jsonl")}
    found = []
    for item in lines(study / "items.jsonl"):
        shown = [texts[product] for product in item["products"]]
        for rater in "123":
            own = rater if models.mark(f"{rater}{sorted(shown)}") % 4 == 0 else ""
            tastes = [models.mark(f"{own}{text}") for text in shown]
            found.append({"item": item["id"], "rater": rater, "label": str(tastes.index(max(tastes)))})
    return found


@pytest.mark.slow
def test_no_feature_serves_a_third_of_the_questions_and_no_surface_rule_passes_55(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [f"{study}.jsonl" for study in ("truth", "pairs")]
    for name in files:
        write_lines(tmp_path / name, [])
    config = write_config(
        tmp_path,
        studies=f"raters = 3\npairs = 2\nvotes = {files}",
        people=40,
        questions=f"specific = {QUESTIONS}\ngeneral = 0\nsimilarity = 1.0",
        more="[memories]\nper_person = 12\nsampled = 4\nfeatures = 3\n",
    )
    text = config.read_text(encoding="utf-8").replace(f"{models.__name__}:able", f"{__name__}:writer")
    config.write_text(text, encoding="utf-8")
    out = tmp_path / "out"
    for name in files:
        with pytest.raises(Stopped):
            run_build(config, out)
        write_lines(tmp_path / name, _votes(out / "studies" / name.removesuffix(".jsonl")))
    run_build(config, out)
    people = {
        row["id"]: {one["id"]: one["text"] for one in row["attributes"]}
        for row in lines(out / "people.jsonl")
    }
    asked = rows(out, "questions")
    assert len(asked) == 40 * QUESTIONS
    for person, known in people.items():
        used = Counter(known[name] for row in asked if row["person"] == person for name in row["features"])
        assert sum(used.values()) == 3 * QUESTIONS
        assert max(used.values()) <= QUESTIONS / 3, (person, used)
    answers, told = rows(out, "answers"), {row["id"]: row for row in lines(out / "products.jsonl")}
    for way in ("A1", "wrong-person"):  # of somebody else as many features are told
        given = [told[row["given"]]["parents"] for row in answers if row["strategy"] == way]
        assert {sum(re.fullmatch(r"f\d+", one) is not None for one in parents) for parents in given} == {3}
    monkeypatch.chdir(tmp_path)
    found = pf.audit(out).results
    assert {row["n"] > 100 for row in found.iter_rows(named=True)} == {True}
    balanced = {
        f"rule:{name}" for name in REPORTED
    }  # in every tier; of the others a tier is too few pairs to say
    assert balanced < {*found["rater"]}
    high = {
        (row["rater"], str(row["slice"])): row["value"]
        for row in found.iter_rows(named=True)
        if row["value"] > 0.55 and (row["rater"] in balanced or not row["slice"])
    }
    assert high == {}, "a surface rule tells the better answer"
    assert "One feature serves at most 33%" in (out / "card.md").read_text(encoding="utf-8")
