"""All SQL of artifacts, trust and runtime secrets. Publish intents have a file of their own."""

from datetime import datetime
from typing import Any

from psycopg.rows import DictRow

from gpuaas_server.kernel.database import Connection, rows_removed

_ARTIFACT = (
    "id, tenant_id, project_id, kind, name, digest, size_bytes, media_type, location, stage, stage_since,"
    " canary_percent, trust, trust_detail, signed_by, signatures, check_until, checked_at, created_by, created_at,"
    " generation, deleting_since"
)
_KEY = "id, name, public_key, fingerprint, algorithm, created_by, created_at, revoked_at, revoked_reason"
_EVIDENCE = "id, artifact_id, kind, passed, tool, summary, submitted_by, created_at"


async def artifact_insert(connection: Connection, values: dict[str, Any]) -> DictRow | None:
    """The row, or None when the project has this digest already."""
    cursor = await connection.execute(
        "INSERT INTO artifacts (id, tenant_id, project_id, kind, name, digest, size_bytes, media_type, location, stage,"
        " stage_since, trust, trust_detail, signed_by, signatures, created_by, created_at) VALUES (%(id)s,"
        " %(tenant_id)s, %(project_id)s, %(kind)s, %(name)s, %(digest)s, %(size_bytes)s, %(media_type)s, %(location)s,"
        " 'draft', %(now)s, 'unverified', 'not checked yet', '{}', '{}', %(created_by)s, %(now)s)"
        f" ON CONFLICT ON CONSTRAINT artifacts_one_per_digest DO NOTHING RETURNING {_ARTIFACT}",
        values,
    )
    return await cursor.fetchone()


async def artifact_by_digest(connection: Connection, project_id: str, digest: str) -> DictRow | None:
    cursor = await connection.execute(
        f"SELECT {_ARTIFACT} FROM artifacts WHERE project_id = %s AND digest = %s", (project_id, digest)
    )
    return await cursor.fetchone()


async def artifact_show(connection: Connection, project_id: str, artifact_id: str) -> DictRow | None:
    cursor = await connection.execute(
        f"SELECT {_ARTIFACT} FROM artifacts WHERE id = %s AND project_id = %s", (artifact_id, project_id)
    )
    return await cursor.fetchone()


async def artifact_load(connection: Connection, artifact_id: str) -> DictRow | None:
    cursor = await connection.execute(f"SELECT {_ARTIFACT} FROM artifacts WHERE id = %s", (artifact_id,))
    return await cursor.fetchone()


async def artifact_hold(connection: Connection, project_id: str, artifact_id: str) -> DictRow | None:
    cursor = await connection.execute(
        f"SELECT {_ARTIFACT} FROM artifacts WHERE id = %s AND project_id = %s FOR UPDATE", (artifact_id, project_id)
    )
    return await cursor.fetchone()


async def artifact_list(
    connection: Connection, project_id: str, stage: str | None, digest: str | None, after: str | None, limit: int
) -> list[DictRow]:
    cursor = await connection.execute(
        f"SELECT {_ARTIFACT} FROM artifacts WHERE project_id = %(project)s"
        " AND (%(stage)s::text IS NULL OR stage = %(stage)s) AND (%(digest)s::text IS NULL OR digest = %(digest)s)"
        " AND (%(after)s::text IS NULL OR id < %(after)s) ORDER BY id DESC LIMIT %(limit)s",
        {"project": project_id, "stage": stage, "digest": digest, "after": after, "limit": limit},
    )
    return await cursor.fetchall()


async def artifact_moved(
    connection: Connection, artifact_id: str, stage: str, canary_percent: int, now: datetime
) -> DictRow:
    cursor = await connection.execute(
        "UPDATE artifacts SET stage = %s, canary_percent = %s, stage_since = %s, generation = generation + 1"
        f" WHERE id = %s RETURNING {_ARTIFACT}",
        (stage, canary_percent, now, artifact_id),
    )
    return one_row(await cursor.fetchone())


async def artifact_check_wanted(
    connection: Connection, artifact_id: str, signatures: list[str], until: datetime
) -> DictRow:
    cursor = await connection.execute(
        "UPDATE artifacts SET check_until = %s, signatures = %s, generation = generation + 1"
        f" WHERE id = %s RETURNING {_ARTIFACT}",
        (until, signatures, artifact_id),
    )
    return one_row(await cursor.fetchone())


# A check ends the wish that it was made for. One that came meanwhile, with a further signature perhaps, is still open.
_NO_LONGER_WANTED = "check_until = CASE WHEN check_until IS DISTINCT FROM %s THEN check_until END"


async def artifact_checked(
    connection: Connection, checked: DictRow, trust: str, detail: str, signed_by: list[str], now: datetime
) -> DictRow | None:
    """Store what was found out about the artifact as it was loaded. A revocation that came meanwhile stands."""
    cursor = await connection.execute(
        "UPDATE artifacts SET trust = CASE WHEN trust = 'revoked' THEN trust ELSE %s END,"
        " trust_detail = CASE WHEN trust = 'revoked' THEN trust_detail ELSE %s END,"
        f" signed_by = %s, {_NO_LONGER_WANTED}, checked_at = %s, generation = generation + 1"
        f" WHERE id = %s RETURNING {_ARTIFACT}",
        (trust, detail, signed_by, checked["check_until"], now, checked["id"]),
    )
    return await cursor.fetchone()


