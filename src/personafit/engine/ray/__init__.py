"""Models in the workers of a Ray cluster: Ray owns scheduling and the loss of nodes, the runner owns exactly-once.

Jobs, keys, fingerprints and everything that is stored stay with the process that was started; workers hold weights and
answer. Chat models and reward models are held in actor pools; what the factory generates, what systems answer and what is
said in dialogues goes through Ray Data.

`--backend ray` starts a cluster on this machine, `--backend ray://HOST:PORT` joins one that runs.
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
SECONDS = 5.0  # for an address to answer
OBJECT_STORE = 256 << 20  # bytes: requests and replies are small, and the default is a third of the memory
SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",  # it would report to its makers
    "RAY_ENABLE_AUTO_CONNECT": "0",  # a call after the end would start another cluster
    "RAY_NUM_REDIS_GET_RETRIES": "3",  # tries at an address, of 40 s each where it is not Ray's
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # or it warns that this will be so one day
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",  # what it has to say of lost workers would go among the results
    "RAY_BACKEND_LOG_LEVEL": "fatal",  # a lost worker is no error here, and what is one reaches us as an exception
}
# A head speaks HTTP/2: both sides begin with their settings. Ray itself would try anything else for minutes.
SETTINGS_FRAME = b"\x04"
GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0" + SETTINGS_FRAME + b"\0" * 5
NEEDS = "Ray is not installed; it comes with pip install 'personafit[ray]'"


@contextmanager
def working_on(where: str) -> Iterator[None]:
    """Hold the models that are made within the block where `--backend` says: local, ray or ray://HOST:PORT."""
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
    except Exception as error:  # whatever Ray raises of its own, or of the network's
        raise UserError(f"--backend {where}: {_reason(address, error)}.") from error
    import ray.data as data

    # After the import, which sets it too. Of every lost worker it would show a traceback.
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)
    # How often a block is tried has no parameter of its own yet, and by default that is without end.
    warnings.filterwarnings("ignore", category=ray.util.annotations.RayDeprecationWarning)
    context = data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    context.max_errored_blocks = -1  # what does not come out of a pipeline is done without one


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
            f"--backend {where}: what answers there is no Ray cluster; give the port of its head, usually {PORT}."
        )
    return f"{host}:{number}"


def _reason(address: str, error: Exception) -> str:
    if not address:
        return f"no cluster could be started here ({one_line(error)})"
    return (
        f"what answers there is no Ray cluster this machine belongs to ({one_line(error)}); give the port of its head (usually "
        f"{PORT}), make this machine a node with ray start --address={address}, and where the cluster has a token set "
        "RAY_AUTH_MODE=token and RAY_AUTH_TOKEN here too"
    )


__all__ = ["SETTINGS", "working_on"]
