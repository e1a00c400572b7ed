"""The file of a fitted model: `fitted.json`, and beside it `fitted.npz` where a model has large arrays.

    {"format": "personafit-fitted", "version": 2, "answers": "choice", "fingerprint": "5dbb788b…",
     "fitted_on": ["00a2036a", …], "card": {"pairs": 2287, …}, "model": {…}}

`answers` says which question the model was fitted to answer, and by that which class reads `model`. `fitted_on` are hashes
of the people or prompts it was fitted on, `card` says how. A small model may be a single file of any name that ends in
.json, as those are that come with the package. The files hold numbers and names: nothing in them is run or unpickled.
"""

import io
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit._names import is_name
from personafit.models import Spec
from personafit.raters.fitted.model import Answers, FittedModel

if TYPE_CHECKING:
    from personafit.raters.fitted.head import PreferenceHead
    from personafit.raters.fitted.matcher import Matcher
    from personafit.raters.fitted.pairwise import PairwiseModel
    from personafit.raters.fitted.verifier import Verifier

FORMAT, VERSION = "personafit-fitted", 2
FILE_NAME = "fitted.json"
SHIPPED = Path(__file__).parent / "shipped"

TASKS: dict[str, str] = {
    "choice": "choose between answers",
    "relevance": "say which attributes matter",
    "preference": "mark how much an answer gains by an attribute",
    "attribute": "say whether an attribute is true of a person",
}
"""What a model of each kind does."""
COMMANDS: dict[str, str] = {
    "choice": "train pairwise",
    "relevance": "train matcher",
    "preference": "train preference",
    "attribute": "train verifier",
}
"""What fits a model of each kind."""


@overload
def open_fitted(source: Spec | str | Path, asked: Literal["choice"]) -> "PairwiseModel": ...
@overload
def open_fitted(source: Spec | str | Path, asked: Literal["relevance"]) -> "Matcher": ...
@overload
def open_fitted(source: Spec | str | Path, asked: Literal["preference"]) -> "PreferenceHead": ...
@overload
def open_fitted(source: Spec | str | Path, asked: Literal["attribute"]) -> "Verifier": ...
@overload
def open_fitted(source: Spec | str | Path, asked: None = None) -> FittedModel: ...
def open_fitted(source: Spec | str | Path, asked: Answers | None = None) -> FittedModel:
    """The model of a spec such as `fitted:DIR`, of a folder or a file, or of a name that comes with the package.

    Files of earlier formats are read too, with a note. A UserError says what is wrong with a file, and whether it was fitted
    to answer another question than the one `asked`.
    """
    text = source.text if isinstance(source, Spec) else str(source)
    name = source if isinstance(source, Path) else text.removeprefix("fitted:")
    if isinstance(source, Spec):
        name = source.name
    command = COMMANDS.get(asked or "", "train")
    if not str(name):
        raise UserError(f"{text}: name the folder that `personafit {command}` wrote, as fitted:DIR.")
    path = _find(name, asked)
    with _reading(path, command, asked):
        document, earlier = _document(path)
        answers = document["answers"]
        if answers not in TASKS:
            raise ValueError(f"it answers {answers!r:.80}, which this program knows nothing of")
        if asked is not None and answers != asked:
            raise UserError(f"{text} was fitted to {TASKS[answers]} ({answers}); it cannot {TASKS[asked]}.")
        kept = {"card": dict(document["card"]), "fitted_on": frozenset(map(str, document["fitted_on"]))}
        if earlier and answers == "choice":
            kept["file_hash"] = document["fingerprint"]
        kind = _class_of(answers)
        model = kind.of(document["model"], _arrays_of(kind, path.with_suffix(".npz")), **kept)
        if model.fingerprint != document["fingerprint"]:
            raise ValueError("it was changed after it was written, or its two files do not belong together")
    if earlier:
        _note_earlier(str(path), COMMANDS[answers])
    try:
        model.check()
    except UserError as error:
        raise UserError(f"{text}: {error}") from error
    return model


def save_fitted(model: FittedModel, place: Path) -> Path:
    """Write a model into a folder, or as a file where a `place` that is no folder ends in .json; returns the file's path."""
    path = place if place.suffix == ".json" and not place.is_dir() else place / FILE_NAME
    document = {
        "format": FORMAT,
        "version": VERSION,
        "answers": model.answers,
        "fingerprint": model.fingerprint,
        "fitted_on": sorted(model.fitted_on),
        "card": dict(model.card),
        "model": model.numbers,
    }
    text = json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    if model.array_names:
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **model.arrays)
        _write(path.with_suffix(".npz"), buffer.getvalue())
    _write(path, text.encode("utf-8"))
    return path


def _write(path: Path, content: bytes) -> None:
    partial = path.with_name(f".{path.name}.partial")
    partial.write_bytes(content)
    os.replace(partial, path)


