"""All SQL of quotas."""

from collections.abc import Mapping, Sequence

from gpuaas_server.capacity.rows import QuotaRefusal, QuotaRow
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.deferred_writes import DeferredWrites
from gpuaas_server.kernel.quotas import StreamQuota
from gpuaas_server.kernel.rows import columns_of, fetch_one, fetch_optional, fetch_value

_QUOTA = columns_of(QuotaRow)
LIMITS = ("gpu_limit", "artifact_limit", "artifact_byte_limit", "unproven_gpu_limit", "stream_limit")


async def quota_show(connection: Connection, scope_id: str) -> QuotaRow | None:
    return await fetch_optional(connection, QuotaRow, f"SELECT {_QUOTA} FROM quotas WHERE scope_id = %s", (scope_id,))


async def stream_quota(connection: Connection, tenant_id: str, project_id: str) -> StreamQuota:
    """Return the limits of streams that are set for the project and for its tenant, in one read."""
    return await fetch_one(
        connection,
        StreamQuota,
        "SELECT (SELECT stream_limit FROM quotas WHERE scope_id = %s) AS project,"
        " (SELECT stream_limit FROM quotas WHERE scope_id = %s) AS tenant",
        (project_id, tenant_id),
    )


async def quota_lock(connection: Connection, scope_id: str) -> QuotaRow | None:
    return await fetch_optional(
        connection, QuotaRow, f"SELECT {_QUOTA} FROM quotas WHERE scope_id = %s FOR UPDATE", (scope_id,)
    )


async def quota_set(
    connection: Connection, scope_id: str, tenant_id: str, limits: Mapping[str, int | None], expected: int
) -> QuotaRow | None:
    """Set limits; those that are not named stay. None when the row is not of the expected generation (0: there is none); it is
    locked all the same then.
    """
    names = [name for name in LIMITS if name in limits]  # columns of ours, never a name that a caller sent
    columns = "".join(f", {name}" for name in names)
    values = "".join(f", %({name})s" for name in names)
    changes = "".join(f"{name} = EXCLUDED.{name}, " for name in names)
    return await fetch_optional(
        connection,
        QuotaRow,
        f"INSERT INTO quotas AS q (scope_id, tenant_id{columns}) VALUES (%(scope_)s, %(tenant_)s{values})"
        f" ON CONFLICT (scope_id) DO UPDATE SET {changes}generation = q.generation + 1"
        f" WHERE q.generation = %(expected_)s RETURNING {_QUOTA}",
        {"scope_": scope_id, "tenant_": tenant_id, "expected_": expected, **limits},
    )


def reserve_gpus(
    later: DeferredWrites, scopes: Sequence[tuple[str, str]], tenant_id: str, gpus: int, unproven_most: int
) -> None:
    """Count GPUs against the quotas of (scope, its noun), or fail with `quota_exceeded`, or with `unproven_releases` when
    the scope has too many that are not proven clean. Locks the quotas until the commit.
    """
    ids, nouns = [scope for scope, _ in scopes], [noun for _, noun in scopes]
    later.call("reserve_gpu_quota(%s, %s, %s, %s, %s)", (ids, nouns, tenant_id, gpus, unproven_most))


# Locked in the order of their ids, which is that of `reserve_gpu_quota`: projects before tenants. What a worker of the release
# before blocked was never counted as unproven.
_MOVE = (
    "UPDATE quotas q SET gpus_used = q.gpus_used + m.gpus, unproven_gpus = GREATEST(0, q.unproven_gpus + m.unproven) FROM"
    " (SELECT l.scope_id, s.gpus, s.unproven FROM (SELECT scope_id, sum(gpus)::int AS gpus, sum(unproven)::int AS unproven"
    "   FROM jsonb_to_recordset(%s::jsonb) AS r(scope_id text, gpus int, unproven int) GROUP BY scope_id) s"
    "  JOIN quotas l USING (scope_id) ORDER BY l.scope_id FOR UPDATE OF l) m WHERE q.scope_id = m.scope_id"
)


def gpus_move(later: DeferredWrites, scope_ids: Sequence[str], gpus: int, unproven: int) -> None:
    """Add to what is in use, and to what is not proven clean; either may be negative. All moves of a transaction become one
    statement, its last: whoever locked a quota and then a node would wait for a creation that waits for the quota.
    """
    later.insert(_MOVE, [{"scope_id": scope_id, "gpus": gpus, "unproven": unproven} for scope_id in scope_ids])


async def reserve_artifacts(
    connection: Connection, project_id: str, tenant_id: str, artifacts: int, size: int, defaults: tuple[int, int]
) -> QuotaRefusal | None:
    """Add artifacts and bytes (either may be negative), or say which quota is in the way. `defaults` is a tenant's limit of
    (artifacts, bytes), where it has none of its own.
    """
    return await fetch_value(
        connection,
        QuotaRefusal,
        "SELECT reserve_artifact_quota(%s, %s, %s, %s, %s, %s)",
        (project_id, tenant_id, artifacts, size, *defaults),
    )
