"""Weights are told apart wherever in a file they differ, without reading all of it."""

import random
from pathlib import Path

import pytest

from personafit.models.weights import telling_parts, weights_hash

SIZE = 6 << 20


def saved(folder: Path, weights: bytes) -> str:
    folder.mkdir()
    (folder / "config.json").write_text("{}", encoding="utf-8")
    (folder / "model.safetensors").write_bytes(weights)
    return weights_hash(str(folder))


@pytest.mark.parametrize("place", [0.0, 0.2, 0.5, 0.8, 0.99])
def test_a_layer_that_was_trained_alone_makes_other_weights(tmp_path: Path, place: float) -> None:
    draws = random.Random(0)
    base = draws.randbytes(SIZE)
    start = int(place * SIZE)
    tuned = base[:start] + draws.randbytes(SIZE // 100) + base[start + SIZE // 100 :]
    first = saved(tmp_path / "base", base)
    assert saved(tmp_path / "copy", base) == first
    assert saved(tmp_path / "tuned", tuned) != first


def test_a_large_file_is_not_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "large.gguf"
    with path.open("wb") as file:
        file.truncate(1 << 30)
    assert sum(map(len, telling_parts(path))) < 10 << 20
