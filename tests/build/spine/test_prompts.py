"""Every prompt is there in both languages with the same gaps, belongs to its step, and so does every reason for asking again."""

import ast
import string
from pathlib import Path

import pytest

from personafit import UserError, build
from personafit.build import Unfit, read_config
from personafit.build.line import STEPS, steps_of
from personafit.build.prompts import PROMPTS as OURS
from personafit.build.prompts import again_words
from tests.build.builds import lines, run_build, write_build

HERE = Path(build.__file__).parent
PROMPTS = {prompt.name: prompt for step in steps_of(STEPS) for prompt in step.prompts}


def _gaps(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize("name", sorted(PROMPTS))
def test_a_prompt_has_both_languages_and_the_same_gaps(name: str) -> None:
    prompt = PROMPTS[name]
    for texts in filter(None, (prompt.user, prompt.system)):
        assert set(texts) == {"en", "zh"}
        assert _gaps(texts["en"]) == _gaps(texts["zh"])
        wide = sum("\u4e00" <= character <= "\u9fff" for character in texts["zh"])
        assert wide > 0.2 * len(texts["zh"])
        assert not any("\u4e00" <= character <= "\u9fff" for character in texts["en"])
    assert prompt.version >= 1


def test_no_prompt_is_outside_its_steps_fingerprint() -> None:
    assert set(PROMPTS) == set(OURS)


def test_every_prompt_stands_beside_the_papers() -> None:
    """A prompt that is new, or has a new version, belongs on the page that compares ours with what the papers ask."""
    page = (Path(__file__).parents[3] / "docs" / "measurements" / "prompts.md").read_text(encoding="utf-8")
    assert {prompt.label for prompt in OURS.values() if f"`{prompt.label}`" not in page} == set()


def test_prompts_of_ones_own_are_asked_and_named_in_the_lineage(tmp_path: Path) -> None:
    own = tmp_path / "mine.toml"
    own.write_text(
        '["people.screen"]\nversion = 7\nuser.en = "MINE {person} one letter"\nuser.zh = "{person}"\n',
        encoding="utf-8",
    )
    sections = "[people]\nquota = 2\nfields = []\nsimilarity = 1.0\n"
    run_build(write_build(tmp_path, sections, ""), tmp_path / "out")
    assert "MINE" not in (tmp_path / "calls.txt").read_text(encoding="utf-8")
    config = write_build(tmp_path, sections, 'prompts = "mine.toml"')
    assert run_build(config, tmp_path / "out").done == ["people"], "other words are another instrument"
    assert (tmp_path / "calls.txt").read_text(encoding="utf-8").splitlines()[-1].startswith("MINE ")
    makers = lines(tmp_path / "out" / "makers.jsonl")
    assert {row["prompt"] for row in makers} == {"people.screen-1", "people.screen-7"}
    assert run_build(config, tmp_path / "out").done == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('["people.scren"]\nversion = 1\nuser = {en = "", zh = ""}', "there is no prompt 'people.scren'"),
        ('["people.screen"]\nversion = 1\nuser = {en = "{person}"}', "'people.screen', field 'user.zh'"),
        (
            '["people.screen"]\nversion = 1\nuser = {en = "{who}", zh = "{person}"}',
            "en: {person} is missing; its gaps are person",
        ),
        (
            '["people.screen"]\nversion = 1\nuser = {en = "{person} {who}", zh = "{person}"}',
            "{who} is unknown",
        ),
        (
            '["people.screen"]\nversion = 1\nuser = {en = "{person", zh = "{person}"}',
            "write {{ and }} for braces",
        ),
        ("=", "is not TOML"),
    ],
)
def test_a_fault_in_ones_own_prompts_is_a_sentence(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    config = write_build(tmp_path, "[people]\n", 'prompts = "mine.toml"')
    with pytest.raises(UserError) as raised:
        read_config(config)
    assert said in str(raised.value)
    assert "mine.toml" in str(raised.value)


def test_every_reason_for_asking_again_is_in_both_languages() -> None:
    bare = [
        f"{path.name}:{node.lineno}"
        for path in HERE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Unfit" and len(node.args) != 2
    ]
    assert not bare
    unfit = Unfit("it is empty", "内容是空的")
    again = again_words(unfit.said("zh"), "zh")
    assert "内容是空的" in again
    assert not any(character.isascii() and character.isalpha() for character in again)
    assert unfit.said("en") == str(unfit) == "it is empty"
