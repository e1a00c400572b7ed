"""personafit: does the answer fit the person? Measure, label and train LLM personalization."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("personafit")
except PackageNotFoundError:  # running from a source tree that was never installed
    __version__ = "0+unknown"

__all__ = ["__version__"]
