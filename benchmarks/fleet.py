"""A large fleet as rows in the database, which SQL seeds, empties and fills between rounds."""

import time
from contextlib import suppress
from pathlib import Path

import psycopg

from benchmarks.database import superuser
from gpuaas_sdk.testing.sandbox import MODEL
from system_support.server import RunningServer

SLOTS_A_NODE = 8
_EMPTIED = (
    "allocations, allocation_transitions, allocation_resource_claims, node_tasks, events, node_fits, idempotency_keys"
)


class SeededFleet:
    def __init__(self, server: RunningServer, nodes: int, tenant_id: str, project_id: str) -> None:
        self.slots = nodes * SLOTS_A_NODE
        self._server = server
        self._tenant_id = tenant_id
        self._project_id = project_id
        text = (Path(__file__).parent / "fleet.sql").read_text().format(nodes=nodes, model=MODEL)
        with superuser(server) as connection:
            connection.execute(text)
            _refit(connection)

    def fill(self, share: float) -> None:
        """Everything free but this share of the slots, which one-GPU allocations hold, scattered over all nodes."""
        with superuser(self._server) as connection:
            _forget(connection)
            connection.execute("UPDATE quotas SET gpus_used = 0")
            connection.execute("UPDATE node_resource_slots SET status = 'available' WHERE status <> 'available'")
            if share:
                self._take(connection, round(self.slots * share))
            _refit(connection)

    def _take(self, connection: psycopg.Connection[tuple[object, ...]], slots: int) -> None:
        names = {"slots": slots, "tenant": self._tenant_id, "project": self._project_id}
        connection.execute(
            "UPDATE node_resource_slots SET status = 'claimed' WHERE id IN"
            " (SELECT id FROM node_resource_slots ORDER BY md5(id) LIMIT %(slots)s)",
            names,
        )
        connection.execute(
            "INSERT INTO allocation_resource_claims (id, tenant_id, allocation_id, node_id, kind, slot_id, lane,"
            " claimed_at) SELECT 'clm' || substr(id, 4), %(tenant)s, 'alc' || substr(id, 4), node_id, 'slot', id,"
            " int4range(lane, lane + 1), now() FROM node_resource_slots WHERE status = 'claimed'",
            names,
        )
        connection.execute(
            "INSERT INTO allocations (id, tenant_id, project_id, sku_id, sku_name, shape, gpu_model, gpu_count, node_id,"
            " state, state_since, created_by, correlation_id, created_at, active_at)"
            " SELECT 'alc' || substr(s.id, 4), %(tenant)s, %(project)s, k.id, k.name, 'gpu_slice', s.gpu_model, 1,"
            " s.node_id, 'active', now(), 'usr_bench', 'bench', now(), now()"
            " FROM node_resource_slots s, skus k WHERE s.status = 'claimed' AND k.name = 'h100-slice'",
            names,
        )


def _forget(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    """Take the worker's work away first: what it still has in hand would otherwise meet the TRUNCATE in a circle."""
    for _ in range(20):
        connection.execute("DELETE FROM work_items WHERE kind = 'allocation'")
        time.sleep(0.2)
        with suppress(psycopg.errors.DeadlockDetected):
            connection.execute(f"TRUNCATE {_EMPTIED}")
            return
    raise RuntimeError("the worker did not let go of its work")


def _refit(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    connection.execute("SELECT refit_nodes(array_agg(node_id)) FROM node_capacity")
    connection.execute("VACUUM ANALYZE")
    connection.execute("CHECKPOINT")