def _find(name: str | Path, asked: Answers | None) -> Path:
    """The JSON file of a model; one that is not there has the path it would have."""
    if isinstance(name, str) and is_name(name) and (SHIPPED / f"{name}.json").is_file():
        return SHIPPED / f"{name}.json"
    path = Path(name).expanduser()
    if not path.is_dir():
        return path
    earlier = sorted(EARLIER_FILES, key=lambda answers: answers != asked)
    files = [FILE_NAME, *(EARLIER_FILES[answers] for answers in earlier)]
    return next((path / file for file in files if (path / file).exists()), path / FILE_NAME)


def _document(path: Path) -> tuple[dict[str, Any], bool]:
    """What a file holds, as version 2 has it, and whether it is of an earlier format."""
    content = path.read_bytes()
    document = json.loads(content)
    if not isinstance(document, dict):
        raise ValueError("it is not an object in JSON")
    if document.get("format") != FORMAT:
        return as_version_2(document, content), True
    if document.get("version") != VERSION:
        raise ValueError(f"it has version {document.get('version')!r}; this program reads {VERSION}")
    return document, False


def _arrays_of(kind: type[FittedModel], path: Path) -> dict[str, Any]:
    if not kind.array_names:
        return {}
    with np.load(path, allow_pickle=False) as file:
        if missing := [name for name in kind.array_names if name not in file]:
            raise ValueError(f"{path.name} lacks the array {missing[0]!r}")
        return {name: file[name] for name in kind.array_names}


def _class_of(answers: Answers) -> type[FittedModel]:
    """Loaded when it is needed: a run of one kind has no use for the others."""
    if answers == "choice":
        from personafit.raters.fitted.pairwise import PairwiseModel

        return PairwiseModel
    if answers == "relevance":
        from personafit.raters.fitted.matcher import Matcher

        return Matcher
    if answers == "preference":
        from personafit.raters.fitted.head import PreferenceHead

        return PreferenceHead
    from personafit.raters.fitted.verifier import Verifier

    return Verifier


@contextmanager
def _reading(path: Path, command: str, asked: Answers | None) -> Iterator[None]:
    """Whatever is wrong with a file becomes one sentence."""
    try:
        yield
    except UserError:
        raise
    except FileNotFoundError as error:
        raise UserError(
            f"{error.filename} is missing; `personafit {command} --out DIR` writes one{_shipped(asked)}."
        ) from error
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror or error}).") from error
    except Exception as error:  # a damaged file fails in as many ways as there are fields
        what = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        if not isinstance(error, KeyError | ValueError):
            what = f"{type(error).__name__}: {error}"
        raise UserError(f"{path} is no fitted model that can be used: {what}.") from error


def _shipped(asked: Answers | None) -> str:
    names = [
        path.stem
        for path in sorted(SHIPPED.glob("*.json"))
        if asked in (None, json.loads(path.read_bytes())["answers"])
    ]
    return f", and the package brings {', '.join(names)}" if names else ""


@cache
def _note_earlier(path: str, command: str) -> None:
    print(
        f"personafit: {path} is in an earlier file format, which is still read; `personafit {command} --out DIR` writes "
        "the present one.",
        file=sys.stderr,
    )


# -- earlier formats ----------------------------------------------------------------------------------------------------
# Each kind of model had its own before version 2: they are read, never written. Their numbers are those of version 2 under other
# headings, and their fingerprints stay what they were, so that stored judgments are still recognised.

EARLIER_FILES: dict[str, str] = {
    "choice": "model.json",
    "relevance": "matcher.json",
    "preference": "head.json",
    "attribute": "verifier.json",
}
"""What a folder held, by what it answers; arrays were beside it under the same name, as they are now."""
_FORMATS = {
    "personafit.pairwise": "choice",
    "personafit.matcher": "relevance",
    "personafit.verifier": "attribute",
}
_VERSION = 1
_HEADINGS = ("format", "version", "fingerprint", "fitted_on", "card")
_HEAD = ("features", "embedder", "fingerprint", "fitted_on")


def as_version_2(document: Mapping[str, Any], content: bytes) -> dict[str, Any]:
    """A document of an earlier format as one of version 2; a ValueError where it is of none."""
    form = document.get("format")
    if form is None and str(document.get("features")).startswith("preference-head"):
        return _head_of(document)
    if not isinstance(form, str) or form not in _FORMATS:
        raise ValueError('it lacks "format": "personafit-fitted"')
    if document.get("version") != _VERSION:
        raise ValueError(
            f"it has version {document.get('version')!r} of {form}; this program reads version {_VERSION}"
        )
    card = dict(document.get("card", {}))
    found = {
        "answers": _FORMATS[form],
        "model": {key: value for key, value in document.items() if key not in _HEADINGS},
        "card": card,
    }
    if form == "personafit.pairwise":
        # It was known by its bytes, and kept its people in the card.
        return found | {"fitted_on": card.pop("fitted_on", []), "fingerprint": hash_text(content)}
    return found | {"fitted_on": document.get("fitted_on", []), "fingerprint": document["fingerprint"]}


def _head_of(document: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "answers": "preference",
        "fingerprint": document["fingerprint"],
        "fitted_on": document["fitted_on"],
        "card": {key: value for key, value in document.items() if key not in _HEAD},
        "model": {"features": document["features"], "embedder_fingerprint": document["embedder"]},
    }
