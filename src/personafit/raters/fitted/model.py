"""What every fitted model has, and its file: `fitted.json`, and beside it `fitted.npz` where a model has large arrays.

    {"format": "personafit-fitted", "version": 2, "answers": "choice", "fingerprint": "5dbb788b…",
     "fitted_on": ["00a2036a", …], "card": {"pairs": 2287, …}, "model": {…}}

`answers` says which question the model was fitted to answer, and by that which class reads `model`. `fitted_on` are hashes
of the people or prompts it was fitted on, `card` says how. A small model may be a single file of any name that ends in
.json, as those are that come with the package. The files hold numbers and names: nothing in them is run or unpickled.
"""

import asyncio
import io
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit._names import is_name
from personafit.items.reading import QuestionSet, Unit, Verdict
from personafit.models import Spec
from personafit.raters.rater import ScoredRater

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class FittedModel(ABC):
    """A model that was fitted on people's judgments: what its files hold, and how it scores by that."""

    numbers: Mapping[str, Any]
    """What the file has as `model`."""
    arrays: Mapping[str, Any] = field(default_factory=dict)
    """What the .npz file has, by the names of `array_names`."""
    card: Mapping[str, Any] = field(default_factory=dict)
    """How it was fitted, for people."""
    fitted_on: frozenset[str] = frozenset()
    """Hashes of the people or prompts it was fitted on."""
    file_hash: str = ""
    """Fingerprint of a file of version 1 that was known by its bytes."""

    answers: ClassVar[str]  # which question it was fitted to answer: one of `KINDS`
    array_names: ClassVar[tuple[str, ...]] = ()
    unit: ClassVar[str] = ""  # what it scores as a rater, as `ScoredRater.unit`
    on_scale: ClassVar[bool] = False  # whether its scores are marks on the question's own scale

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Hash of everything that can change an answer."""

    def check(self) -> None:  # noqa: B027  # most have nothing to check: the fingerprint tells what was changed
        """Raise what keeps this program from using the numbers, such as features that it does not know."""

    @cached_property
    def encoder(self) -> Any:
        """The embedder that its features come from, where it has one; another version of it is refused in a UserError."""
        from personafit.models.embeddings import DEFAULT, make_known_embedder

        made_by = self.numbers.get("embedder_fingerprint")
        return make_known_embedder(self.numbers.get("embedder", DEFAULT), made_by) if made_by else None

    def unit_scores(self, units: Sequence[Unit]) -> list[float]:
        raise NotImplementedError


class _Kind(NamedTuple):
    """Models that answer one question."""

    task: str
    command: str  # what fits one
    earlier: str  # its file before version 2; arrays were beside it under the same name, as they are now
    place: str  # its class, loaded when it is needed: a run of one kind has no use for the others


KINDS = {
    "choice": _Kind("choose between answers", "train pairwise", "model.json", "pairwise:PairwiseModel"),
    "relevance": _Kind("say which attributes matter", "train matcher", "matcher.json", "matcher:Matcher"),
    "preference": _Kind(
        "mark how much an answer gains by an attribute",
        "train preference",
        "head.json",
        "head:PreferenceHead",
    ),
    "attribute": _Kind(
        "say whether an attribute is true of a person", "train verifier", "verifier.json", "verifier:Verifier"
    ),
}
FORMAT, VERSION = "personafit-fitted", 2
FILE_NAME = "fitted.json"
SHIPPED = Path(__file__).parent / "shipped"


def open_fitted(source: Spec | str | Path, asked: str | None = None) -> Any:
    """The model of a spec such as `fitted:DIR`, of a folder or a file, or of a name that comes with the package.

    Files of earlier formats are read too. A UserError says what is wrong with a file, and whether it was fitted
    to answer another question than the one `asked`.
    """
    text = source.text if isinstance(source, Spec) else str(source)
    name = source.name if isinstance(source, Spec) else source
    name = name.removeprefix("fitted:") if isinstance(name, str) else name
    command = KINDS[asked].command if asked else "train"
    if not str(name):
        raise UserError(f"{text}: name the folder that `personafit {command}` wrote, as fitted:DIR.")
    path = _find(name, asked)
    with _reading(path, command, asked):
        content = path.read_bytes()
        document, earlier = _present(json.loads(content), content)
        answers = document["answers"]
        if answers not in KINDS:
            raise ValueError(f"it answers {answers!r:.80}, which this version does not know")
        if asked is not None and answers != asked:
            raise UserError(
                f"{text} was fitted to {KINDS[answers].task} ({answers}); it cannot {KINDS[asked].task}."
            )
        kept: dict[str, Any] = {"card": dict(document["card"])}
        kept["fitted_on"] = frozenset(map(str, document["fitted_on"]))
        if earlier and answers == "choice":
            kept["file_hash"] = document["fingerprint"]
        module, _, called = KINDS[answers].place.partition(":")
        kind: type[FittedModel] = getattr(import_module(f"{__package__}.{module}"), called)
        model = kind(document["model"], _arrays_of(kind, path.with_suffix(".npz")), **kept)
        model.check()
        if model.fingerprint != document["fingerprint"]:
            raise ValueError("it was changed after it was written, or its two files do not belong together")
    try:
        _ = model.encoder
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
        np.savez_compressed(buffer, **dict(model.arrays))
        _write(path.with_suffix(".npz"), buffer.getvalue())
    _write(path, text.encode("utf-8"))
    return path


def _write(path: Path, content: bytes) -> None:
    partial = path.with_name(f".{path.name}.partial")
    partial.write_bytes(content)
    os.replace(partial, path)


def _find(name: str | Path, asked: str | None) -> Path:
    """Return the path of a model's JSON file, which need not exist."""
    if isinstance(name, str) and is_name(name) and (SHIPPED / f"{name}.json").is_file():
        return SHIPPED / f"{name}.json"
    path = Path(name).expanduser()
    if not path.is_dir():
        return path
    earlier = sorted(KINDS, key=lambda answers: answers != asked)
    files = [FILE_NAME, *(KINDS[answers].earlier for answers in earlier)]
    return next((path / file for file in files if (path / file).exists()), path / FILE_NAME)


