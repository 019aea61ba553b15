"""Declares what tenants and projects tell the nouns above them."""

from collections.abc import Awaitable, Callable

from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.hooks import Hook


@dataclass(frozen=True, slots=True)
class TenantHooks:
    # Told when a tenant is created that gets the platform's own apps.
    tenant_created: Callable[[Tx, str], Awaitable[None]]


tenant_hooks: Hook[TenantHooks] = Hook("tenant_hooks")
