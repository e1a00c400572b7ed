"""Models in the workers of a Ray cluster. Ray schedules them and handles lost nodes; the runner stores each outcome once.

Jobs, keys, fingerprints and the store stay in the process that the user started; workers hold weights and answer requests.
Chat models and reward models are held in actor pools. The jobs of a build, of systems and of dialogues run as Ray Data
pipelines.

`--backend ray` starts a cluster on this machine, `--backend ray://HOST:PORT` joins a running one.
"""

import logging
import os
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from personafit._errors import UserError
from personafit.engine.ray.place import RayPlace
from personafit.models import one_line
from personafit.models.placing import models_in

PORT = 6379
SECONDS = 5.0  # time limit for an address to answer
OBJECT_STORE = 256 << 20  # bytes; requests and replies are small, and the default is a third of the memory
SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",  # no reports to the makers of Ray
    "RAY_ENABLE_AUTO_CONNECT": "0",  # a call after shutdown would start another cluster
    "RAY_NUM_REDIS_GET_RETRIES": "3",  # each try takes 40 s if the address is not Ray's
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # avoids a warning about a future default
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",  # keeps messages about lost workers out of the output
    "RAY_BACKEND_LOG_LEVEL": "fatal",  # a lost worker is no error here; real errors are raised as exceptions
}
# The head of a cluster speaks HTTP/2, where both sides begin with a settings frame. Ray itself would try other servers for minutes.
SETTINGS_FRAME = b"\x04"
GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0" + SETTINGS_FRAME + b"\0" * 5
NEEDS = "Ray is not installed; it comes with pip install 'personafit[ray]'"


@contextmanager
def working_on(where: str) -> Iterator[None]:
    """Load models made within the block where `--backend` says: local, ray or ray://HOST:PORT."""
    if where == "local":
        yield
        return
    kind, _, address = where.partition("://")
    if kind != "ray" or (not address and where != "ray"):
        raise UserError(f"--backend {where}: there are local, ray, and ray://HOST:PORT.")
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError:
        raise UserError(f"--backend {where}: {NEEDS}.") from None
    _connect(ray, where, address)
    try:
        with models_in(RayPlace(ray.cluster_resources())):
            yield
    finally:
        ray.shutdown()


def _connect(ray: Any, where: str, address: str) -> None:
    settings: dict[str, Any] = {
        "address": "local",
        "include_dashboard": False,
        "object_store_memory": OBJECT_STORE,
    }
    if address:
        settings = {"address": _answering(where, address)}
    try:
        with _silence():
            ray.init(logging_level=logging.ERROR, log_to_driver=False, **settings)
    except Exception as error:  # errors of Ray or of the network
        raise UserError(f"--backend {where}: {_reason(address, error)}.") from error
    import ray.data as data

    # After the import, which sets the level too. Ray Data would print a traceback for every lost worker.
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)
    # The number of tries per block has no public parameter yet; by default it is unlimited.
    warnings.filterwarnings("ignore", category=ray.util.annotations.RayDeprecationWarning)
    context = data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    context.max_errored_blocks = -1  # jobs that a pipeline leaves undone run one by one


@contextmanager
def _silence() -> Iterator[None]:
    """Silence standard error, where Ray's core prints its log settings regardless of the log level."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _answering(where: str, address: str) -> str:
    """Return host and port after checking that a Ray head answers there."""
    host, _, port = address.rpartition(":") if ":" in address else (address, "", str(PORT))
    try:
        number = int(port)
        with socket.create_connection((host.strip("[]"), number), SECONDS) as connection:
            connection.settimeout(SECONDS)
            connection.sendall(GREETING)
            greeted = connection.recv(9)[3:4] == SETTINGS_FRAME
    except ValueError:
        raise UserError(f"--backend {where}: '{port}' is no port; write ray://HOST:PORT.") from None
    except (OSError, OverflowError) as error:
        raise UserError(
            f"--backend {where}: no Ray cluster answers there ({one_line(error)}); start one with ray start --head --port {number}."
        ) from None
    if not greeted:
        raise UserError(
            f"--backend {where}: the server there is no Ray cluster; give the port of its head, usually {PORT}."
        )
    return f"{host}:{number}"


def _reason(address: str, error: Exception) -> str:
    if not address:
        return f"no cluster could be started here ({one_line(error)})"
    return (
        f"the server there is no Ray cluster that this machine belongs to ({one_line(error)}); give the port of its head (usually "
        f"{PORT}), make this machine a node with ray start --address={address}, and if the cluster has a token, set "
        "RAY_AUTH_MODE=token and RAY_AUTH_TOKEN here too"
    )


__all__ = ["SETTINGS", "working_on"]