async def artifact_check_given_up(connection: Connection, checked: DictRow, detail: str) -> None:
    await connection.execute(
        f"UPDATE artifacts SET {_NO_LONGER_WANTED},"
        " trust_detail = CASE WHEN trust = 'revoked' THEN trust_detail ELSE %s END,"
        " generation = generation + 1 WHERE id = %s",
        (checked["check_until"], detail, checked["id"]),
    )


async def artifact_revoked(connection: Connection, artifact_id: str, detail: str) -> DictRow:
    cursor = await connection.execute(
        "UPDATE artifacts SET trust = 'revoked', trust_detail = %s, generation = generation + 1"
        f" WHERE id = %s RETURNING {_ARTIFACT}",
        (detail, artifact_id),
    )
    return one_row(await cursor.fetchone())


async def artifact_deleting(connection: Connection, artifact_id: str, now: datetime) -> DictRow:
    """Retired at the same moment: nothing is launched from it any more."""
    cursor = await connection.execute(
        "UPDATE artifacts SET deleting_since = %s, stage = 'retired', canary_percent = 0, generation = generation + 1"
        f" WHERE id = %s RETURNING {_ARTIFACT}",
        (now, artifact_id),
    )
    return one_row(await cursor.fetchone())


async def artifact_remove(connection: Connection, artifact_id: str) -> bool:
    """With its evidence, and the secrets by which it was pulled; whether it was there."""
    await connection.execute("DELETE FROM artifact_evidence WHERE artifact_id = %s", (artifact_id,))
    await connection.execute("DELETE FROM runtime_secrets WHERE artifact_id = %s", (artifact_id,))
    return await rows_removed(connection, "DELETE FROM artifacts WHERE id = %s", (artifact_id,)) > 0


async def digests_beside(connection: Connection, location: str, artifact_id: str) -> list[str]:
    """Of the other images in the repository."""
    project_id = location.partition("/")[0]
    cursor = await connection.execute(
        "SELECT digest FROM artifacts WHERE project_id = %s AND location = %s AND kind = 'oci' AND id <> %s",
        (project_id, location, artifact_id),
    )
    return [row["digest"] for row in await cursor.fetchall()]


async def artifacts_signed_by(connection: Connection, tenant_id: str, fingerprint: str) -> list[str]:
    cursor = await connection.execute(
        "SELECT id FROM artifacts WHERE tenant_id = %s AND %s = ANY(signed_by) ORDER BY id", (tenant_id, fingerprint)
    )
    return [row["id"] for row in await cursor.fetchall()]


async def artifacts_check_wanted(connection: Connection, artifact_ids: list[str], until: datetime) -> None:
    await connection.execute("UPDATE artifacts SET check_until = %s WHERE id = ANY(%s)", (until, artifact_ids))


async def artifact_facts(connection: Connection, digests: list[str], publisher: str | None) -> list[DictRow]:
    """What launches of any tenant depend on, by digest; see 0011_artifacts.sql for why another tenant's too."""
    cursor = await connection.execute(
        "SELECT digest, tenant_id, project_id, stage, trust, signed_by, canary_percent FROM artifact_facts(%s, %s)",
        (digests, publisher),
    )
    return await cursor.fetchall()


async def evidence_insert(connection: Connection, values: dict[str, Any]) -> DictRow:
    cursor = await connection.execute(
        "INSERT INTO artifact_evidence (id, artifact_id, tenant_id, kind, passed, tool, summary, submitted_by, created_at)"
        " VALUES (%(id)s, %(artifact_id)s, %(tenant_id)s, %(kind)s, %(passed)s, %(tool)s, %(summary)s,"
        f" %(submitted_by)s, %(now)s) RETURNING {_EVIDENCE}",
        values,
    )
    return one_row(await cursor.fetchone())


async def evidence_list(connection: Connection, artifact_id: str, after: str | None, limit: int) -> list[DictRow]:
    cursor = await connection.execute(
        f"SELECT {_EVIDENCE} FROM artifact_evidence WHERE artifact_id = %(artifact)s"
        " AND (%(after)s::text IS NULL OR id < %(after)s) ORDER BY id DESC LIMIT %(limit)s",
        {"artifact": artifact_id, "after": after, "limit": limit},
    )
    return await cursor.fetchall()


async def evidence_last(connection: Connection, artifact_id: str) -> dict[str, bool]:
    cursor = await connection.execute(
        "SELECT DISTINCT ON (kind) kind, passed FROM artifact_evidence WHERE artifact_id = %s ORDER BY kind, id DESC",
        (artifact_id,),
    )
    return {row["kind"]: row["passed"] for row in await cursor.fetchall()}


async def policy_show(connection: Connection, tenant_id: str) -> DictRow | None:
    cursor = await connection.execute(
        "SELECT tenant_id, require_signature, updated_by, updated_at, generation FROM trust_policies WHERE tenant_id = %s",
        (tenant_id,),
    )
    return await cursor.fetchone()


