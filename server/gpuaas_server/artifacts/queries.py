"""All SQL of artifacts, trust and runtime secrets. Publish intents have a file of their own."""

from collections.abc import Sequence
from datetime import datetime

from gpuaas_server.artifacts.rows import (
    ArtifactFacts,
    ArtifactRow,
    PullableArtifact,
    RuntimeSecretRow,
    TrustKeyRow,
    TrustPolicyRow,
)
from gpuaas_server.kernel.database import Connection, rows_removed
from gpuaas_server.kernel.pages import PageRequest, fetch_page
from gpuaas_server.kernel.rows import (
    columns_of,
    fetch_all,
    fetch_mapping,
    fetch_one,
    fetch_optional,
    fetch_value,
    fetch_values,
    values_insert,
    values_of,
)

_ARTIFACT = columns_of(ArtifactRow)
_ARTIFACT_OF_PROJECT = f"SELECT {_ARTIFACT} FROM artifacts WHERE id = %s AND project_id = %s"
_KEY = columns_of(TrustKeyRow)
_POLICY = columns_of(TrustPolicyRow)
_SECRET = columns_of(RuntimeSecretRow)


async def artifact_insert(connection: Connection, row: ArtifactRow) -> bool:
    """Return False when the project has this digest already."""
    inserted = await fetch_value(
        connection,
        str,
        f"{values_insert('artifacts', ArtifactRow)} ON CONFLICT ON CONSTRAINT artifacts_one_per_digest DO NOTHING"
        " RETURNING id",
        values_of(row),
    )
    return inserted is not None


async def artifact_by_digest(
    connection: Connection, project_id: str, digest: str, lock: bool = False
) -> ArtifactRow | None:
    return await fetch_optional(
        connection,
        ArtifactRow,
        f"SELECT {_ARTIFACT} FROM artifacts WHERE project_id = %s AND digest = %s{' FOR UPDATE' if lock else ''}",
        (project_id, digest),
    )


async def artifact_set_credential(
    connection: Connection, artifact_id: str, pull_secret_id: str | None, check_until: datetime
) -> None:
    """Replace the credential of an external image, and request a check. Caller must hold the row lock."""
    await connection.execute(
        "UPDATE artifacts SET pull_secret_id = %s, check_until = %s, generation = generation + 1 WHERE id = %s",
        (pull_secret_id, check_until, artifact_id),
    )


async def artifact_show(connection: Connection, project_id: str, artifact_id: str) -> ArtifactRow | None:
    return await fetch_optional(connection, ArtifactRow, _ARTIFACT_OF_PROJECT, (artifact_id, project_id))


async def artifact_lock(connection: Connection, project_id: str, artifact_id: str) -> ArtifactRow | None:
    return await fetch_optional(
        connection, ArtifactRow, f"{_ARTIFACT_OF_PROJECT} FOR UPDATE", (artifact_id, project_id)
    )


async def artifact_load(connection: Connection, artifact_id: str) -> ArtifactRow | None:
    """Load the artifact by its id alone: the worker does not know its project."""
    return await fetch_optional(
        connection, ArtifactRow, f"SELECT {_ARTIFACT} FROM artifacts WHERE id = %s", (artifact_id,)
    )


async def artifact_list(
    connection: Connection, project_id: str, stage: str | None, digest: str | None, page: PageRequest
) -> list[ArtifactRow]:
    return await fetch_page(
        connection,
        ArtifactRow,
        f"SELECT {_ARTIFACT} FROM artifacts WHERE project_id = %(project)s"
        " AND (%(stage)s::text IS NULL OR stage = %(stage)s) AND (%(digest)s::text IS NULL OR digest = %(digest)s)",
        {"project": project_id, "stage": stage, "digest": digest},
        page,
    )


