"""Access to the Hugging Face hub: a client that uses only the token in the environment, and errors as one sentence."""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from personafit._errors import UserError
from personafit._secrets import MASK, masked

if TYPE_CHECKING:
    from huggingface_hub import HfApi

TOKEN = "HF_TOKEN"  # nosec B105 # the name of a variable


def hub_token() -> str:
    """Return HF_TOKEN or an empty string; token files of other tools are ignored."""
    return os.environ.get(TOKEN, "").strip()


def hub_client() -> "HfApi":
    """Return a client for the hub at HF_ENDPOINT or the public hub."""
    # Read by huggingface_hub when it is imported. Xet and telemetry write files outside the requested folder.
    for name in ("HF_HUB_DISABLE_XET", "HF_HUB_DISABLE_IMPLICIT_TOKEN", "HF_HUB_DISABLE_TELEMETRY"):
        os.environ.setdefault(name, "1")
    try:
        from huggingface_hub import HfApi
        from huggingface_hub.utils.tqdm import disable_progress_bars
    except ImportError as error:
        raise UserError(
            "The hub needs the extra 'hub'; install it with: pip install 'personafit[hub]'"
        ) from error
    logging.getLogger("huggingface_hub").setLevel(
        logging.ERROR
    )  # its warnings are about retries that succeeded
    if not sys.stderr.isatty():
        disable_progress_bars()
    endpoint = os.environ.get("HF_ENDPOINT") or None
    return HfApi(endpoint=endpoint, token=hub_token() or False, library_name="personafit")


@contextmanager
def hub_errors(repo: str, doing: str, kind: str = "data set") -> Iterator[None]:
    """Turn errors of the hub raised inside the block into a UserError that never contains the token."""
    import httpx2
    from huggingface_hub import errors

    try:
        yield
    except (errors.HfHubHTTPError, httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise UserError(_refusal(error, repo, doing, kind)) from error
    except OSError as error:  # offline, or a file that is not there or cannot be written
        raise UserError(f"{repo} cannot be {doing}: {_reason(error)}.") from error
    except (ValueError, KeyError, TypeError) as error:  # a malformed reply of the hub
        raise UserError(f"{repo} cannot be {doing}: {_short(error)}.") from error


def _refusal(error: Exception, repo: str, doing: str, kind: str) -> str:
    """Explain an error of the hub in one sentence."""
    from huggingface_hub import errors

    if isinstance(error, errors.GatedRepoError):
        return f"{repo} is gated: ask for access on its page, then set {TOKEN} to a token of yours and try again."
    if isinstance(error, errors.RepositoryNotFoundError):
        access = f"{TOKEN} gives no access to it" if hub_token() else f"for a private one set {TOKEN}"
        return f"There is no {kind} {repo} on the hub, or it is private; {access}."
    if isinstance(error, errors.RevisionNotFoundError):
        return f"{repo} has no such revision; look at its history, or leave out --revision."
    if isinstance(error, errors.RemoteEntryNotFoundError):
        return f"{repo} cannot be {doing}: the hub has no such file in that repository."
    if isinstance(error, errors.HfHubHTTPError):
        status = error.response.status_code
        hint = f"; {TOKEN} must hold a token that may do this" if status in (401, 403) else ""
        return f"{repo} cannot be {doing}: the hub answered {status}{hint}."
    return f"{repo} cannot be {doing}: the hub cannot be reached ({_short(error)})."


def _reason(error: Exception) -> str:
    import httpx2
    from huggingface_hub import errors

    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, errors.OfflineModeIsEnabled):
            return "HF_HUB_OFFLINE is set, so the hub is not asked"
        if isinstance(cause, httpx2.HTTPError):
            return f"the hub cannot be reached ({_short(cause)})"
        cause = cause.__cause__
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'a file'}: {error.strerror}"
    return _short(error)


def _short(error: Exception) -> str:
    """Return the first line of an error's message, with the token masked."""
    text = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
    if token := hub_token():
        text = text.replace(token, MASK)
    return masked(text)
