"""Gives a handler what it works with: the operation, the instance and its members, access to the hosts, and ways to report."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from gpuaas_sdk.controller.artifact import PublishedArtifact, pull_artifact
from gpuaas_sdk.controller.connections import HostConnections
from gpuaas_sdk.controller.failures import Failed, Interrupted, failure_of, one_line
from gpuaas_sdk.controller.hosts import Host, instance_environment
from gpuaas_sdk.controller.inputs import with_defaults
from gpuaas_sdk.controller.lease import Lease
from gpuaas_sdk.controller.modes import Mode
from gpuaas_sdk.controller.secrets import AppSecret, find_secret, read_secrets
from gpuaas_sdk.controller.usage import CounterReading, record_counters, report_usage
from gpuaas_sdk.generated.models import (
    ControllerInstance,
    ControllerMember,
    ControllerVersion,
    Operation,
    UsageReport,
)
from gpuaas_sdk.wire import Document

# Called with a step's name after its work and before its report: the moment at which a crash does the most harm.
StepHook = Callable[[str], None]


@dataclass
class OperationReport:
    """Holds what the handler has reported so far. The framework sends it when the operation ends."""

    members: dict[str, dict[str, object]] = field(default_factory=dict)
    runtime: Document | None = None
    access_bundle: Document | None = None
    done: set[tuple[str, str | None]] = field(default_factory=set)  # steps of this attempt, by name and member
    secrets: dict[str, AppSecret] | None = field(default=None, repr=False)  # once they were read
    reading_secrets: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)


class Context:
    """One operation, as its handler sees it: what was requested, the members, their hosts, and ways to report.

    The framework makes it. `for_members` restricts it to some members, to call one handler from another.
    """

    def __init__(
        self,
        lease: Lease,
        connections: HostConnections,
        step_hook: StepHook,
        report: OperationReport | None = None,
        member_ids: frozenset[str] | None = None,
    ) -> None:
        self.lease = lease
        self.connections = connections
        self.step_hook = step_hook
        self.report = OperationReport() if report is None else report
        self.member_ids = member_ids  # the members that this handler works on; None: those of the operation

    @property
    def operation(self) -> Operation:
        """The operation: its kind, who requested it, its parameters and deadline."""
        return self.lease.claimed.operation

    @property
    def instance(self) -> ControllerInstance:
        """The instance, with what its controller reported last."""
        return self.lease.claimed.instance

    @property
    def inputs(self) -> Mapping[str, object]:
        """The inputs of the instance, checked against the manifest's `inputs`, with its defaults filled in."""
        filled = with_defaults(self.manifest.get("inputs"), self.instance.inputs)
        return filled if isinstance(filled, Mapping) else self.instance.inputs

    @property
    def options(self) -> Mapping[str, object]:
        """The options of the request, checked against the manifest's `options` for this kind of operation."""
        options = self.operation.parameters.get("options")
        return options if isinstance(options, Mapping) else {}

    @property
    def rotates_secrets(self) -> bool:
        """True for a `reconcile` that the platform requests to replace secrets, such as after a member left: do nothing
        else. `rotated_secrets` names those that the platform keeps.
        """
        return self.operation.parameters.get("rotate_secrets") is True

    @property
    def rotated_secrets(self) -> list[str]:
        """The secrets of the manifest that this operation changes: bring `await ctx.secret(name)` to every member."""
        named = self.operation.parameters.get("secrets")
        return [str(name) for name in named] if self.rotates_secrets and isinstance(named, list) else []

    async def secret(self, name: str) -> bytes:
        """Return the value of a secret that the manifest declares. Write it to hosts with `host.put`; report it to nobody."""
        return find_secret(await self._read_secrets(), name).value

    async def previous_secret(self, name: str) -> bytes | None:
        """Return the value that members may still have, while a rotation has not succeeded; None: they have the present one."""
        return find_secret(await self._read_secrets(), name).previous

    async def secrets(self) -> Mapping[str, AppSecret]:
        """Return all secrets of the instance that have a value, by key. One that a person may give and has not is not there."""
        return await self._read_secrets()

    async def _read_secrets(self) -> dict[str, AppSecret]:
        async with self.report.reading_secrets:  # members are worked on at the same time, and one reading is enough
            if self.report.secrets is None:
                self.report.secrets = await read_secrets(self.lease)
            return self.report.secrets

    @property
    def version(self) -> ControllerVersion:
        """The version to run; in an upgrade or rollback, the target version."""
        return self.lease.claimed.target_version or self.instance.version

    @property
    def manifest(self) -> Document:
        """The manifest of `version`."""
        return self.version.manifest

    @property
    def all_members(self) -> list[ControllerMember]:
        """All current members of the instance, including those that this operation does not work on."""
        return self.lease.claimed.members

    @property
    def members(self) -> list[ControllerMember]:
        """The members to work on. Members whose host is gone are left out: there is nothing to do for them."""
        mine = [one for one in self.all_members if one.concerned and not one.host_gone]
        return mine if self.member_ids is None else [one for one in mine if one.id in self.member_ids]

    def members_of(self, component_key: str) -> list[ControllerMember]:
        """Return the members of one component that this operation works on, by ordinal."""
        return sorted((one for one in self.members if one.component_key == component_key), key=lambda one: one.ordinal)

    @property
    def old_member(self) -> ControllerMember | None:
        """In `replace`, the member that is replaced."""
        return self._find_member(self.operation.member_id) if self.operation.new_member_id is not None else None

    @property
    def new_member(self) -> ControllerMember | None:
        """In `add` and `replace`, the member that joins."""
        return self._find_member(self.operation.new_member_id or self.operation.member_id)

    def for_members(self, *members: ControllerMember) -> "Context":
        """Return the same operation, restricted to these members. Use it to call one handler from another."""
        member_ids = frozenset(one.id for one in members)
        return Context(self.lease, self.connections, self.step_hook, self.report, member_ids)

    async def host(self, member: ControllerMember) -> Host:
        """Return the host of a member. It connects when the first command runs."""
        if member.host_gone or member.allocation is None:
            raise Failed("host_gone", f"The allocation of {member.name} has ended.", next_step="Remove the member.")
        return await self.connections.get_host(member.allocation.id)

    @property
    def environment(self) -> dict[str, str]:
        """The variables that mark a process as part of this instance. Set them in everything that a handler leaves
        running, such as a systemd unit; the platform finds it and its children by them. `host.run` and `host.sudo` set
        them for what they start.
        """
        return instance_environment(self.instance.id)

    @property
    def artifact(self) -> PublishedArtifact:
        """The published artifact of `version`, for `host.put` and `host.unpack`. The hosts download it themselves."""
        return PublishedArtifact(self.lease)

    def artifact_of(self, digest: str) -> PublishedArtifact:
        """Return an artifact of `version` by its digest: its own, an image of a component, or a file of a runtime profile."""
        return PublishedArtifact(self.lease, digest)

    async def fetch_artifact(self) -> bytes:
        """Return the published bytes of `version`, if the artifact is a blob. Their digest is checked."""
        return await pull_artifact(self.lease)

    @asynccontextmanager
    async def step(self, name: str, member: ControllerMember | None = None) -> AsyncIterator[None]:
        """Run the block as a step: `async with ctx.step("install"):`. It must be repeatable: after a crash it runs again."""
        self._check_interrupted()
        await self._report_step(name, member, "running")
        self._check_interrupted()
        try:
            yield
            self.step_hook(name)
        except Exception as error:
            await self._report_step(name, member, "failed", failure_of(error).message)
            raise
        self.lease.queue_step(_step(name, member, "succeeded"))
        self.report.done.add(_step_key(name, member))

    async def run_once(
        self, name: str, work: Callable[[], Awaitable[object]], member: ControllerMember | None = None
    ) -> None:
        """Run a step (`ctx.run_once("fetch", fetch)`) that is skipped when an attempt at this operation has reported it
        done. Use it for slow work whose result stays. It must be repeatable all the same: a crash may fall between the
        end of the work and its report.
        """
        if not self._is_done(name, member):
            async with self.step(name, member):
                await work()
            return
        self._check_interrupted()
        self.step_hook(name)  # the attempt has reached this step, as if it had run

    async def report_progress(self, percent: int, message: str | None = None) -> None:
        """Tell people how far the operation is."""
        progress: dict[str, object] = {"percent": percent}
        await self.lease.report(progress=progress if message is None else progress | {"message": one_line(message)})

    def set_member_status(
        self, member: ControllerMember, status: str, *, message: str | None = None, detail: Document | None = None
    ) -> None:
        """Set the status: ready, degraded, drained or failed. `detail` is for debugging; the platform does not interpret it."""
        reported: dict[str, object] = {"member_id": member.id, "status": status}
        if message is not None:
            reported["message"] = one_line(message)
        if detail is not None:
            reported["adapter_detail"] = detail
        self.report.members[member.id] = reported

    def set_runtime(self, **runtime: object) -> None:
        """Describe what runs now: versions, endpoints, details. The next operation and the health check read it. The
        position of `UsageCounters` stays as it is, unless `runtime` has one.
        """
        self.report.runtime = runtime

    async def report_usage(self, records: Sequence[UsageReport]) -> int:
        """Record usage now, for example before its source is removed. Returns how many of the records were new."""
        return await report_usage(self.lease.api, self.lease.project_id, self.instance.id, records)

    async def record_counters(self, read: CounterReading) -> None:
        """Record what `UsageCounters` have counted, now, such as before the source is removed. `read(runtime)` returns the
        counters with new readings; it is called again when somebody else has moved their position meanwhile.
        """
        await record_counters(self.lease, read)

    def set_access(self, **bundle: object) -> None:
        """Give people exact commands and endpoints. Never put a secret here."""
        self.report.access_bundle = bundle

    def set_mode(self, mode: Mode) -> None:
        """Set the mode that the instance is in. The platform refuses operations that are closed in it when requested."""
        self.lease.mode = mode.document()

    def _check_interrupted(self) -> None:
        """Raise if the operation was interrupted or cancelled. A handler stops only between two steps."""
        if self.lease.interrupted:
            raise Interrupted
        if self.lease.cancel_requested:
            raise Failed("cancelled", "The operation was cancelled.", next_step="Request it again when you need it.")

    def _is_done(self, name: str, member: ControllerMember | None) -> bool:
        """Tell whether this attempt or an earlier one has reported the step done."""
        before = {(one.name, one.member_id) for one in self.operation.steps if one.status == "succeeded"}
        return _step_key(name, member) in before | self.report.done

    async def _report_step(
        self, name: str, member: ControllerMember | None, status: str, message: str | None = None
    ) -> None:
        await self.lease.report([_step(name, member, status, message)])

    def _find_member(self, member_id: str | None) -> ControllerMember | None:
        return next((one for one in self.all_members if one.id == member_id), None)


def _step(name: str, member: ControllerMember | None, status: str, message: str | None = None) -> Document:
    step: dict[str, object] = {"name": name, "status": status}
    if member is not None:
        step["member_id"] = member.id
    if message is not None:
        step["message"] = one_line(message)
    return step


def _step_key(name: str, member: ControllerMember | None) -> tuple[str, str | None]:
    return name, None if member is None else member.id
