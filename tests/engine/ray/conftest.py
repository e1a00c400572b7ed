"""A real Ray cluster of several processes: a head without cores and nodes that come and go."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from personafit.engine.ray import SETTINGS

SMALL = {"object_store_memory": 100 << 20, "include_dashboard": False}


@pytest.fixture(scope="session", autouse=True)
def _quiet() -> Iterator[None]:
    """Ray's files go to a folder of their own, with a short name: sockets lie in it."""
    os.environ |= SETTINGS  # read when Ray is imported
    pytest.importorskip("ray", reason="Ray is not installed here (pip install 'personafit[ray]')")
    folder = tempfile.mkdtemp(prefix="ray-", dir="/tmp")
    os.environ["RAY_TMPDIR"] = folder
    yield
    del os.environ["RAY_TMPDIR"]
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    """As in a worker; for models this small more threads only wait for each other."""
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def cluster(_quiet: None) -> Iterator[Any]:
    """A head that only keeps the books, and one node of one core that stays."""
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **SMALL})
    made.add_node(num_cpus=1, object_store_memory=100 << 20)
    made.wait_for_nodes()
    yield made
    made.shutdown()


@pytest.fixture
def second_node(cluster: Any) -> Iterator[Any]:
    """Another node of one core; a test may kill it."""
    node = cluster.add_node(num_cpus=1, object_store_memory=100 << 20)
    cluster.wait_for_nodes()
    yield node
    if node in cluster.list_all_nodes():
        cluster.remove_node(node)


@pytest.fixture
def workers_of() -> Callable[[Any], list[int]]:
    """The processes on a node that hold models."""

    def found(node: Any) -> list[int]:
        raylet = node.all_processes["raylet"][0].process.pid
        return [pid for pid, parent, title in processes() if parent == raylet and "Worker" in title]

    return found


def processes() -> list[tuple[int, int, str]]:
    """Id, parent and title of every process here."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdecimal():
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8") as file:
                    parent = int(file.read().rpartition(")")[2].split()[1])
                with open(f"/proc/{name}/cmdline", encoding="utf-8") as file:
                    found.append((int(name), parent, file.read().replace("\0", " ").strip()))
            except OSError:  # it ended meanwhile
                continue
    return found
