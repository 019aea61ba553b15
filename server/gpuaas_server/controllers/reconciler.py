"""The worker of controllers: it keeps what follows from kind bindings and from the platform's own apps."""

from collections.abc import Sequence
from datetime import datetime

from gpuaas_server.controllers import kind_queries
from gpuaas_server.controllers.machine import BindingChanges, ServedAppFacts, binding_changes
from gpuaas_server.controllers.served_apps import APP_SERVICE, change_bindings, give_to_tenants
from gpuaas_server.kernel.context import Platform, Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.ids import is_id
from gpuaas_server.work import leases


@dataclass(frozen=True, slots=True)
class ServedApp:
    """A subject of the work: an app with its facts, or the apps of a kind binding."""

    facts: ServedAppFacts | None
    app_ids: Sequence[str] = ()


class AppServiceReconciler:
    """Keeps the bindings of an app that follow from kind bindings, and gives the platform's apps to tenants."""

    kind = APP_SERVICE

    def __init__(self, platform: Platform) -> None:
        self._for_tenants = platform.settings.platform_apps_for_tenants

    async def load(self, connection: Connection, subject: str) -> ServedApp | None:
        if is_id("ckb", subject):
            return ServedApp(None, await kind_queries.apps_of_kind_binding(connection, subject))
        facts = await kind_queries.served_app(connection, subject)
        return None if facts is None else ServedApp(facts)

    def decide(self, served: ServedApp, now: datetime) -> BindingChanges | None:
        return None if served.facts is None else binding_changes(served.facts)

    async def apply(self, tx: Tx, served: ServedApp, changes: BindingChanges | None) -> datetime | None:
        if served.facts is None or changes is None:
            if served.app_ids:
                await leases.enqueue(tx, APP_SERVICE, served.app_ids)
            return None
        await change_bindings(tx, served.facts, changes)
        if not self._for_tenants or not (served.facts.own_bindings or changes.wanted):
            return None
        return tx.now if await give_to_tenants(tx, served.facts) else None