async def artifact_set_stage(
    connection: Connection, artifact_id: str, stage: str, canary_percent: int, now: datetime
) -> ArtifactRow:
    return await fetch_one(
        connection,
        ArtifactRow,
        "UPDATE artifacts SET stage = %s, canary_percent = %s, stage_since = %s, generation = generation + 1"
        f" WHERE id = %s RETURNING {_ARTIFACT}",
        (stage, canary_percent, now, artifact_id),
    )


async def artifact_request_check(
    connection: Connection, artifact_id: str, signatures: list[str], until: datetime
) -> ArtifactRow:
    return await fetch_one(
        connection,
        ArtifactRow,
        "UPDATE artifacts SET check_until = %s, signatures = %s, generation = generation + 1"
        f" WHERE id = %s RETURNING {_ARTIFACT}",
        (until, signatures, artifact_id),
    )


# A check answers the request that it was made for. One that came meanwhile, perhaps with another signature, stays open.
_CHECK_ANSWERED = "check_until = CASE WHEN check_until IS DISTINCT FROM %s THEN check_until END"


async def artifact_store_check(
    connection: Connection, checked: ArtifactRow, trust: str, detail: str, signed_by: list[str], now: datetime
) -> ArtifactRow | None:
    """Store the result of a check of the artifact as it was loaded. A revocation that came meanwhile stands."""
    return await fetch_optional(
        connection,
        ArtifactRow,
        "UPDATE artifacts SET trust = CASE WHEN trust = 'revoked' THEN trust ELSE %s END,"
        " trust_detail = CASE WHEN trust = 'revoked' THEN trust_detail ELSE %s END,"
        f" signed_by = %s, {_CHECK_ANSWERED}, checked_at = %s, generation = generation + 1"
        f" WHERE id = %s RETURNING {_ARTIFACT}",
        (trust, detail, signed_by, checked.check_until, now, checked.id),
    )


async def artifact_abandon_check(connection: Connection, checked: ArtifactRow, detail: str) -> None:
    await connection.execute(
        f"UPDATE artifacts SET {_CHECK_ANSWERED},"
        " trust_detail = CASE WHEN trust = 'revoked' THEN trust_detail ELSE %s END,"
        " generation = generation + 1 WHERE id = %s",
        (checked.check_until, detail, checked.id),
    )


async def artifact_revoke(connection: Connection, artifact_id: str, detail: str) -> ArtifactRow:
    return await fetch_one(
        connection,
        ArtifactRow,
        "UPDATE artifacts SET trust = 'revoked', trust_detail = %s, generation = generation + 1"
        f" WHERE id = %s RETURNING {_ARTIFACT}",
        (detail, artifact_id),
    )


async def artifact_mark_deleting(connection: Connection, artifact_id: str, now: datetime) -> ArtifactRow:
    """Mark the artifact, and retire it at the same moment: nothing is launched from it any more."""
    return await fetch_one(
        connection,
        ArtifactRow,
        "UPDATE artifacts SET deleting_since = %s, stage = 'retired', canary_percent = 0, generation = generation + 1"
        f" WHERE id = %s RETURNING {_ARTIFACT}",
        (now, artifact_id),
    )


async def artifacts_mark_deleting(
    connection: Connection, project_id: str, now: datetime, portion: int
) -> list[ArtifactRow]:
    """Mark a portion of a project's artifacts as `artifact_mark_deleting` does."""
    return await fetch_all(
        connection,
        ArtifactRow,
        "UPDATE artifacts SET deleting_since = %s, stage = 'retired', canary_percent = 0, generation = generation + 1"
        " WHERE id = ANY(ARRAY(SELECT id FROM artifacts WHERE project_id = %s AND deleting_since IS NULL"
        f" ORDER BY id LIMIT %s)) RETURNING {_ARTIFACT}",
        (now, project_id, portion),
    )


