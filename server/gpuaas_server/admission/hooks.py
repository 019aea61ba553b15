"""Lets the gate ask nouns above it which apps a controller may serve in a project that is not its own, and for quotas."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.hooks import Hook
from gpuaas_server.kernel.quotas import StreamQuota


@dataclass(frozen=True, slots=True)
class ConsentHooks:
    # By service account, tenant and project: the slug of each app, and the permissions of the tenant's consent.
    consented_apps: Callable[[Connection, str, str, str], Awaitable[Mapping[str, Sequence[str]]]]


consent_hooks: Hook[ConsentHooks] = Hook("consent_hooks")


@dataclass(frozen=True, slots=True)
class QuotaHooks:
    # By tenant and project.
    stream_quota: Callable[[Connection, str, str], Awaitable[StreamQuota]]


quota_hooks: Hook[QuotaHooks] = Hook("quota_hooks")
