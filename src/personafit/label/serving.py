"""Serve the labelling app: checks before the start, and the address it is reached at."""

import socket
import sys
from collections.abc import Sequence
from ipaddress import ip_network
from typing import TYPE_CHECKING

from personafit._errors import UserError
from personafit.store import Store

if TYPE_CHECKING:
    from personafit.label.studies import Studies


def serve_studies(
    url: str, host: str, port: int, models: Sequence[str] = (), proxies: Sequence[str] = ()
) -> None:
    """Serve the studies of a store until interrupted; `models` may be used by chats, `proxies` are trusted."""
    try:
        import uvicorn

        from personafit.label.access import Access
        from personafit.label.studies import Studies
        from personafit.label.web.app import create_app
    except ImportError as error:
        raise UserError(
            f"The labelling app needs {error.name}: pip install 'personafit[label]' brings it."
        ) from error
    _check_proxies(proxies)
    _check_free(host, port)
    address = _address(host, port)
    with Store(url) as opened:
        studies, access = Studies(opened), Access(opened.engine)
        _check_models(studies, models)
        access.note_address(address)
        if not access.has_password():
            _say(f"Set the researcher's password: {address}/setup?token={access.setup_token()}")
        if not studies.names():
            _say(f"There is no study in {opened.url} yet: personafit label new STUDY --from ITEMS makes one.")
        _say(f"Serving the studies of {opened.url} on {address}; Ctrl-C ends it.")
    uvicorn.run(
        create_app(url, [*models]),
        host=host,
        port=port,
        log_level="warning",
        access_log=False,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=[*proxies],
    )


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _check_proxies(named: Sequence[str]) -> None:
    """Reject proxies that are not an address or network; a name or `*` would let any client spoof its address."""
    for one in named:
        try:
            network = ip_network(one)
        except ValueError as error:
            raise UserError(
                f"--proxy {one} is no address or network, such as 127.0.0.1 or 10.0.0.0/24."
            ) from error
        if network.prefixlen == 0:
            raise UserError(
                f"--proxy {one} would trust every client; name the address or the network of the proxy."
            )


def _check_models(studies: "Studies", models: Sequence[str]) -> None:
    """Require the models of chat studies on the command line, since a store alone is not trusted to name code and addresses."""
    for study in map(studies.study, studies.names()):
        if study.form == "chat" and study.state != "closed" and study.config.model not in models:
            raise UserError(
                f"People of study '{study.name}' would talk with '{study.config.model}', which only the store names; if that is "
                f"right, serve with --model '{study.config.model}', else `personafit label close {study.name}` first."
            )


def _address(host: str, port: int) -> str:
    """Return the URL of the server as seen from this machine."""
    name = socket.gethostname() if host in ("0.0.0.0", "::") else host  # nosec B104
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def _check_free(host: str, port: int) -> None:
    """Raise `UserError` if the port is taken; the server itself would only log it."""
    try:
        with socket.create_server((host, port)):
            pass
    except OSError as error:
        raise UserError(
            f"{host}:{port} cannot be listened on ({error.strerror}); choose another with --port or --host."
        ) from error