async def collectable_artifacts(
    connection: Connection, project_id: str, stages: Sequence[str], after: str | None, limit: int, lock: bool = False
) -> list[ArtifactRow]:
    """List artifacts in these stages, newest first, without those that are revoked, checked or deleted."""
    return await fetch_all(
        connection,
        ArtifactRow,
        f"SELECT {_ARTIFACT} FROM artifacts WHERE project_id = %(project)s AND stage = ANY(%(stages)s)"
        " AND trust <> 'revoked' AND check_until IS NULL AND deleting_since IS NULL"
        " AND (%(after)s::text IS NULL OR id < %(after)s) ORDER BY id DESC LIMIT %(limit)s"
        f"{' FOR UPDATE' if lock else ''}",
        {"project": project_id, "stages": list(stages), "after": after, "limit": limit},
    )


async def artifacts_count(connection: Connection, project_id: str) -> int:
    return (
        await fetch_value(connection, int, "SELECT count(*) FROM artifacts WHERE project_id = %s", (project_id,)) or 0
    )


async def artifact_remove(connection: Connection, artifact_id: str) -> bool:
    """Delete the artifact with its evidence and its runtime secrets; return whether it was there."""
    await connection.execute("DELETE FROM artifact_evidence WHERE artifact_id = %s", (artifact_id,))
    await connection.execute("DELETE FROM runtime_secrets WHERE artifact_id = %s", (artifact_id,))
    return await rows_removed(connection, "DELETE FROM artifacts WHERE id = %s", (artifact_id,)) > 0


async def neighbour_digests(connection: Connection, location: str, artifact_id: str) -> list[str]:
    """Return the digests of the other images in the repository."""
    project_id = location.partition("/")[0]
    return await fetch_values(
        connection,
        str,
        "SELECT digest FROM artifacts WHERE project_id = %s AND location = %s AND kind = 'oci' AND registry IS NULL"
        " AND id <> %s",
        (project_id, location, artifact_id),
    )


async def artifacts_signed_by(connection: Connection, tenant_id: str, fingerprint: str) -> list[str]:
    return await fetch_values(
        connection,
        str,
        "SELECT id FROM artifacts WHERE tenant_id = %s AND %s = ANY(signed_by) ORDER BY id",
        (tenant_id, fingerprint),
    )


async def artifacts_request_check(connection: Connection, artifact_ids: list[str], until: datetime) -> None:
    await connection.execute("UPDATE artifacts SET check_until = %s WHERE id = ANY(%s)", (until, artifact_ids))


async def artifact_facts(connection: Connection, digests: list[str], publisher: str | None) -> list[ArtifactFacts]:
    """Return what launches of any tenant depend on; the SQL function says why another tenant's artifacts count too."""
    return await fetch_all(
        connection,
        ArtifactFacts,
        f"SELECT {columns_of(ArtifactFacts)} FROM artifact_facts(%s, %s)",
        (digests, publisher),
    )


async def artifact_kinds(connection: Connection, project_id: str, digests: Sequence[str]) -> dict[str, str]:
    return await fetch_mapping(
        connection,
        str,
        str,
        "SELECT digest, kind FROM artifacts WHERE project_id = %s AND digest = ANY(%s)",
        (project_id, list(digests)),
    )


async def policy_show(connection: Connection, tenant_id: str) -> TrustPolicyRow | None:
    return await fetch_optional(
        connection, TrustPolicyRow, f"SELECT {_POLICY} FROM trust_policies WHERE tenant_id = %s", (tenant_id,)
    )


async def policy_set(
    connection: Connection,
    tenant_id: str,
    require_signature: bool,
    require_smoke_launch: bool,
    actor_id: str,
    now: datetime,
) -> TrustPolicyRow:
    return await fetch_one(
        connection,
        TrustPolicyRow,
        "INSERT INTO trust_policies AS p (tenant_id, require_signature, require_smoke_launch, updated_by, updated_at)"
        " VALUES (%s, %s, %s, %s, %s)"
        " ON CONFLICT (tenant_id) DO UPDATE SET require_signature = EXCLUDED.require_signature,"
        " require_smoke_launch = EXCLUDED.require_smoke_launch,"
        " updated_by = EXCLUDED.updated_by, updated_at = EXCLUDED.updated_at, generation = p.generation + 1"
        f" RETURNING {_POLICY}",
        (tenant_id, require_signature, require_smoke_launch, actor_id, now),
    )


