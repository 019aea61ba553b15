"""All tables of all nouns in one MetaData, and which of them carry the tenant wall."""

import re
import sys

import sqlalchemy as sa

import gpuaas_server.access.tables
import gpuaas_server.allocations.tables
import gpuaas_server.app_usage.tables
import gpuaas_server.artifacts.tables
import gpuaas_server.audit.tables
import gpuaas_server.capacity.tables
import gpuaas_server.catalog.tables
import gpuaas_server.controllers.tables
import gpuaas_server.deletions.tables
import gpuaas_server.events.tables
import gpuaas_server.host_tasks.tables
import gpuaas_server.identity.tables
import gpuaas_server.instances.tables
import gpuaas_server.nodes.tables
import gpuaas_server.operations.tables
import gpuaas_server.pki.tables
import gpuaas_server.projects.tables
import gpuaas_server.receipts.tables
import gpuaas_server.secrets.tables
import gpuaas_server.terminals.tables
import gpuaas_server.work.tables  # noqa: F401
from gpuaas_server.kernel.tables import metadata

__all__ = ["metadata", "noun_of_table", "tenant_tables"]
_TABLES = re.compile(r"gpuaas_server\.\w+\.tables")


def tenant_tables() -> list[str]:
    """Return every table with a tenant_id: each must have row-level security, which a test checks in the database."""
    return sorted(table.name for table in metadata.tables.values() if "tenant_id" in table.columns)


def noun_of_table() -> dict[str, str]:
    """Return the noun that each table belongs to: the one whose `tables.py` describes it."""
    modules = {name.split(".")[1]: vars(module) for name, module in sys.modules.items() if _TABLES.fullmatch(name)}
    return {
        value.name: noun for noun, module in modules.items() for value in module.values() if isinstance(value, sa.Table)
    }