async def policy_set(
    connection: Connection, tenant_id: str, require_signature: bool, actor_id: str, now: datetime
) -> DictRow:
    cursor = await connection.execute(
        "INSERT INTO trust_policies AS p (tenant_id, require_signature, updated_by, updated_at) VALUES (%s, %s, %s, %s)"
        " ON CONFLICT (tenant_id) DO UPDATE SET require_signature = EXCLUDED.require_signature,"
        " updated_by = EXCLUDED.updated_by, updated_at = EXCLUDED.updated_at, generation = p.generation + 1"
        " RETURNING tenant_id, require_signature, updated_by, updated_at, generation",
        (tenant_id, require_signature, actor_id, now),
    )
    return one_row(await cursor.fetchone())


async def key_insert(connection: Connection, values: dict[str, Any]) -> DictRow | None:
    """The row, or None when the tenant has, or had, this key."""
    cursor = await connection.execute(
        "INSERT INTO trust_keys (id, tenant_id, name, public_key, fingerprint, algorithm, created_by, created_at) VALUES"
        " (%(id)s, %(tenant_id)s, %(name)s, %(public_key)s, %(fingerprint)s, %(algorithm)s, %(created_by)s, %(now)s)"
        f" ON CONFLICT ON CONSTRAINT trust_keys_once DO NOTHING RETURNING {_KEY}",
        values,
    )
    return await cursor.fetchone()


async def key_list(connection: Connection, tenant_id: str, after: str | None, limit: int) -> list[DictRow]:
    cursor = await connection.execute(
        f"SELECT {_KEY} FROM trust_keys WHERE tenant_id = %(tenant)s"
        " AND (%(after)s::text IS NULL OR id < %(after)s) ORDER BY id DESC LIMIT %(limit)s",
        {"tenant": tenant_id, "after": after, "limit": limit},
    )
    return await cursor.fetchall()


async def keys_of(connection: Connection, tenant_id: str) -> list[DictRow]:
    """All of the tenant's keys, revoked ones too: a few."""
    cursor = await connection.execute(f"SELECT {_KEY} FROM trust_keys WHERE tenant_id = %s ORDER BY id", (tenant_id,))
    return await cursor.fetchall()


async def key_hold(connection: Connection, tenant_id: str, key_id: str) -> DictRow | None:
    cursor = await connection.execute(
        f"SELECT {_KEY} FROM trust_keys WHERE id = %s AND tenant_id = %s FOR UPDATE", (key_id, tenant_id)
    )
    return await cursor.fetchone()


async def key_revoked(connection: Connection, key_id: str, reason: str, now: datetime) -> DictRow:
    cursor = await connection.execute(
        f"UPDATE trust_keys SET revoked_at = %s, revoked_reason = %s WHERE id = %s RETURNING {_KEY}",
        (now, reason, key_id),
    )
    return one_row(await cursor.fetchone())


async def artifact_to_pull(connection: Connection, digest: str, project_id: str) -> DictRow | None:
    cursor = await connection.execute(
        "SELECT id, kind, digest, location, trust, trust_detail FROM artifact_to_pull(%s, %s)", (digest, project_id)
    )
    return await cursor.fetchone()


async def secret_insert(connection: Connection, values: dict[str, Any]) -> None:
    await connection.execute(
        "INSERT INTO runtime_secrets (id, tenant_id, project_id, purpose, operation_id, artifact_id, secret_digest,"
        " issued_to, created_at, expires_at) VALUES (%(id)s, %(tenant_id)s, %(project_id)s, 'artifact_pull',"
        " %(operation_id)s, %(artifact_id)s, %(secret_digest)s, %(issued_to)s, %(now)s, %(expires_at)s)",
        values,
    )


async def secret_live(connection: Connection, secret_id: str, now: datetime) -> DictRow | None:
    cursor = await connection.execute(
        "SELECT id, artifact_id, secret_digest FROM runtime_secrets"
        " WHERE id = %s AND revoked_at IS NULL AND expires_at > %s",
        (secret_id, now),
    )
    return await cursor.fetchone()


async def secret_used(connection: Connection, secret_id: str, now: datetime) -> None:
    await connection.execute("UPDATE runtime_secrets SET last_used_at = %s WHERE id = %s", (now, secret_id))


async def secrets_delete_before(connection: Connection, before: datetime, portion: int) -> int:
    cursor = await connection.execute(
        "DELETE FROM runtime_secrets WHERE id IN"
        " (SELECT id FROM runtime_secrets WHERE expires_at < %s ORDER BY expires_at LIMIT %s) RETURNING id",
        (before, portion),
    )
    return len(await cursor.fetchall())


async def secrets_revoke(connection: Connection, operation_id: str, now: datetime) -> None:
    await connection.execute(
        "UPDATE runtime_secrets SET revoked_at = %s WHERE operation_id = %s AND revoked_at IS NULL", (now, operation_id)
    )


def one_row(row: DictRow | None) -> DictRow:
    if row is None:
        raise RuntimeError("a statement that always answers with a row did not")
    return row
