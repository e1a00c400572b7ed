"""Any GGUF file on the hub, by its address OWNER/REPO/FILE.gguf.

Nobody wrote down the size and hash of such a file here, so the hub is asked for them first; a hash given by the user must agree.
"""

import os
import re
import urllib.error
import urllib.request
from email.message import Message
from typing import Any

from personafit._errors import UserError
from personafit.models.catalog import ModelFile

ENDPOINT = "https://huggingface.co"
CONNECT_SECONDS = 10

_ADDRESS = re.compile(r"([\w-][\w.-]*/[\w-][\w.-]*)/((?:[\w-][\w.-]*/)*[\w-][\w.-]*\.gguf)")
_SHA256 = re.compile(r"[0-9a-f]{64}")


def is_address(name: str) -> bool:
    """Whether a name has the form of an address on the hub."""
    return _ADDRESS.fullmatch(name) is not None


def file_url(repository: str, file: str) -> str:
    """Where the hub, or the mirror that HF_ENDPOINT names, serves a file."""
    return f"{os.environ.get('HF_ENDPOINT', ENDPOINT).rstrip('/')}/{repository}/resolve/main/{file}"


def hub_source(address: str, sha256: str | None = None) -> ModelFile:
    """The file at an address, with the size and hash the hub states; `sha256` is what the user expects."""
    match = _ADDRESS.fullmatch(address)
    if match is None:
        raise UserError(f"'{address}' is no address on the hub; write OWNER/REPO/FILE.gguf.")
    expected = sha256.lower() if sha256 else None
    if expected is not None and not _SHA256.fullmatch(expected):
        raise UserError(f"--sha256 {sha256}: a SHA-256 is 64 hexadecimal digits.")
    headers = _headers(file_url(match[1], match[2]), address)
    size = headers.get("X-Linked-Size") or headers.get("Content-Length") or ""
    stated = (headers.get("X-Linked-Etag") or headers.get("ETag") or "").strip('"').lower()
    if not size.isdigit():
        raise UserError(f"{address} cannot be fetched: the hub does not say how large it is.")
    if not _SHA256.fullmatch(stated):
        stated = ""
    if expected and stated and expected != stated:
        raise UserError(
            f"{address}: the hub has a file with SHA-256 {stated[:16]}… and not {expected[:16]}…; nothing was fetched."
        )
    digest = expected or stated
    if not digest:
        raise UserError(
            f"{address}: the hub states no SHA-256 for it; give the one you expect with --sha256."
        )
    return ModelFile(
        name=address,
        about="a file from the hub",
        licence="see its page",
        file=match[2],
        size=int(size),
        sha256=digest,
        hub=match[1],
    )


class _Stay(urllib.request.HTTPRedirectHandler):
    """The hash stands in the hub's own reply, not in that of the storage it points to."""

    def redirect_request(self, *_args: Any, **_more: Any) -> None:
        return None


def _headers(url: str, address: str) -> "Message[str, str]":
    request = urllib.request.Request(url, method="HEAD", headers={"Accept-Encoding": "identity"})
    try:
        with urllib.request.build_opener(_Stay).open(request, timeout=CONNECT_SECONDS) as response:
            found: Message[str, str] = response.headers
            return found
    except urllib.error.HTTPError as error:
        if 300 <= error.code < 400:
            return error.headers
        raise UserError(
            f"{address} cannot be fetched: the hub says {error.code} ({error.reason}); check owner, repository and file."
        ) from error
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        raise UserError(
            f"{address} cannot be fetched: the hub did not answer ({getattr(error, 'reason', error)})."
        ) from error
