"""`personafit label serve`: the labelling app over the studies of a store."""

from typing import TYPE_CHECKING, Annotated

import typer

from personafit._errors import UserError
from personafit.cli.common import hint, store_url
from personafit.cli.options import StoreOption

if TYPE_CHECKING:
    from personafit.labeling.studies import Studies


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8710,
    model: Annotated[
        list[str] | None,
        typer.Option(metavar="SPEC", help="A model that chats may be held with; may be repeated."),
    ] = None,
    proxy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ADDRESS",
            help="A reverse proxy (address or network; repeatable) whose forwarded headers are believed; default nobody's.",
        ),
    ] = None,
    store: StoreOption = None,
) -> None:
    """Serve the studies of a store.

    **Examples**

        personafit label serve --store postgresql://me@localhost/studies

        personafit label serve --model openai:MODEL@URL
    """
    try:
        import uvicorn

        from personafit.labeling.access import Access
        from personafit.labeling.studies import Studies
        from personafit.labeling.web.app import create_app
    except ImportError as error:
        raise UserError(
            f"The labelling app needs {error.name}: pip install 'personafit[label]' brings it."
        ) from error
    from personafit.store import Store

    proxies = _proxies(proxy or [])
    _check_free(host, port)
    url = store_url(store)
    address = _address(host, port)
    models = model or []
    with Store(url) as opened:
        _check_models(Studies(opened), models)
        access = Access(opened.engine)
        access.note_address(address)
        if not access.has_password():
            hint(f"Set the researcher's password: {address}/setup?token={access.setup_token()}")
        if not Studies(opened).names():
            hint(f"There is no study in {opened.url} yet: personafit label new STUDY --from ITEMS makes one.")
        hint(f"Serving the studies of {opened.url} on {address}; Ctrl-C ends it.")
    uvicorn.run(
        create_app(url, models),
        host=host,
        port=port,
        log_level="warning",
        access_log=False,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=proxies,
    )


def _proxies(named: list[str]) -> list[str]:
    """The addresses and networks of trusted proxies; a name or `*` is refused, since it would let anybody say who they are."""
    from ipaddress import ip_network

    for one in named:
        try:
            network = ip_network(one)
        except ValueError as error:
            raise UserError(
                f"--proxy {one} is no address or network, such as 127.0.0.1 or 10.0.0.0/24."
            ) from error
        if network.prefixlen == 0:
            raise UserError(
                f"--proxy {one} would believe everybody; name the address or the network of the proxy."
            )
    return named


def _check_models(studies: "Studies", models: list[str]) -> None:
    """A model is code, an address and a key: that a store names one is not enough, whoever serves it names it too."""
    for study in map(studies.study, studies.names()):
        if study.form == "chat" and study.state != "closed" and study.config.model not in models:
            raise UserError(
                f"People of study '{study.name}' would talk with '{study.config.model}', which only the store names; if that is "
                f"right, serve with --model '{study.config.model}', else `personafit label close {study.name}` first."
            )


def _address(host: str, port: int) -> str:
    """Where the server is reached from here."""
    import socket

    name = socket.gethostname() if host in ("0.0.0.0", "::") else host  # nosec B104
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def _check_free(host: str, port: int) -> None:
    """Say in a sentence that a port is taken; the server would say it in a log line of its own."""
    import socket

    try:
        with socket.create_server((host, port)):
            pass
    except OSError as error:
        raise UserError(
            f"{host}:{port} cannot be listened on ({error.strerror}); choose another with --port or --host."
        ) from error
