"""The driver for GPU slices on a lab host: each allocation is a container with its own address and sshd.

It has the same operations and phases as any other slice driver; only the hardware isolation is simulated.
"""

from __future__ import annotations

import ipaddress
import os
import threading
from datetime import UTC, datetime
from pathlib import Path

from gpuaas_agent import log
from gpuaas_agent.allocations import (
    AllocationLedger,
    AllocationRecord,
    live_grants,
    revoked_keys,
    revokes_access,
    stored_grants,
)
from gpuaas_agent.commands import Deadline
from gpuaas_agent.config import Config
from gpuaas_agent.drivers.lab_slice import LabSlice
from gpuaas_agent.drivers.seam import Plan, SshTarget, TaskContext
from gpuaas_agent.drivers.slice_target import SliceTarget
from gpuaas_agent.failures import TaskFailure
from gpuaas_agent.host import cgroups, drives, inspection, marker, mounts, processes, sshd, units
from gpuaas_agent.host.checks import Check, Finding, check, wire
from gpuaas_agent.host.confined_files import ConfinedFiles
from gpuaas_agent.host.sessions import SessionScope, end_sessions
from gpuaas_agent.phases import Step
from gpuaas_agent.probes.checks import ProbeTarget
from gpuaas_agent.specs import AccessSpec, InspectSpec, ProvisionSpec, ReleaseSpec

_NO_ADDRESS = ipaddress.IPv4Interface("0.0.0.0/32")


