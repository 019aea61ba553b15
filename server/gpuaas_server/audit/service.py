"""Record and read the audit trail."""

from datetime import datetime

from gpuaas_server.audit import queries
from gpuaas_server.audit.denials import Denials
from gpuaas_server.audit.queries import AuditFilter, values_on_record
from gpuaas_server.audit.records import AuditEntry, record
from gpuaas_server.audit.schemas import AuditRecord, Retention, RetentionPeriod
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.kernel.rows import fields_of
from gpuaas_server.kernel.settings import Settings

__all__ = [
    "AuditEntry",
    "AuditFilter",
    "Denials",
    "audit_list",
    "forget_before",
    "record",
    "retention_show",
    "values_on_record",
]

_SUFFIX = "_retention_days"


async def audit_list(connection: Connection, wanted: AuditFilter, page: PageRequest) -> Page[AuditRecord]:
    rows = await queries.audit_list(connection, wanted, page)
    return Page[AuditRecord].of([AuditRecord(**fields_of(row)) for row in rows], page)


async def forget_before(tx: Tx, before: datetime, portion: int) -> int:
    """Delete a portion of old audit rows, which only retention does (docs/decisions/0012). The answer is how many went."""
    return await queries.audit_delete_before(tx.connection, before, portion)


def retention_show(settings: Settings) -> Retention:
    """Return the retention in force: every setting that says for how many days something is kept."""
    return Retention(items=[_period(settings, name) for name in Settings.model_fields if name.endswith(_SUFFIX)])


def _period(settings: Settings, name: str) -> RetentionPeriod:
    return RetentionPeriod(
        name=name.removesuffix(_SUFFIX),
        days=getattr(settings, name),
        description=Settings.model_fields[name].description or "",
        setting=f"GPUAAS_{name.upper()}",
    )
