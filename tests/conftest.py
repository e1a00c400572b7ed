"""Fixtures shared by all tests."""

from collections.abc import Iterator

import pytest

from tests.stub_endpoint import StubEndpoint


@pytest.fixture
def endpoint() -> Iterator[StubEndpoint]:
    """A chat endpoint that answers letters until it is told otherwise."""
    with StubEndpoint() as stub:
        yield stub


@pytest.fixture(autouse=True)
def _no_settings_from_outside(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The tests mean the same whatever keys and addresses the machine knows."""
    for name in (
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "PERSONAFIT_STORE",
        "HF_TOKEN",
        "HF_ENDPOINT",
        "HF_HUB_OFFLINE",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path_factory.getbasetemp() / "no-hub-cache"))
