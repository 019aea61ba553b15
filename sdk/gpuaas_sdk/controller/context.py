"""What a handler gets: the operation, the instance and its members, the way to the hosts, and its voice."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from gpuaas_sdk.controller.artifact import pulled
from gpuaas_sdk.controller.doors import Doors
from gpuaas_sdk.controller.failures import Failed, Interrupted, failure_of, line
from gpuaas_sdk.controller.hosts import Host, mark_of
from gpuaas_sdk.controller.line import Lease
from gpuaas_sdk.controller.modes import Mode
from gpuaas_sdk.controller.usage import report_usage
from gpuaas_sdk.generated.models import (
    ControllerInstance,
    ControllerMember,
    ControllerVersion,
    Operation,
    UsageReport,
)
from gpuaas_sdk.wire import Document

# Asked between the work of a step and the word that it is done: the moment at which a crash hurts most.
Gate = Callable[[str], None]


@dataclass
class Said:
    """What the handler has reported so far; it is sent with the end of the operation."""

    members: dict[str, dict[str, object]] = field(default_factory=dict)
    runtime: Document | None = None
    access_bundle: Document | None = None
    done: set[tuple[str, str | None]] = field(default_factory=set)  # steps, by name and member, of this attempt


@dataclass(frozen=True)
class Context:
    lease: Lease
    doors: Doors
    gate: Gate
    said: Said = field(default_factory=Said)
    narrowed: frozenset[str] | None = None  # ids of the members that this handler works on

    @property
    def operation(self) -> Operation:
        return self.lease.claimed.operation

    @property
    def instance(self) -> ControllerInstance:
        return self.lease.claimed.instance

    @property
    def inputs(self) -> Mapping[str, object]:
        return self.instance.inputs

    @property
    def options(self) -> Mapping[str, object]:
        """What was said with the request, as the manifest's `options` for this kind of operation take it."""
        said = self.operation.parameters.get("options")
        return said if isinstance(said, Mapping) else {}

    @property
    def version(self) -> ControllerVersion:
        """What is to run: of an upgrade or rollback, the version to go to."""
        return self.lease.claimed.target_version or self.instance.version

    @property
    def manifest(self) -> Document:
        return self.version.manifest

    @property
    def everybody(self) -> list[ControllerMember]:
        """All living members of the instance, also those that this operation does not work on."""
        return self.lease.claimed.members

    @property
    def members(self) -> list[ControllerMember]:
        """Those to work on. One whose host is gone is not among them: there is nothing to do for it."""
        mine = [one for one in self.everybody if one.concerned and not one.host_gone]
        return mine if self.narrowed is None else [one for one in mine if one.id in self.narrowed]

    def of(self, component_key: str) -> list[ControllerMember]:
        """In their order, those of a component that this operation works on."""
        return sorted((one for one in self.members if one.component_key == component_key), key=lambda one: one.ordinal)

    @property
    def leaving(self) -> ControllerMember | None:
        """Of `replace`: the one whose place is taken."""
        return self._named(self.operation.member_id) if self.operation.kind == "replace" else None

    @property
    def coming(self) -> ControllerMember | None:
        """Of `add` and `replace`: the one that joins."""
        return self._named(self.operation.new_member_id or self.operation.member_id)

    def only(self, *members: ControllerMember) -> "Context":
        """The same operation for some of its members, so that one handler can be made of others."""
        return replace(self, narrowed=frozenset(one.id for one in members))

    async def host(self, member: ControllerMember) -> Host:
        if member.host_gone or member.allocation is None:
            raise Failed("host_gone", f"The allocation of {member.id} has ended.", next_step="Remove the member.")
        return await self.doors.open(member.allocation.id)

    @property
    def environment(self) -> dict[str, str]:
        """For what a handler leaves running, such as a unit: by this mark the platform knows it again, and its children.
        `host.run` and `host.sudo` set it for what they start.
        """
        return mark_of(self.instance.id)

    async def artifact(self) -> bytes:
        """The published bytes of `version`, where they are a blob: what was checked is what runs."""
        return await pulled(self.lease)

    @asynccontextmanager
    async def step(self, name: str, member: ControllerMember | None = None) -> AsyncIterator[None]:
        """`async with ctx.step("install"):`. A step must be repeatable: after a crash it runs again, from its beginning."""
        self._pause()
        await self._tell(name, member, "running")
        self._pause()
        try:
            yield
            self.gate(name)
        except Exception as error:
            await self._tell(name, member, "failed", failure_of(error).message)
            raise
        self.lease.note(_step(name, member, "succeeded"))
        self.said.done.add(_place(name, member))

    async def once(
        self, name: str, work: Callable[[], Awaitable[object]], member: ControllerMember | None = None
    ) -> None:
        """`await ctx.once("fetch", fetch)`: a step that is not run again when this operation has seen it done, for what
        takes long and stays. It must be repeatable all the same: a crash may fall between its end and the word of it.
        """
        if not self._is_done(name, member):
            async with self.step(name, member):
                await work()
            return
        self._pause()
        self.gate(name)  # the attempt has come this far, as if it had run

    async def progress(self, percent: int, message: str | None = None) -> None:
        told: dict[str, object] = {"percent": percent}
        await self.lease.tell(progress=told if message is None else told | {"message": line(message)})

    def member(
        self, member: ControllerMember, status: str, *, message: str | None = None, detail: Document | None = None
    ) -> None:
        """ready, degraded, drained or failed; `detail` is opaque to the platform, for debugging."""
        told: dict[str, object] = {"member_id": member.id, "status": status}
        if message is not None:
            told["message"] = line(message)
        if detail is not None:
            told["adapter_detail"] = detail
        self.said.members[member.id] = told

    def runtime(self, **runtime: object) -> None:
        """Versions, endpoints, detail of what runs now; the next operation and the health check read it."""
        self.said.runtime = runtime

    async def used(self, records: Sequence[UsageReport]) -> int:
        """What was used, recorded now: for what is gone when this operation is over. How many records were new."""
        return await report_usage(self.lease.line, self.instance.id, records)

    def access(self, **bundle: object) -> None:
        """Exact commands and endpoints for people. Never a secret."""
        self.said.access_bundle = bundle

    def mode(self, mode: Mode) -> None:
        """The form that the instance has now. What is closed in it is refused when somebody asks, not when you work on it."""
        self.lease.mode = mode.document()

    def _pause(self) -> None:
        """Between two steps is where it is safe to end."""
        if self.lease.interrupted:
            raise Interrupted
        if self.lease.cancel_requested:
            raise Failed("cancelled", "It was cancelled.", next_step="Ask for it again when it is wanted.")

    def _is_done(self, name: str, member: ControllerMember | None) -> bool:
        """In this attempt, or in an earlier one: the platform keeps what those have reported."""
        before = {(one.name, one.member_id) for one in self.operation.steps if one.status == "succeeded"}
        return _place(name, member) in before | self.said.done

    async def _tell(self, name: str, member: ControllerMember | None, status: str, message: str | None = None) -> None:
        await self.lease.tell([_step(name, member, status, message)])

    def _named(self, member_id: str | None) -> ControllerMember | None:
        return next((one for one in self.everybody if one.id == member_id), None)


def _step(name: str, member: ControllerMember | None, status: str, message: str | None = None) -> Document:
    step: dict[str, object] = {"name": name, "status": status}
    if member is not None:
        step["member_id"] = member.id
    if message is not None:
        step["message"] = line(message)
    return step


def _place(name: str, member: ControllerMember | None) -> tuple[str, str | None]:
    return name, None if member is None else member.id
