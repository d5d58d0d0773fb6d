"""PostgreSQL for the study, MLflow in SQLite: the same trials as with SQLite for both."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from flow_project import GRID, TPE, Project, finished, free_port, require, wait_until

pytestmark = [pytest.mark.postgres, pytest.mark.slow]


@dataclass
class Cluster:
    """A private PostgreSQL, which listens on this machine only."""

    port: int
    user: str
    bin: Path

    def database(self, name: str) -> str:
        """The address of a new, empty database."""
        import psycopg

        with psycopg.connect(host="127.0.0.1", port=self.port, user=self.user, dbname="postgres", autocommit=True) as connection:
            connection.execute(f'create database "{name}"')
        return f"postgresql+psycopg://{self.user}@127.0.0.1:{self.port}/{name}"


def programs() -> Path | None:
    """The folder of the newest server programs."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: int(p.parent.parent.name))
    on_path = shutil.which("initdb")
    return found[-1].parent if found else Path(on_path).resolve().parent if on_path else None


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    bin_ = programs()
    require(bin_, "PostgreSQL (initdb)")
    assert bin_
    home = tmp_path_factory.mktemp("postgres")
    user = pwd.getpwuid(os.geteuid()).pw_name
    as_user: list[str] = []
    if os.geteuid() == 0:  # the server refuses to run as root
        user = "postgres"
        as_user = ["runuser", "-u", user, "--"]
        for folder in (home, *home.parents):
            if folder in (Path("/"), Path("/tmp")):
                break
            folder.chmod(folder.stat().st_mode | 0o011)
        shutil.chown(home, user, user)
    port = free_port()
    data = home / "data"
    subprocess.run(
        [*as_user, bin_ / "initdb", "-D", data, "-U", user, "-A", "trust", "--no-sync"], cwd=home, check=True, capture_output=True
    )
    options = ["-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={home}", "-c", "fsync=off", "-p", str(port)]
    log = (home / "log").open("ab")
    process = subprocess.Popen([*as_user, bin_ / "postgres", "-D", data, *options], cwd=home, stdout=log, stderr=log)
    cluster = Cluster(port, user, bin_)
    ready = [bin_ / "pg_isready", "-h", "127.0.0.1", "-p", str(port), "-q"]
    try:
        wait_until(lambda: subprocess.run(ready, check=False).returncode == 0 or process.poll() is not None, 60, 0.1)
        assert process.poll() is None, (home / "log").read_text()
        yield cluster
    finally:
        subprocess.run(
            [*as_user, bin_ / "pg_ctl", "-D", data, "stop", "-m", "immediate"], cwd=home, check=False, capture_output=True
        )
        process.wait(30)


def outcomes(project: Project) -> list[tuple[object, object]]:
    results = [json.loads(p.read_text()) for p in project.results()]
    return [(r["point"], r["evaluation"]["metrics"]) for r in results]


@pytest.mark.parametrize("search", [GRID, {**TPE, "trials": 5}], ids=["grid", "tpe"])
def test_the_study_in_postgresql_gives_the_same_trials_as_in_sqlite(
    postgres: Cluster, tmp_path: Path, empty_mlflow: Path, search: dict[str, object]
) -> None:
    in_postgres, in_sqlite = (Project(tmp_path / name, empty_mlflow) for name in ("postgres", "sqlite"))
    for project in (in_postgres, in_sqlite):
        project.configure(search=search)
    storage = postgres.database(f"studies-{search['sampler']}")

    found = in_postgres.ok("sweep", "--storage", storage)

    assert found["chosen"]["params"] == in_sqlite.ok("sweep")["chosen"]["params"]
    assert outcomes(in_postgres) == outcomes(in_sqlite)
    assert not (in_postgres.state / "studies.db").exists()
    assert len(in_postgres.runs("trial")) == search["trials"]
    assert in_postgres.ok("sweep", "--storage", storage) == found, "called again, nothing is left to do"
    for verb in ("lock", "holdout", "audit"):
        in_postgres.ok(verb)


def test_a_killed_sweep_on_postgresql_goes_on_there_or_elsewhere(postgres: Cluster, project: Project) -> None:
    project.configure(search={**GRID, "chunk_size": [8, 12, 16, 20, 24, 28], "trials": 12})
    storage = postgres.database("killed")
    process = project.start("sweep", "exp.toml", "--storage", storage)
    wait_until(lambda: len(project.results()) >= 2)
    process.kill()
    finished(process)
    assert len(project.results()) < 12

    assert project.ok("sweep", "--trials", "8", "--storage", storage)["trials"]["complete"] >= 8
    assert project.ok("sweep")["trials"]["complete"] == 12, "in SQLite, from the result files"


def test_a_database_that_is_mlflows_is_refused(postgres: Cluster, bare: Project) -> None:
    import psycopg

    storage = postgres.database("mlflows")
    with psycopg.connect(storage.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute("create table alembic_version (version_num varchar(32))")
    (error,) = bare.refused("sweep", "--storage", storage, code=2)["errors"]
    assert "MLflow needs a database of its own" in error["fix"]
    assert not bare.state.exists()


def test_a_database_that_is_not_there_is_told_without_the_password(postgres: Cluster, bare: Project) -> None:
    storage = f"postgresql+psycopg://{postgres.user}:secret@127.0.0.1:{postgres.port}/nowhere"
    ran = bare.run("sweep", "exp.toml", "--storage", storage)
    assert ran.code == 2
    assert 'database "nowhere" does not exist' in ran.err
    assert "secret" not in ran.err
    assert not bare.state.exists()
