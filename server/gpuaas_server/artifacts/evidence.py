"""Evidence of artifacts: what the platform found itself, and what publishers report of their own runs."""

from collections.abc import Sequence

from gpuaas_server.artifacts import evidence_queries, queries
from gpuaas_server.artifacts.lint import LintReport
from gpuaas_server.artifacts.records import present, record_artifact
from gpuaas_server.artifacts.rows import ArtifactRow, EvidenceRow
from gpuaas_server.artifacts.schemas import Evidence, EvidenceAdd, EvidenceKind
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.kernel.rows import fields_of

TOOL = "gpuaas-server"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Holds what the platform found out. `operation_id` is the operation that showed it, if one did."""

    kind: EvidenceKind
    passed: bool
    summary: str
    operation_id: str | None = None


async def artifact_evidence_add(tx: Tx, project_id: str, artifact_id: str, body: EvidenceAdd) -> Evidence:
    """Record what the publisher reports. A run for development only is shown, but counts for no promotion."""
    row = present(await queries.artifact_lock(tx.connection, project_id, artifact_id), artifact_id)
    evidence = EvidenceRow(
        **body.model_dump(exclude={"development"}),
        id=new_id("evd"),
        artifact_id=artifact_id,
        tenant_id=row.tenant_id,
        submitted_by=tx.actor.id,
        created_at=tx.now,
        source="development" if body.development else "publisher",
        operation_id=None,
    )
    await evidence_queries.evidence_insert(tx.connection, evidence)
    details: dict[str, object] = {
        "kind": body.kind,
        "passed": body.passed,
        "tool": body.tool,
        "source": evidence.source,
    }
    await record_artifact(tx, "artifact_evidence_add", row, details)
    return Evidence(**fields_of(evidence))


async def artifact_evidence_list(
    connection: Connection, project_id: str, artifact_id: str, page: PageRequest
) -> Page[Evidence]:
    present(await queries.artifact_show(connection, project_id, artifact_id), artifact_id)
    rows = await evidence_queries.evidence_list(connection, artifact_id, page)
    return Page[Evidence].of([Evidence(**fields_of(row)) for row in rows], page)


async def record_lint(tx: Tx, artifact: ArtifactRow, report: LintReport) -> None:
    """Keep the outcome of the platform's lint. The same outcome as the last time is not a second piece of evidence."""
    last = await evidence_queries.latest_of_platform(tx.connection, artifact.id, "lint")
    if last is None or (last.passed, last.summary, last.tool) != (report.passed, report.summary, TOOL):
        await record_outcome(tx, artifact, Outcome("lint", report.passed, report.summary))


async def record_launch(tx: Tx, project_id: str, digests: Sequence[str], found: Outcome) -> None:
    """Keep the outcome of a launch as evidence of each artifact that was launched, as far as the project has it. To keep it
    twice changes nothing.
    """
    for digest in sorted(digests):
        row = await queries.artifact_by_digest(tx.connection, project_id, digest, lock=True)
        if row is None or row.deleting_since is not None:
            continue
        last = await evidence_queries.latest_of_platform(tx.connection, row.id, found.kind)
        if last is None or last.operation_id != found.operation_id:
            await record_outcome(tx, row, found)


async def record_outcome(tx: Tx, artifact: ArtifactRow, found: Outcome) -> None:
    """Keep what the platform found out itself, as evidence that publishers cannot write."""
    evidence = EvidenceRow(
        id=new_id("evd"),
        artifact_id=artifact.id,
        tenant_id=artifact.tenant_id,
        kind=found.kind,
        passed=found.passed,
        tool=TOOL,
        summary=found.summary,
        submitted_by=tx.actor.id,
        created_at=tx.now,
        source="platform",
        operation_id=found.operation_id,
    )
    await evidence_queries.evidence_insert(tx.connection, evidence)
    details: dict[str, object] = {"kind": found.kind, "passed": found.passed, "operation_id": found.operation_id}
    await record_artifact(tx, "artifact_evidence_record", artifact, details)