class LabContainerDriver:
    """Serves slices as lab containers. A lock guards the choice of an address; the ledger is the list of addresses in use."""

    def __init__(self, config: Config, ledger: AllocationLedger) -> None:
        self._config = config
        self._ledger = ledger
        self._lock = threading.Lock()
        self._access = threading.Lock()

    def prepare(self, context: TaskContext) -> None:
        """Start the slices that should run here, for example after a power cut."""
        for record in self._ledger.served():
            slice_ = self._find(record.allocation_id)
            if record.shape != "gpu_slice":
                continue
            if not (slice_.layer / "etc/gpuaas/slice.json").exists():
                continue  # its provision was interrupted and will be repeated
            try:
                slice_.mount(context.deadline)
                slice_.connect(context.deadline)
                slice_.boot(context.deadline)
            except TaskFailure as problem:
                log.error("slice_not_restarted", slice=slice_.name, code=problem.code)

    def idle(self) -> None:
        """Do nothing: there is nothing to prepare."""

    def expire_grants(self, context: TaskContext) -> None:
        with self._access:
            self._expire_grants()

    def _expire_grants(self) -> None:
        now = datetime.now(UTC)
        for record in self._ledger.served():
            if record.shape != "gpu_slice":
                continue
            grants, slice_ = live_grants(record, now), self._find(record.allocation_id)
            if len(grants) < len(record.grants):
                slice_.ssh.write_grants(record.login_user, grants, now)
                unidentified = SessionScope(record.login_user, slice_.name)
                end_sessions((), revoked_keys(record, grants), unidentified)
                self._ledger.change(record.allocation_id, grants=stored_grants(grants))
                log.event("grants_expired", allocation_id=record.allocation_id)

    def renew_host_certificates(self, context: TaskContext) -> None:
        for record in self._ledger.unproven():
            slice_ = self._find(record.allocation_id)
            if record.shape != "gpu_slice" or record.released or not slice_.is_running(context.deadline):
                continue
            key = slice_.ssh.host_public_key()
            certificate = context.certify_host(record.allocation_id, key, record.address)
            slice_.ssh.write_host_certificate(certificate)
            slice_.reload_ssh()
            command_prefix = ("nsenter", f"--net=/run/netns/{slice_.name}")
            sshd.require_served(certificate, record.address, 22, context.deadline, command_prefix)

    def ssh_target(self, allocation_id: str) -> SshTarget:
        """Return a target inside the slice's network: macvlan blocks traffic between a host and its own slices."""
        record, slice_ = self._ledger.require_served(allocation_id), self._find(allocation_id)
        command_prefix = ("nsenter", f"--net=/run/netns/{slice_.name}")
        return SshTarget(record.address, 22, record.login_user, slice_.ssh.host_public_key(), command_prefix)

    def probe_target(self, allocation_id: str) -> ProbeTarget:
        """Return a target inside the slice's network, as for SSH. Units are those that have a process, by the kernel."""
        record, slice_ = self._ledger.require_served(allocation_id), self._find(allocation_id)

        def is_unit_active(unit: str, deadline: Deadline) -> bool:
            return unit in SliceTarget(slice_, deadline).running_units()

        return ProbeTarget((record.address, "127.0.0.1"), slice_.network, is_unit_active)

    def log_files(self, allocation_id: str) -> ConfinedFiles:
        self._ledger.require_served(allocation_id)
        return SliceTarget(self._find(allocation_id), Deadline.after(10.0)).files

    def provision(self, spec: ProvisionSpec, context: TaskContext) -> Plan:
        plan = Plan()
        access, deadline = spec.access, context.deadline
        slice_ = LabSlice(self._config, spec.allocation_id, self._lease(spec, context))

        def write_files() -> None:
            slice_.write_layer(spec)
            certificate = context.certify_host(spec.allocation_id, slice_.ssh.host_public_key(), str(slice_.address.ip))
            slice_.ssh.write_host_certificate(certificate)
            slice_.ssh.revoke_serials(access, deadline)
            slice_.ssh.grant_access(access, datetime.now(UTC))

        def mount() -> None:
            record = self._ledger.get(spec.allocation_id)
            if slice_.mount(deadline) and record is not None and record.marker is not None:
                marker.plant(record.marker, slice_.root)

        def ready() -> str:
            greeting = slice_.wait_ready(deadline)
            plan.evidence.update({"ssh_greeting": greeting, "slice": slice_.name})
            plan.evidence["gpu_nodes"] = slice_.devices()
            SliceTarget(slice_, deadline).remember()
            plan.result["ssh"] = {
                "address": str(slice_.address.ip),
                "port": 22,
                "user": access.login_user,
            }
            return greeting

        plan.steps = [
            Step("write_files", write_files),
            Step("mount", mount),
            Step("connect", lambda: slice_.connect(deadline)),
            Step("boot", lambda: slice_.boot(deadline)),
            Step("ready", ready),
        ]
        return plan

    def sync_access(self, spec: AccessSpec, context: TaskContext) -> Plan:
        def write() -> str:
            record = self._ledger.require_here(spec.allocation_id)
            slice_ = self._find(spec.allocation_id)
            slice_.ssh.revoke_serials(spec, context.deadline)
            with self._access:
                slice_.ssh.grant_access(spec, datetime.now(UTC))
                anew = revokes_access(record, spec)
                unidentified = SessionScope(spec.login_user, slice_.name) if anew else None
                ended = end_sessions(spec.revoked_serials, revoked_keys(record, spec.grants), unidentified)
                self._ledger.put(record.with_access(spec, context.task))
            return f"{len(spec.grants)} grants, {len(spec.revoked_serials)} revoked serials, {ended} sessions ended"

        return Plan(steps=[Step("write_access", write)])

    def inspect(self, spec: InspectSpec, context: TaskContext) -> Plan:
        plan = Plan(result=spec.echo())

        def look() -> str:
            record = self._ledger.require_served(spec.allocation_id)
            planted = record.marker.paths if record.marker else ()
            target = SliceTarget(self._find(spec.allocation_id), context.deadline, planted)
            requested = inspection.Inspection.of(spec, target, record.login_user)
            checks, times = requested.run_until_settled(context.deadline)
            plan.result.update(inspection.wire(checks, times))
            return f"{len(checks)} checks, looked {times} times"

        plan.steps = [Step("look", look)]
        return plan

    def deprovision(self, spec: ReleaseSpec, context: TaskContext) -> Plan:
        slice_ = self._find(spec.allocation_id)

        def close_access() -> None:
            self._ledger.change(spec.allocation_id, released=True)
            slice_.ssh.revoke_access()

        def halt() -> None:
            slice_.halt(context.deadline)

        return Plan(steps=[Step("close_access", close_access), Step("halt", halt)])

    def wipe(self, spec: ReleaseSpec, context: TaskContext) -> Plan:
        plan = Plan(result={"removed": 0, "restored": 0})
        slice_ = self._find(spec.allocation_id)

        def delete() -> str:
            slice_.halt(context.deadline)
            plan.result["removed"] = slice_.delete()
            return f"{plan.result['removed']} entries"

        def erase_drives() -> str:
            expected = self._drives(spec)
            absent = drives.erase_all(expected, context.deadline)
            plan.evidence["drives_absent"] = absent
            return f"{len(expected) - len(absent)} drives erased, {len(absent)} absent"

        plan.steps = [
            Step("delete", delete),
            Step("erase_drives", erase_drives, when=spec.terms.erase_drives),
        ]
        return plan

    def verify(self, spec: ReleaseSpec, context: TaskContext) -> Plan:
        plan = Plan()
        slice_ = self._find(spec.allocation_id)

        def look() -> str:
            plan.result.update(wire(self._checks(slice_, spec, context)))
            return "clean" if plan.result["clean"] else "not clean"

        def settle() -> None:
            if plan.result["clean"]:
                self._ledger.change(spec.allocation_id, verified=True, released=True)

        plan.steps = [Step("look", look), Step("settle", settle)]
        return plan

    def _checks(self, slice_: LabSlice, spec: ReleaseSpec, context: TaskContext) -> list[Check]:
        record = self._ledger.get(spec.allocation_id)

        def look_for_marker() -> Finding:
            if record is None and not spec.provisioned:
                return 0, []  # released before its provision began here
            if record is None or record.marker is None:
                return 0, ["there is no marker on record for this allocation"]  # without the marker, nothing is proven
            found = [
                f"{place}{path}"
                for place in (slice_.root, slice_.folder / "upper")
                for path in marker.still_there(record.marker, place)
            ]
            return len(record.marker.paths), found

        def look_for_processes() -> Finding:
            running = processes.snapshot()
            left = [p for p in running if slice_.name in p.group or slice_.name in p.command]
            return len(running), [process.describe() for process in left]

        def look_for_mounts() -> Finding:
            table = mounts.table()
            places = (str(slice_.folder), f"/run/netns/{slice_.name}")
            return len(table), [m.label for m in table if m.point.startswith(places)]

        def look_for_units() -> Finding:
            found = units.present(context.deadline)
            files = {path for path in units.files() if slice_.name in path}
            return len(found), sorted({unit for unit in found if slice_.name in unit} | files)

        return [
            check("marker", look_for_marker, "agent"),
            check("files", lambda: _existing([slice_.folder]), "kernel"),
            check("processes", look_for_processes, "kernel"),
            check("mounts", look_for_mounts, "kernel"),
            check("units", look_for_units, "kernel"),
            check("slice", lambda: _existing(_traces(slice_)), "kernel"),
            drives.inspect(self._drives(spec), erased_here=spec.terms.erase_drives),
        ]

    def _drives(self, spec: ReleaseSpec) -> tuple[str, ...]:
        record = self._ledger.get(spec.allocation_id)
        return drives.expected(drives.named(spec.slots), record.drives if record else ())

    def _lease(self, spec: ProvisionSpec, context: TaskContext) -> ipaddress.IPv4Interface:
        """Return the allocation's address: its present one, or the lowest free one."""
        with self._lock:
            self._ledger.forget_verified(spec.allocation_id)
            known = self._ledger.get(spec.allocation_id)
            taken = {record.address for record in self._ledger.all()}
            free = (a for a in self._config.slice_addresses if str(a.ip) not in taken)
            current = self._interface(known.address) if known else None
            address = current or next(free, None)
            if address is None:
                raise TaskFailure(
                    "no_slice_address",
                    "Every slice address of this host is in use",
                    "Add addresses to slice_addresses in agent.json.",
                )
            user = spec.access.login_user
            self._ledger.put(
                AllocationRecord(
                    allocation_id=spec.allocation_id,
                    shape="gpu_slice",
                    generation=context.generation,
                    login_user=user,
                    principal=spec.access.principal,
                    address=str(address.ip),
                    marker=(known.marker if known else None) or marker.choose(f"/home/{user}"),
                    grants=stored_grants(spec.access.grants),
                    drives=drives.named(spec.slots),
                ).with_proof(context.task)
            )
            return address

    def _interface(self, address: str) -> ipaddress.IPv4Interface | None:
        for candidate in self._config.slice_addresses:
            if str(candidate.ip) == address:
                return candidate
        return None

    def _find(self, allocation_id: str) -> LabSlice:
        """Return the slice of an allocation; its name is derived from the id, even without a record."""
        record = self._ledger.get(allocation_id)
        address = self._interface(record.address) if record else None
        return LabSlice(self._config, allocation_id, address or _NO_ADDRESS)


def _existing(paths: list[Path]) -> Finding:
    return len(paths), [str(path) for path in paths if os.path.lexists(path)]


def _traces(slice_: LabSlice) -> list[Path]:
    """Return the paths where a namespace or a control group of the slice would be."""
    return [Path(f"/run/netns/{slice_.name}"), *cgroups.traces_of_unit(slice_.unit)]
