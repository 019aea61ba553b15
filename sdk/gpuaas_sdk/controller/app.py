"""The class that an app team writes: one handler for each kind of operation.

The framework may run every handler again at any time, from its beginning, on another replica and another machine. A handler
therefore looks at what is there and brings it to the wanted state. Some handlers have a default that calls others; write
those that differ.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from gpuaas_sdk.aio import AsyncClient
from gpuaas_sdk.controller.context import Context
from gpuaas_sdk.controller.failures import Failed
from gpuaas_sdk.controller.host_counts import MemberCounts, read_counts
from gpuaas_sdk.controller.modes import Mode
from gpuaas_sdk.generated.models import Instance, InstanceMember, UsageReport
from gpuaas_sdk.wire import Document

Handler = Callable[[Context], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class InstanceSnapshot:
    """An instance that no operation works on, as the health check gets it.

    A health check has no SSH access to the hosts: it checks the app the way its users reach it. Only what hosts have
    counted can be read there.
    """

    instance: Instance
    members: Sequence[InstanceMember]
    api: AsyncClient | None = field(default=None, repr=False)

    async def read_counts(self) -> list[MemberCounts]:
        """Read what the hosts have counted for their members (`counts_path`), of all hosts that answer."""
        if self.api is None:
            return []
        return await read_counts(self.api, self.instance.project_id, self.instance.id, self.members)


@dataclass(slots=True)
class Health:
    """The result of a health check. `status` is healthy, degraded or unhealthy; give `reasons` unless it is healthy. None:
    the check says nothing about health, only about usage; then `runtime` is kept only if nobody else has changed it.
    """

    status: str | None = "healthy"
    reasons: list[Document] = field(default_factory=list)
    members: list[Document] = field(default_factory=list)
    runtime: Document | None = None  # replaces the instance's runtime when the check found something new
    # Usage since the last check. The framework records it before it reports the rest, so `runtime` may hold the position
    # up to which usage is recorded. If recording fails, `runtime` is not reported either, and the next check repeats both.
    usage: list[UsageReport] = field(default_factory=list)
    usage_recorded: bool = False  # set by the framework
    mode: Mode | None = None  # the mode that the instance is in now

    def add_member(self, member: InstanceMember, problem: str | None) -> None:
        """Report a member as ready, or as degraded when there is a problem."""
        if problem is None:
            self.members.append({"member_id": member.id, "status": "ready"})
            return
        self.status = "degraded" if self.status == "healthy" else self.status
        self.members.append({"member_id": member.id, "status": "degraded", "message": problem})
        self.reasons.append({"code": "member_degraded", "message": problem, "member_id": member.id})


class AppController:
    """Subclass this, set `slug`, and write the handlers that the app supports.

    A controller without a slug serves every app that its service account is bound to, also one that is bound later.
    """

    slug: str = ""  # the app's; empty: see above
    version: str | None = None  # of the controller; people see it beside who serves the app
    components: Sequence[str] = ()
    health_seconds: float = 30.0  # pause between two health checks

    async def deploy(self, ctx: Context) -> None:
        """Deploy the app on all members, from nothing or from wherever an earlier attempt ended."""
        raise _not_supported("deploy")

    async def add(self, ctx: Context) -> None:
        """Bring up the new members."""
        raise _not_supported("add")

    async def drain(self, ctx: Context) -> None:
        """Let the members finish their work and take no more."""
        raise _not_supported("drain")

    async def remove(self, ctx: Context) -> None:
        """Remove the members from their hosts. The platform then checks that nothing of them is left."""
        raise _not_supported("remove")

    async def stop(self, ctx: Context) -> None:
        """Stop everything, so that nothing starts it again, and keep the data. The platform then checks the hosts."""
        raise _not_supported("stop")

    async def start(self, ctx: Context) -> None:
        """Start what `stop` stopped."""
        raise _not_supported("start")

    async def decommission(self, ctx: Context) -> None:
        """Remove the app from all hosts. The platform then checks that nothing is left."""
        raise _not_supported("decommission")

    async def upgrade(self, ctx: Context) -> None:
        """Bring all members to `ctx.version`."""
        raise _not_supported("upgrade")

    async def restart(self, ctx: Context) -> None:
        """Stop everything and start it again."""
        await self.stop(ctx)
        await self.start(ctx)

    async def rollback(self, ctx: Context) -> None:
        """Bring all members back to `ctx.version`, the version before."""
        await self.upgrade(ctx)

    async def reconcile(self, ctx: Context) -> None:
        """Bring everything to the wanted state again, whatever has changed on the hosts."""
        await self.deploy(ctx)

    async def repair(self, ctx: Context) -> None:
        """Bring an instance that does not work back to the wanted state."""
        await self.reconcile(ctx)

    async def recover(self, ctx: Context) -> None:
        """Bring up members that failed or whose host was lost."""
        await self.add(ctx)

    async def replace(self, ctx: Context) -> None:
        """Add the new member first, so that the app does not shrink in between; then remove the old one."""
        if ctx.new_member is not None:
            await self.add(ctx.for_members(ctx.new_member))
        if ctx.old_member is not None and not ctx.old_member.host_gone:
            await self.remove(ctx.for_members(ctx.old_member))

    async def health(self, snapshot: InstanceSnapshot) -> Health | None:
        """Check an instance. Return None when nothing can be said about it now."""
        return None

    def handler(self, kind: str) -> Handler:
        """Return the handler of a kind of operation."""
        found: Handler | None = getattr(self, kind, None)
        if found is None:
            raise _not_supported(kind)
        return found


def _not_supported(kind: str) -> Failed:
    return Failed("not_supported", f"This app does not support {kind}.", next_step="Request an operation it supports.")
