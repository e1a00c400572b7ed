"""Faults in the file are one sentence that says which key and what was meant."""

from pathlib import Path

import pytest

from personafit import UserError
from personafit.build import EXAMPLE, read_config
from tests.scripted import invoke

FAULTS = {
    "[people]\nquata = 3": "[people] has no key 'quata'; did you mean 'quota'",
    "[peeple]\nquota = 3": "there is no section [peeple]; did you mean 'people'",
    "[people]\nquota = 0": "[people] quota: input should be greater than or equal to 1",
    '[people]\nseeds = "none.jsonl"': "[people]: seeds: there is no file",
    '[people]\nfields = ["Socail"]': "there is no field 'Socail'; did you mean 'Social'",
    "[memories]\nper_person = 2": "sampled = 4 is more than the 2 memories a person has",
    '[memories]\ncorpora = ["none.jsonl"]': "corpora: there is no file",
    '[models]\nanswerers = ["a:1", "a:1"]': "answerers names 'a:1' twice",
    '[models]\nanswerers = ["a:1", "a:2", "a:3", "a:4", "a:5"]': "[models] answerers: list should have at most 4",
    '[build]\nlanguages = ["fr"]': "[build] languages.0",
    '[build]\nlanguages = ["en", "en"]': "[build] languages names 'en' twice",
    '[models]\nwritter = "embedded"': "[models] has no key 'writter'; did you mean 'writer'",
    "[build]\nbudget = -1": "[build] budget: input should be greater than or equal to 0",
    "[questions]\nshares = {health = 0.5, finance = 0.4}": "[questions]: shares add up to 0.9, not to 1",
    "[questions]\nshares = {helth = 1.0}": "there is no category 'helth'; did you mean 'health'",
    "[questions]\nshares = {health = 1.5, finance = -0.5}": "shares.finance = -0.5 is less than nothing",
    "[questions]\nspecific = 0\ngeneral = 0": "there is nothing to ask",
    '[questions]\npool = ["none.jsonl"]': "pool: there is no file",
    "[questions]\nspecifik = 3": "has no key 'specifik'; did you mean 'specific'",
    "[questions]\n[answers]\nmaskd = 0.5": "did you mean 'masked'",
    "[studies]\nraters = 8": "raters = 8 can split evenly",
    "[studies]\nraters = 1": "greater than or equal to 3",
    '[studies]\nvotes = ["none.jsonl"]': "votes: there is no file",
    '[studies]\nvoters = "simulated"\nvotes = ["build.toml"]': "votes are people's",
    "[studies]\nvoter = 1": "did you mean 'voters'",
    '[models]\nanswerers = ["template", "a:1"]': "answerers: 'template' answers alone",
    '[models]\nwriter = "template"\n[pairs]': "templates make no training pairs",
    "[tasks]\ndomains = [9, 30]": "must go from 1 to at most 24",
    "[tasks]\nsingle = 0\nmulti = 0": "nobody would want anything",
    '[tasks]\nontology = "none.toml"': "none.toml cannot be read",
    "people = 3": "'people' is a section",
    "[people": "is not TOML",
}


@pytest.mark.parametrize("text", FAULTS, ids=range(len(FAULTS)))
def test_a_fault_is_one_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "build.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError) as caught:
        read_config(path)
    assert FAULTS[text] in str(caught.value)
    assert str(tmp_path) in str(caught.value)
    assert list(tmp_path.iterdir()) == [path], "nothing was begun"


def test_the_example_is_written_once_and_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    invoke(monkeypatch, tmp_path, "build", "--example")
    assert (tmp_path / "build.toml").read_text(encoding="utf-8") == EXAMPLE.read_text(encoding="utf-8")
    invoke(monkeypatch, tmp_path, "build", "--example", code=2)
    assert "is there already" in capsys.readouterr().err
    invoke(monkeypatch, tmp_path, "build", "build.toml", "--dry-run")
    assert "people: screening by embedded: about 3 calls" in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == ["build.toml"]
    invoke(monkeypatch, tmp_path, "build", "build.toml", code=2)
    assert "needs --out DIR" in capsys.readouterr().err


def test_what_the_example_leaves_out_can_be_put_in(tmp_path: Path) -> None:
    """Its last sections are comments; without the marks, and with files that are there, they are a config too."""
    kept, mark, rest = EXAMPLE.read_text(encoding="utf-8").partition("# [tasks]")
    said = (mark + rest).replace("\n# ", "\n").removeprefix("# ")
    (tmp_path / "other-benchmark").mkdir()
    path = tmp_path / "build.toml"
    kept = kept.replace("training = 0", "training = 2").replace('"template"', '"embedded"')
    path.write_text(kept + said, encoding="utf-8")
    config = read_config(path)
    assert {"tasks", "pairs"} <= set(config.sections)


def test_a_step_that_needs_an_absent_section_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "build.toml").write_text("[memories]\n", encoding="utf-8")
    invoke(monkeypatch, tmp_path, "build", "build.toml", "--dry-run", code=2)
    error = capsys.readouterr().err
    assert "The step 'memories' needs what 'people' makes: add a section [people]" in error
