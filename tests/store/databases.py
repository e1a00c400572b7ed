"""The two kinds of database every store test runs on: a SQLite file, and a PostgreSQL server started for the tests."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from glob import glob
from pathlib import Path


class NoPostgres(Exception):
    """Why no server can be started here."""


@dataclass(frozen=True)
class PostgresServer:
    """A server on a socket in a folder of its own."""

    folder: Path
    binaries: Path
    account: int | None
    """Whose it is, where we are root: it refuses to run as that."""
    options: str

    @property
    def address(self) -> str:
        """Where its databases are, each in place of DATABASE."""
        return f"postgresql://tester@/DATABASE?host={self.folder}"

    def run(self, program: str, *arguments: str) -> str:
        """Run one of PostgreSQL's own programs as the server's user; what it printed."""
        done = subprocess.run(
            [str(self.binaries / program), *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            user=self.account,
            group=self.account,
        )
        assert done.returncode == 0, f"{program} {arguments}: {done.stdout}{done.stderr}"
        return done.stdout

    def start(self) -> None:
        """Start it and wait until it answers."""
        self.run("pg_ctl", *self._data, "-w", "-l", str(self.folder / "log"), "-o", self.options, "start")

    def stop(self, how: str = "immediate") -> None:
        """Stop it, whoever is connected: `immediate` as if it crashed, `fast` in order."""
        self.run("pg_ctl", *self._data, "-w", "-m", how, "stop")

    @property
    def _data(self) -> tuple[str, str]:
        return ("-D", str(self.folder / "data"))


@contextmanager
def started_postgres(durable: bool = False) -> Iterator[PostgresServer]:
    """A fresh server; it is gone afterwards. `durable` has it sync to disk as a real one does."""
    found = next(iter(sorted(glob("/usr/lib/postgresql/*/bin"), reverse=True)), None)
    if found is None or not Path(found, "initdb").exists():
        raise NoPostgres("PostgreSQL is not installed here (no /usr/lib/postgresql/*/bin/initdb)")
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        raise NoPostgres("psycopg is not installed here (pip install 'personafit[postgres]')") from error
    folder = Path(tempfile.mkdtemp(prefix="personafit-postgres-"))
    account = None
    if os.getuid() == 0:
        try:
            account = pwd.getpwnam("postgres").pw_uid
        except KeyError:
            raise NoPostgres("these tests run as root and there is no user 'postgres'") from None
        os.chown(folder, account, -1)
    sync = "on" if durable else "off"
    options = f"-c listen_addresses='' -k {folder} -c fsync={sync} -c max_connections=50"
    server = PostgresServer(folder, Path(found), account, options)
    server.run("initdb", "-D", str(folder / "data"), "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-sync")
    server.start()
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder)


@contextmanager
def postgres_server() -> Iterator[str]:
    """The address of a fresh server; it is gone afterwards."""
    with started_postgres() as server:
        yield server.address


def create_database(server: str, name: str) -> str:
    """A fresh database on the server; its address."""
    import psycopg

    with psycopg.connect(server.replace("DATABASE", "postgres"), autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"'.encode())
    return server.replace("DATABASE", name)
