"""The ontology as data: ours is complete and can be read by the counting rules, and a broken one is named where it is broken."""

import tomllib
from pathlib import Path

import pytest

from personafit import UserError
from personafit.build.tasks.ontology import OURS, read_definitions, read_ontology
from personafit.raters.counting import Said, mark_turns, preferences_of

SMALL = """
[Tea]
zh = "茶"
excludes = [["Kind: green", "Milk: oat milk"]]
[Tea.attributes.Kind]
zh = "种类"
take = "one"
en = "drank {} tea"
says_zh = "喝{}"
values = { "green" = "绿茶", "black" = "红茶", "white" = "白茶" }
[Tea.attributes.Milk]
zh = "奶"
take = "several"
en = "took {}"
says_zh = "加{}"
values = { "oat milk" = "燕麦奶", "cow's milk" = "牛奶", "soy milk" = "豆奶" }
[Tea.attributes.Cup]
zh = "杯子"
take = "one"
en = "used the {}"
says_zh = "用{}"
values = { "mug" = "马克杯", "glass" = "玻璃杯", "bowl" = "碗" }
[Tea.attributes."Disliked spices"]
zh = "不爱的香料"
take = "several"
avoid = true
en = "never wanted {}"
says_zh = "不要{}"
values = { "clove" = "丁香", "ginger" = "姜", "pepper" = "胡椒" }
"""


def test_ours_has_twenty_domains_or_more_and_a_task_for_every_attribute() -> None:
    ontology = read_ontology()
    definitions = read_definitions(ontology)
    assert len(ontology.domains) >= 20
    assert all(4 <= len(domain.attributes) <= 8 for domain in ontology.domains.values())
    assert {path for one in definitions for path in one.uses} == set(ontology.paths())
    assert {len(one.domains) for one in definitions} >= {1, 2, 3}
    assert any(domain.excludes for domain in ontology.domains.values())


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_counting_rules_find_every_value_of_ours_and_no_other_in_its_sentence(language: str) -> None:
    ontology = read_ontology()
    closed = ontology.closed(language)
    for name, domain in ontology.domains.items():
        usual = {attribute: next(iter(one.values)) for attribute, one in domain.attributes.items()}
        for attribute, one in domain.attributes.items():
            for value in one.values:
                facets = {
                    f"{name}.{other}": [entry.said(value if other == attribute else usual[other], language)]
                    for other, entry in domain.attributes.items()
                }
                shown = one.shown((value,), language)
                text = f"In March they {shown}." if language == "en" else f"三月，{shown}。"
                preferences = preferences_of(facets, list(facets), closed)
                marks = [
                    m for m in mark_turns([Said("assistant", text)], preferences, "") if m.kind != "invents"
                ]
                assert {(m.kind, m.path) for m in marks} == {("covers", f"{name}.{attribute}")}, text


def test_a_file_of_ones_own_is_read(tmp_path: Path) -> None:
    (tmp_path / "tea.toml").write_text(SMALL, encoding="utf-8")
    ontology = read_ontology(tmp_path / "tea.toml")
    assert ontology.as_closed_lists()["Tea"]["Milk"] == {
        "values": ["oat milk", "cow's milk", "soy milk", "燕麦奶", "牛奶", "豆奶"],
        "multiple": True,
    }
    with pytest.raises(
        UserError, match=r"tasks\.toml, single task 1, uses: the ontology has no 'Cooking\.Diet'"
    ):
        read_definitions(ontology)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("[Tea]\n", "[Tea\n", "is not TOML"),
        (
            'take = "one"\nen = "drank',
            'take = "two"\nen = "drank',
            "Tea.attributes.Kind.take",
        ),
        ("drank {} tea", "drank tea", "Tea.attributes.Kind.en"),
        ('"Kind: green", ', '"Kind: gren", ', "'Kind: gren' is no"),
        (
            '"white" = "白茶"',
            '"greens" = "白茶"',
            "Tea.attributes.Kind': 'greens' and 'green' are the same words",
        ),
        ("avoid = true\n", "", "attribute 'Disliked spices': what people do not want has `avoid = true`"),
        ('zh = "茶"\n', 'zh = "茶"\nbarred = { toddler = [] }\n', "Tea.barred.toddler"),
        (
            'zh = "茶"\n',
            'zh = "茶"\nbarred = { minor = ["Cup: mug", "Cup: glass", "Cup: bowl"] }\n',
            "attribute 'Cup': nothing is left for minor",
        ),
        ('[Tea.attributes.Cup]\nzh = "杯子"\n', "[Tea.attributes.Cup]\n", "Tea.attributes.Cup.zh"),
    ],
)
def test_a_broken_file_is_named_with_domain_and_attribute(
    tmp_path: Path, old: str, new: str, sentence: str
) -> None:
    assert old in SMALL
    path = tmp_path / "tea.toml"
    path.write_text(SMALL.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(UserError) as refused:
        read_ontology(path)
    assert str(path) in str(refused.value)
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[[singel]]\n", "field 'singel'"),
        ('[[single]]\nuses = ["Tea.Kind", "Tea.Cup"]\n', "field 'single.0.en'"),
        ("", "no [[single]] task for the domain 'Tea'"),
    ],
)
def test_a_broken_file_of_tasks_is_named_too(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "tea.toml").write_text(SMALL, encoding="utf-8")
    path = tmp_path / "tasks.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError) as refused:
        read_definitions(read_ontology(tmp_path / "tea.toml"), path)
    assert sentence in str(refused.value)


def test_no_value_stands_twice_in_ours() -> None:
    for name, domain in tomllib.loads(OURS.read_text(encoding="utf-8")).items():
        chinese = [zh for one in domain["attributes"].values() for zh in one["values"].values()]
        english = [en for one in domain["attributes"].values() for en in one["values"]]
        assert len(set(chinese)) == len(chinese), name
        assert len(set(english)) == len(english), name
