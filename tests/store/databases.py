"""The two kinds of database every store test runs on: a SQLite file, and a PostgreSQL server started for the tests."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from glob import glob
from pathlib import Path


class NoPostgres(Exception):
    """Why no server can be started here."""


@contextmanager
def postgres_server() -> Iterator[str]:
    """The address of a fresh server on a socket in a folder of its own; it is gone afterwards."""
    binaries = next(iter(sorted(glob("/usr/lib/postgresql/*/bin"), reverse=True)), None)
    if binaries is None or not Path(binaries, "initdb").exists():
        raise NoPostgres("PostgreSQL is not installed here (no /usr/lib/postgresql/*/bin/initdb)")
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        raise NoPostgres("psycopg is not installed here (pip install 'personafit[postgres]')") from error
    folder = Path(tempfile.mkdtemp(prefix="personafit-postgres-"))
    data = folder / "data"
    user = group = None
    if os.getuid() == 0:  # the server refuses to run as root
        try:
            account = pwd.getpwnam("postgres")
        except KeyError:
            raise NoPostgres("these tests run as root and there is no user 'postgres'") from None
        os.chown(folder, account.pw_uid, account.pw_gid)
        user, group = account.pw_uid, account.pw_gid

    def run(*arguments: str) -> None:
        done = subprocess.run(
            arguments, cwd=folder, capture_output=True, text=True, check=False, user=user, group=group
        )
        assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"

    options = f"-c listen_addresses='' -k {folder} -c fsync=off -c max_connections=50"
    run(f"{binaries}/initdb", "-D", str(data), "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-sync")
    run(f"{binaries}/pg_ctl", "-D", str(data), "-w", "-l", str(folder / "log"), "-o", options, "start")
    try:
        yield f"postgresql://tester@/DATABASE?host={folder}"
    finally:
        run(f"{binaries}/pg_ctl", "-D", str(data), "-m", "immediate", "stop")
        shutil.rmtree(folder)


def create_database(server: str, name: str) -> str:
    """A fresh database on the server; its address."""
    import psycopg

    with psycopg.connect(server.replace("DATABASE", "postgres"), autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"'.encode())
    return server.replace("DATABASE", name)
