"""All SQL of evidence."""

from gpuaas_server.artifacts.rows import EvidenceRow, LastEvidence
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.pages import PageRequest, fetch_page
from gpuaas_server.kernel.rows import columns_of, fetch_all, fetch_optional, values_insert, values_of

_EVIDENCE = columns_of(EvidenceRow)


async def evidence_insert(connection: Connection, row: EvidenceRow) -> None:
    await connection.execute(values_insert("artifact_evidence", EvidenceRow), values_of(row))


async def evidence_list(connection: Connection, artifact_id: str, page: PageRequest) -> list[EvidenceRow]:
    return await fetch_page(
        connection,
        EvidenceRow,
        f"SELECT {_EVIDENCE} FROM artifact_evidence WHERE artifact_id = %(artifact)s",
        {"artifact": artifact_id},
        page,
    )


async def latest_of_platform(connection: Connection, artifact_id: str, kind: str) -> EvidenceRow | None:
    return await fetch_optional(
        connection,
        EvidenceRow,
        f"SELECT {_EVIDENCE} FROM artifact_evidence WHERE artifact_id = %s AND kind = %s AND source = 'platform'"
        " ORDER BY id DESC LIMIT 1",
        (artifact_id, kind),
    )


async def latest_evidence(connection: Connection, artifact_id: str) -> list[LastEvidence]:
    """Return the last outcome of each kind by each source."""
    return await fetch_all(
        connection,
        LastEvidence,
        f"SELECT DISTINCT ON (kind, source) {columns_of(LastEvidence)} FROM artifact_evidence WHERE artifact_id = %s"
        " ORDER BY kind, source, id DESC",
        (artifact_id,),
    )
