"""Tells what is known of quotas below their noun: who may raise one, and the limits of streams that are set."""

from gpuaas_server.kernel.dataclass import dataclass

RAISED_BY = {"tenant": "platform_admin", "project": "tenant_admin"}


@dataclass(frozen=True, slots=True)
class StreamQuota:
    """The limits of streams that are set for a project and for its tenant. None: the setting applies."""

    project: int | None = None
    tenant: int | None = None
