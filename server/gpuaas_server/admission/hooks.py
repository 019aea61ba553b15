"""Lets the gate ask the noun that knows consents which apps a controller may serve in a project that is not its own."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.hooks import Hook


@dataclass(frozen=True, slots=True)
class ConsentHooks:
    # By service account, tenant and project: the slug of each app, and the permissions of the tenant's consent.
    consented_apps: Callable[[Connection, str, str, str], Awaitable[Mapping[str, Sequence[str]]]]


consent_hooks: Hook[ConsentHooks] = Hook("consent_hooks")
