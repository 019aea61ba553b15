"""What an app team writes: one class, a handler for each thing that can be asked of the app.

Every handler may be run again at any time, from its beginning, by another replica on another machine: it looks at what is
there and makes it what it should be. So most verbs are already made of others here; write the ones that differ.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from gpuaas_sdk.controller.context import Context
from gpuaas_sdk.controller.failures import Failed
from gpuaas_sdk.controller.modes import Mode
from gpuaas_sdk.generated.models import Instance, InstanceMember, UsageReport
from gpuaas_sdk.wire import Document

Handler = Callable[[Context], Awaitable[None]]
# Two kinds go by the name of what they do on the hosts.
NAMES = {"deploy": "bootstrap", "decommission": "teardown"}


@dataclass(frozen=True, slots=True)
class Watched:
    """An instance at rest, as the health check finds it. There is no way into its hosts: ask them as its users do."""

    instance: Instance
    members: Sequence[InstanceMember]


@dataclass(slots=True)
class Health:
    """`status` is healthy, degraded or unhealthy; say why when it is not the first."""

    status: str = "healthy"
    reasons: list[Document] = field(default_factory=list)
    members: list[Document] = field(default_factory=list)
    runtime: Document | None = None  # what takes the place of the instance's, where the look has found something new
    # What was used since: recorded before the rest is told, so that `runtime` may say how far that is. If it cannot be
    # recorded now, `runtime` is not told either, and the next look finds the same again.
    usage: list[UsageReport] = field(default_factory=list)
    recorded: bool = False  # set once it is
    mode: Mode | None = None  # the form that it has now

    def member(self, member: InstanceMember, problem: str | None) -> None:
        if problem is None:
            self.members.append({"member_id": member.id, "status": "ready"})
            return
        self.status = "degraded" if self.status == "healthy" else self.status
        self.members.append({"member_id": member.id, "status": "degraded", "message": problem})
        self.reasons.append({"code": "member_degraded", "message": problem, "member_id": member.id})


class AppController:
    slug: str = ""
    components: Sequence[str] = ()
    health_seconds: float = 30.0  # between two looks at an instance

    async def bootstrap(self, ctx: Context) -> None:
        """Deploy: the app, on all members, from nothing or from wherever an earlier attempt ended."""
        raise _absent("deploy")

    async def add(self, ctx: Context) -> None:
        raise _absent("add")

    async def drain(self, ctx: Context) -> None:
        raise _absent("drain")

    async def remove(self, ctx: Context) -> None:
        """Nothing of the member may be left on its host: it is looked at."""
        raise _absent("remove")

    async def stop(self, ctx: Context) -> None:
        """Nothing may run any more, and nothing may start it again: the hosts are looked at. Data stays."""
        raise _absent("stop")

    async def start(self, ctx: Context) -> None:
        raise _absent("start")

    async def teardown(self, ctx: Context) -> None:
        """Decommission: nothing may be left on any host."""
        raise _absent("decommission")

    async def upgrade(self, ctx: Context) -> None:
        """To `ctx.version`."""
        raise _absent("upgrade")

    async def restart(self, ctx: Context) -> None:
        await self.stop(ctx)
        await self.start(ctx)

    async def rollback(self, ctx: Context) -> None:
        await self.upgrade(ctx)

    async def reconcile(self, ctx: Context) -> None:
        await self.bootstrap(ctx)

    async def repair(self, ctx: Context) -> None:
        await self.reconcile(ctx)

    async def recover(self, ctx: Context) -> None:
        await self.add(ctx)

    async def replace(self, ctx: Context) -> None:
        """The new one first, so that the app does not shrink meanwhile."""
        if ctx.coming is not None:
            await self.add(ctx.only(ctx.coming))
        if ctx.leaving is not None and not ctx.leaving.host_gone:
            await self.remove(ctx.only(ctx.leaving))

    async def health(self, watched: Watched) -> Health | None:
        """None: nothing can be said of this one now."""
        return None

    def handler(self, kind: str) -> Handler:
        found: Handler | None = getattr(self, NAMES.get(kind, kind), None)
        if found is None:
            raise _absent(kind)
        return found


def _absent(kind: str) -> Failed:
    return Failed("not_supported", f"This app does not know {kind}.", next_step="Ask for something that it knows.")
