"""Flags say that an instance runs, or could return to, bytes that are not trusted any more. It goes on running.

A work row derives them, since tenants are many: in portions, each of which asks for the next one.
"""

from collections.abc import Sequence

from gpuaas_server.catalog import service as catalog
from gpuaas_server.instances import queries, version_check
from gpuaas_server.instances.locked_instance import LockedInstance
from gpuaas_server.instances.operation_completion import refuse_unclaimed
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass

WORK = "instance_flag"
PORTION = 50


def artifact_subject(digest: str, publisher_project_id: str) -> str:
    return f"{digest} {publisher_project_id}"


def version_subject(version_id: str) -> str:
    return f"version {version_id}"


def tenant_subject(tenant_id: str) -> str:
    return f"tenant {tenant_id}"


@dataclass(frozen=True, slots=True)
class FlagPortion:
    """Instances whose flags are derived anew; `about` names what changed, without the instance to go on from."""

    about: str
    ids: Sequence[str]

    @property
    def next_subject(self) -> str | None:
        """The subject of the work row for the next portion; None after the last one."""
        return f"{self.about} {self.ids[-1]}" if len(self.ids) == PORTION else None


async def load_portion(connection: Connection, subject: str) -> FlagPortion:
    """Load a portion. The subject is what changed (artifact, version, a tenant's trust), and the instance to go on from."""
    first, second, after = (*subject.split(" "), "")[:3]
    if first == "version":
        ids = await queries.ids_with_version(connection, second, after, PORTION)
    elif first == "tenant":
        ids = await queries.ids_of_tenant(connection, second, after, PORTION)
    else:
        versions = [one.version_id for one in await catalog.versions_naming(connection, [first], second)]
        ids = await queries.ids_with_artifact(connection, (first, second), versions, after, PORTION)
    return FlagPortion(f"{first} {second}", ids)


async def derive_flags(locked: LockedInstance) -> None:
    """Store the flags that the instance's versions have now, if they differ from before."""
    flags = await version_check.flags_of(locked.tx.connection, locked.row)
    before = {flag["code"] for flag in locked.row.flags}
    if flags == locked.row.flags:
        return
    locked.change(flags=flags)
    for flag in flags:
        if flag["code"] not in before:
            locked.add_event("instance.flagged", code=flag["code"])
    if before - {flag["code"] for flag in flags}:
        locked.add_event("instance.flag_cleared", codes=sorted(before - {flag["code"] for flag in flags}))
    await refuse_unclaimed(locked)
    await locked.store()
