"""Two databases that differ only in their number of instances: SQL copies one instance that was really deployed."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from benchmarks.database import superuser
from benchmarks.operations import CLAIMER, MANIFEST, controller, heard
from benchmarks.people import member_token
from gpuaas_sdk.testing import CatalogApp, RunningServer, Sandbox

QUIET = 100  # instances of the project that is the same in both runs
MEMBERS = 10
EVENTS = 100
LEFT = 50  # events that a cursor in the middle of an instance's story has still before it
_SEED = Path(__file__).parent / "instances.sql"
# A transaction for each event that is to be seeded, as in life: readers see only those below the oldest one running.
_TRANSACTIONS = """\
DO $$ BEGIN
  FOR n IN 1..{count} LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP;
END $$"""


@dataclass(frozen=True, slots=True)
class Project:
    """Where somebody looks: a project, an instance in the middle of it, and cursors from which to go on."""

    id: str
    instance_id: str
    cursor: str
    instance_cursor: str
    timeline_cursor: str


@dataclass(frozen=True, slots=True)
class Crowd:
    server: RunningServer
    token: str
    quiet: Project
    crowded: Project | None


@contextmanager
def crowd(instances: int) -> Iterator[Crowd]:
    """`QUIET` instances in one project, and what is beyond that in another."""
    with RunningServer.start(log_level="WARNING", node_lost_seconds="86400", token_minutes="60") as server:
        sandbox = Sandbox.create(server)
        sandbox.offer()
        model = deployed(sandbox)
        other = sandbox.admin.projects.create(sandbox.tenant_id, "crowded", "Crowded").id
        with superuser(server) as connection:
            seed(connection, sandbox, model, other, instances)
            quiet = _project(connection, sandbox.project_id)
            crowded = _project(connection, other) if instances > QUIET else None
        yield Crowd(server, member_token(sandbox, other), quiet, crowded)


def deployed(sandbox: Sandbox) -> str:
    """Deploy one instance for real, and return its id."""
    catalog_app = CatalogApp(sandbox, "waiting")
    with sandbox.simulated_fleet(1):
        catalog_app.publish(MANIFEST, b"nothing to run")
        with controller(catalog_app.controller(), [CLAIMER, catalog_app.slug], sandbox.server) as process:
            instance, deploy = catalog_app.deploy("model", [("one", catalog_app.allocate(1)[0])])
            heard(process)
            catalog_app.ended(deploy)
    return instance


def seed(
    connection: psycopg.Connection[tuple[object, ...]],
    sandbox: Sandbox,
    model: str,
    crowded: str,
    instances: int,
    quiet: int = QUIET,
    members: int = MEMBERS,
    events: int = EVENTS,
) -> None:
    """Copy the model: the first `quiet` instances into the sandbox's project, the others into the crowded one."""
    connection.execute("SET synchronous_commit = off")
    row = connection.execute("SELECT pg_current_xact_id()::text::bigint").fetchone()
    connection.execute(_TRANSACTIONS.format(count=instances * events))
    text = _SEED.read_text().format(
        instances=instances,
        quiet=quiet,
        members=members,
        events=events,
        model=model,
        slug="waiting",
        tenant=sandbox.tenant_id,
        quiet_project=sandbox.project_id,
        crowded_project=crowded,
        first_transaction=row[0] if row else 0,
    )
    connection.execute(text)
    connection.execute("VACUUM ANALYZE")
    connection.execute("CHECKPOINT")


def _project(connection: psycopg.Connection[tuple[object, ...]], project_id: str) -> Project:
    def one(query: str, *values: object) -> str:
        row = connection.execute(query, values).fetchone()
        if row is None:
            raise RuntimeError(f"nothing was seeded: {query}")
        return str(row[0])

    instance = one(
        "SELECT id FROM app_instances WHERE project_id = %s ORDER BY id OFFSET"
        " (SELECT count(*) / 2 FROM app_instances WHERE project_id = %s) LIMIT 1",
        project_id,
        project_id,
    )
    place = "SELECT transaction_id || '.' || sequence FROM events"
    newest = "ORDER BY transaction_id DESC, sequence DESC OFFSET %s LIMIT 1"
    return Project(
        project_id,
        instance,
        one(f"{place} WHERE project_id = %s {newest}", project_id, 2 * LEFT),
        one(f"{place} WHERE subject = %s {newest}", instance, LEFT),
        one(
            "SELECT id FROM app_instance_events WHERE instance_id = %s ORDER BY sequence DESC OFFSET %s LIMIT 1",
            instance,
            LEFT,
        ),
    )