def _arrays_of(kind: type[FittedModel], path: Path) -> dict[str, Any]:
    if not kind.array_names:
        return {}
    with np.load(path, allow_pickle=False) as file:
        if missing := [name for name in kind.array_names if name not in file]:
            raise ValueError(f"{path.name} lacks the array {missing[0]!r}")
        return {name: file[name] for name in kind.array_names}


@contextmanager
def _reading(path: Path, command: str, asked: str | None) -> Iterator[None]:
    """Turn errors of reading a model file into a UserError of one sentence."""
    try:
        yield
    except UserError:
        raise
    except FileNotFoundError as error:
        shipped = [
            path.stem
            for path in sorted(SHIPPED.glob("*.json"))
            if asked in (None, json.loads(path.read_bytes())["answers"])
        ]
        brings = f", and the package brings {', '.join(shipped)}" if shipped else ""
        raise UserError(
            f"{error.filename} is missing; `personafit {command} --out DIR` writes one{brings}."
        ) from error
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror or error}).") from error
    except Exception as error:  # a damaged file fails in as many ways as there are fields
        what = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        if not isinstance(error, KeyError | ValueError):
            what = f"{type(error).__name__}: {error}"
        raise UserError(f"{path} cannot be used as a fitted model: {what}.") from error


# -- as a rater ---------------------------------------------------------------------------------------------------------

KNOWN_AS = {"choice": "model", "relevance": "matcher", "preference": "head"}
"""Kinds of item that fitted models judge, and what a rater's settings call the model."""


class FittedRater(ScoredRater):
    """`fitted:`: the scores of a fitted model."""

    def __init__(self, spec: Spec, asks: QuestionSet) -> None:
        spec.allow(())
        if asks.kind not in KNOWN_AS:
            raise UserError(
                f"{spec.text}: fitted raters judge {', '.join(KNOWN_AS)} items, and cannot say {asks.by_score.sought}."
            )
        self._model = open_fitted(spec, asks.kind)
        self.unit, self.on_scale = self._model.unit, self._model.on_scale
        self.threshold = getattr(self._model, "threshold", None)
        self.endpoint = spec.text
        self.fitted_on = self._model.fitted_on
        settings = {KNOWN_AS[asks.kind]: self._model.fingerprint}
        self.judge_by(asks.by_score, spec.text, "fitted", settings)

    async def scores(self, units: Sequence[Unit], verdict: Verdict) -> list[float]:
        return await asyncio.to_thread(self._model.unit_scores, units)


# -- earlier formats ----------------------------------------------------------------------------------------------------
# Each kind of model had its own before version 2: they are read, never written. Their numbers are those of version 2 under other
# headings, and their fingerprints stay what they were, so that stored judgments are still recognised.

_EARLIER = {
    "personafit.pairwise": "choice",
    "personafit.matcher": "relevance",
    "personafit.verifier": "attribute",
}
_HEADINGS = ("format", "version", "fingerprint", "fitted_on", "card")
_HEAD = ("features", "embedder", "fingerprint", "fitted_on")


def _present(document: Any, content: bytes) -> tuple[dict[str, Any], bool]:
    """Return a file's document in the layout of version 2, and whether it was of an earlier format."""
    if not isinstance(document, dict):
        raise ValueError("it is not an object in JSON")
    form, version = document.get("format"), document.get("version")
    if form == FORMAT:
        if version != VERSION:
            raise ValueError(f"it has version {version!r}; this program reads {VERSION}")
        return document, False
    if form is None and str(document.get("features")).startswith("preference-head"):
        card = {key: value for key, value in document.items() if key not in _HEAD}
        numbers = {"features": document["features"], "embedder_fingerprint": document["embedder"]}
        return document | {"answers": "preference", "card": card, "model": numbers}, True
    if not isinstance(form, str) or form not in _EARLIER:
        raise ValueError('it lacks "format": "personafit-fitted"')
    if version != 1:
        raise ValueError(f"it has version {version!r} of {form}; this program reads version 1")
    card = dict(document.get("card", {}))
    numbers = {key: value for key, value in document.items() if key not in _HEADINGS}
    found = {"fitted_on": [], **document, "answers": _EARLIER[form], "model": numbers, "card": card}
    if form == "personafit.pairwise":  # it was known by its bytes, and kept its people in the card
        found |= {"fitted_on": card.pop("fitted_on", []), "fingerprint": hash_text(content)}
    return found, True
