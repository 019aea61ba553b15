"""Declares what the catalogue asks of, and tells, the nouns above it: instances use versions, and controllers serve apps."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime

from gpuaas_server.catalog.schemas import ControllerStatus
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.hooks import Hook
from gpuaas_server.kernel.settings import Settings


@dataclass(frozen=True, slots=True)
class VersionHooks:
    # How many run this version, of all tenants.
    live_instances: Callable[[Connection, str], Awaitable[int]]
    # Told when this version is retired.
    retired: Callable[[Tx, str], Awaitable[None]]


version_hooks: Hook[VersionHooks] = Hook("version_hooks")


@dataclass(frozen=True, slots=True)
class ControllerHooks:
    # By tenant, project and slugs: who would do the work of each app there.
    statuses: Callable[
        [Connection, Settings, datetime, str, str, Sequence[str]], Awaitable[Mapping[str, ControllerStatus]]
    ]
    # Told, with the app, when it has one more version that somebody may run, or one less.
    app_changed: Callable[[Tx, str], Awaitable[None]]
    # Consents for a tenant (the first text) to the controller of an app of the platform (the second).
    consent_with_entitlement: Callable[[Tx, str, str], Awaitable[None]]


controller_hooks: Hook[ControllerHooks] = Hook("controller_hooks")