async def key_insert(connection: Connection, row: TrustKeyRow) -> bool:
    """Return False when the tenant has, or had, this key."""
    inserted = await fetch_value(
        connection,
        str,
        f"{values_insert('trust_keys', TrustKeyRow)} ON CONFLICT ON CONSTRAINT trust_keys_once DO NOTHING RETURNING id",
        values_of(row),
    )
    return inserted is not None


async def key_list(connection: Connection, tenant_id: str, page: PageRequest) -> list[TrustKeyRow]:
    return await fetch_page(
        connection,
        TrustKeyRow,
        f"SELECT {_KEY} FROM trust_keys WHERE tenant_id = %(tenant)s",
        {"tenant": tenant_id},
        page,
    )


async def tenant_keys(connection: Connection, tenant_id: str) -> list[TrustKeyRow]:
    """Return all keys of the tenant, revoked ones too: there are few."""
    return await fetch_all(
        connection, TrustKeyRow, f"SELECT {_KEY} FROM trust_keys WHERE tenant_id = %s ORDER BY id", (tenant_id,)
    )


async def key_lock(connection: Connection, tenant_id: str, key_id: str) -> TrustKeyRow | None:
    return await fetch_optional(
        connection,
        TrustKeyRow,
        f"SELECT {_KEY} FROM trust_keys WHERE id = %s AND tenant_id = %s FOR UPDATE",
        (key_id, tenant_id),
    )


async def key_revoke(connection: Connection, key_id: str, reason: str, now: datetime) -> TrustKeyRow:
    return await fetch_one(
        connection,
        TrustKeyRow,
        f"UPDATE trust_keys SET revoked_at = %s, revoked_reason = %s WHERE id = %s RETURNING {_KEY}",
        (now, reason, key_id),
    )


async def artifact_to_pull(connection: Connection, digest: str, publisher_project_id: str) -> PullableArtifact | None:
    return await fetch_optional(
        connection,
        PullableArtifact,
        f"SELECT {columns_of(PullableArtifact)} FROM artifact_to_pull(%s, %s)",
        (digest, publisher_project_id),
    )


async def artifact_size_to_pull(connection: Connection, artifact_id: str) -> int | None:
    return await fetch_value(connection, int, "SELECT artifact_size_to_pull(%s)", (artifact_id,))


async def secret_insert(connection: Connection, row: RuntimeSecretRow) -> None:
    await connection.execute(values_insert("runtime_secrets", RuntimeSecretRow), values_of(row))


async def secret_find_live(connection: Connection, secret_id: str, now: datetime) -> RuntimeSecretRow | None:
    return await fetch_optional(
        connection,
        RuntimeSecretRow,
        f"SELECT {_SECRET} FROM runtime_secrets WHERE id = %s AND revoked_at IS NULL AND expires_at > %s",
        (secret_id, now),
    )


async def secret_touch(connection: Connection, secret_id: str, now: datetime) -> None:
    await connection.execute("UPDATE runtime_secrets SET last_used_at = %s WHERE id = %s", (now, secret_id))


async def secrets_delete_before(connection: Connection, before: datetime, portion: int) -> int:
    deleted = await fetch_values(
        connection,
        str,
        "DELETE FROM runtime_secrets WHERE id IN"
        " (SELECT id FROM runtime_secrets WHERE expires_at < %s ORDER BY expires_at LIMIT %s) RETURNING id",
        (before, portion),
    )
    return len(deleted)


async def secrets_revoke(connection: Connection, operation_id: str, now: datetime) -> None:
    await connection.execute(
        "UPDATE runtime_secrets SET revoked_at = %s WHERE operation_id = %s AND revoked_at IS NULL", (now, operation_id)
    )
