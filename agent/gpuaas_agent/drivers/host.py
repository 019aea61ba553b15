"""The bare-metal driver: the allocation is the host itself. The tenant gets an account with sudo. A comparison of the
host with its baseline finds what the tenant left behind.
"""

from __future__ import annotations

import contextlib
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
from gpuaas_agent.drivers.host_release import HostRelease
from gpuaas_agent.drivers.seam import Plan, SshTarget, TaskContext
from gpuaas_agent.failures import TaskFailure
from gpuaas_agent.host import accounts, agent_start, drives, marker, processes, sshd, units
from gpuaas_agent.host.baseline import (
    AgentFolders,
    Baseline,
    BaselineStore,
    observe,
)
from gpuaas_agent.host.confined_files import ConfinedFiles
from gpuaas_agent.host.host_target import HostBaseline, HostTarget
from gpuaas_agent.host.inspection import Inspection, wire
from gpuaas_agent.host.sessions import SessionScope, end_sessions
from gpuaas_agent.phases import Step
from gpuaas_agent.probes.checks import ProbeTarget
from gpuaas_agent.specs import AccessSpec, InspectSpec, ProvisionSpec, ReleaseSpec

_BASELINE_SECONDS = 600.0


class HostDriver:
    """Serves whole hosts. One lock guards the baseline, which is recorded while the host is idle; a provision waits for it."""

    def __init__(self, config: Config, ledger: AllocationLedger) -> None:
        self._config = config
        self._ledger = ledger
        self._ssh = sshd.SshFiles(Path("/"))
        self._store = BaselineStore(config.state_dir)
        self._fresh = False
        self._lock = threading.Lock()
        self._access = threading.Lock()
        # The names in the host's certificate are chosen and written under one lock: a renewal must not undo a provision.
        self._certificate = threading.Lock()
        self._folders = AgentFolders(str(config.state_dir), str(config.slice_dir))
        self._release = HostRelease(
            config, ledger, self._ssh, self._store, self._folders, self._load_baseline, self._end_foreign_processes
        )

    def prepare(self, context: TaskContext) -> None:
        changed = self._ssh.install()
        if not self._ledger.unproven():
            certificate = context.certify_host(None, self._ssh.host_public_key(), self._config.effective_address())
            changed |= self._ssh.write_host_certificate(certificate)
        if changed:
            sshd.check_configuration(context.deadline)
            sshd.reload(context.deadline)

    def idle(self) -> None:
        """Record the baseline once per start of the agent, if no tenant is or was here since."""
        with self._lock:
            if self._fresh or self._ledger.unproven():
                return
            baseline = observe(self._folders, Deadline.after(_BASELINE_SECONDS))
            # A slice does not wait for a baseline; if one was provisioned meanwhile, this observation includes it.
            if not self._ledger.unproven():
                self._keep(baseline)

    def expire_grants(self, context: TaskContext) -> None:
        with self._access:
            self._expire_grants()

    def _expire_grants(self) -> None:
        now = datetime.now(UTC)
        for record in self._ledger.served():
            if record.shape != "baremetal":
                continue
            grants = live_grants(record, now)
            if len(grants) < len(record.grants):
                self._ssh.write_grants(record.login_user, grants, now)
                end_sessions((), revoked_keys(record, grants), SessionScope(record.login_user))
                self._ledger.change(record.allocation_id, grants=stored_grants(grants))
                log.event("grants_expired", allocation_id=record.allocation_id)

    def renew_host_certificates(self, context: TaskContext) -> None:
        """Renew the certificate, except between a release and its proof: the wipe then writes a new one."""
        with self._certificate:
            unproven = [record for record in self._ledger.unproven() if record.shape == "baremetal"]
            if any(record.released for record in unproven):
                return
            key, served = self._ssh.host_public_key(), unproven[0].allocation_id if unproven else None
            certificate = context.certify_host(served, key, self._config.effective_address())
            self._ssh.write_host_certificate(certificate)
        sshd.check_configuration(context.deadline)
        sshd.reload(context.deadline)
        sshd.require_served(certificate, "127.0.0.1", self._config.ssh_port, context.deadline)

    def ssh_target(self, allocation_id: str) -> SshTarget:
        record = self._ledger.require_served(allocation_id)
        return SshTarget("127.0.0.1", self._config.ssh_port, record.login_user, self._ssh.host_public_key())

    def probe_target(self, allocation_id: str) -> ProbeTarget:
        self._ledger.require_served(allocation_id)
        addresses = (self._config.effective_address(), "127.0.0.1")
        return ProbeTarget(addresses, contextlib.nullcontext, units.is_active)

    def log_files(self, allocation_id: str) -> ConfinedFiles:
        self._ledger.require_served(allocation_id)
        return ConfinedFiles(Path("/"))

    def provision(self, spec: ProvisionSpec, context: TaskContext) -> Plan:
        plan = Plan()
        access = spec.access
        address = self._config.effective_address()

        def remember() -> str:
            self._refuse_beside_another(spec, context)
            digest = self._ensure_baseline(context.deadline)
            plan.evidence["baseline_sha256"] = digest
            known = self._ledger.get(spec.allocation_id)
            planted = known.marker if known else None
            self._ledger.forget_verified(spec.allocation_id)
            self._ledger.put(
                AllocationRecord(
                    allocation_id=spec.allocation_id,
                    shape="baremetal",
                    generation=context.generation,
                    login_user=access.login_user,
                    principal=access.principal,
                    address=address,
                    baseline_digest=digest,
                    marker=planted or marker.choose(f"/home/{access.login_user}"),
                    grants=stored_grants(access.grants),
                    drives=drives.named(spec.slots),
                ).with_proof(context.task)
            )
            return f"baseline {digest[:12]}"

        def account() -> None:
            accounts.ensure_user(access.login_user, context.deadline)
            record = self._ledger.get(spec.allocation_id)
            if record is not None and record.marker is not None:
                marker.plant(record.marker)

        def certificate() -> None:
            with self._certificate:
                key = self._ssh.host_public_key()
                self._ssh.write_host_certificate(context.certify_host(spec.allocation_id, key, address))

        def open_access() -> None:
            self._ssh.install()
            self._ssh.revoke_serials(access, context.deadline)
            self._ssh.grant_access(access, datetime.now(UTC))
            self._ssh.allow_logins()

        def ready() -> str:
            sshd.check_configuration(context.deadline)
            sshd.reload(context.deadline)
            greeting = sshd.wait_until_answering("127.0.0.1", self._config.ssh_port, context.deadline)
            plan.evidence["ssh_greeting"] = greeting
            plan.result["ssh"] = {
                "address": address,
                "port": self._config.ssh_port,
                "user": access.login_user,
            }
            return greeting

        plan.steps = [
            Step("remember", remember),
            Step("account", account),
            Step("host_certificate", certificate),
            Step("open_access", open_access),
            Step("ready", ready),
        ]
        return plan

    def sync_access(self, spec: AccessSpec, context: TaskContext) -> Plan:
        def write() -> str:
            record = self._ledger.require_here(spec.allocation_id)
            self._ssh.revoke_serials(spec, context.deadline)
            with self._access:
                self._ssh.grant_access(spec, datetime.now(UTC))
                unidentified = SessionScope(spec.login_user) if revokes_access(record, spec) else None
                ended = end_sessions(spec.revoked_serials, revoked_keys(record, spec.grants), unidentified)
                self._ledger.put(record.with_access(spec, context.task))
            return f"{len(spec.grants)} grants, {len(spec.revoked_serials)} revoked serials, {ended} sessions ended"

        return Plan(steps=[Step("write_access", write)])

    def inspect(self, spec: InspectSpec, context: TaskContext) -> Plan:
        plan = Plan(result=spec.echo())

        def look() -> str:
            record = self._ledger.require_served(spec.allocation_id)
            digest, before = self._load_baseline()
            plan.evidence["baseline_sha256"] = digest
            known = HostBaseline(before, self._store.blobs, _provisioned(record))
            target = HostTarget(known, self._folders, context.deadline)
            checks, times = Inspection.of(spec, target, record.login_user).run_until_settled(context.deadline)
            plan.result.update(wire(checks, times))
            return f"{len(checks)} checks, looked {times} times"

        plan.steps = [Step("look", look)]
        return plan

    def deprovision(self, spec: ReleaseSpec, context: TaskContext) -> Plan:
        plan = Plan()

        def close_access() -> str:
            if self._is_anothers(spec.allocation_id):
                return "skipped: the host serves another allocation"
            record = self._ledger.change(spec.allocation_id, released=True)
            self._ssh.deny_logins()
            for user in {spec.login_user, record.login_user if record else ""} - {""}:
                accounts.disable_user(user, context.deadline)
            return self._reload_or_stop_ssh(context.deadline)

        def end_processes() -> str:
            if self._is_anothers(spec.allocation_id):
                return "skipped: the host serves another allocation"
            ended = self._end_foreign_processes(context.deadline)
            plan.evidence["processes_ended"] = ended
            return f"{ended} processes ended"

        plan.steps = [Step("close_access", close_access), Step("end_processes", end_processes)]
        return plan

    def wipe(self, spec: ReleaseSpec, context: TaskContext) -> Plan:
        return self._release.wipe(spec, context)

    def verify(self, spec: ReleaseSpec, context: TaskContext) -> Plan:
        return self._release.verify(spec, context)

    def _refuse_beside_another(self, spec: ProvisionSpec, context: TaskContext) -> None:
        """Refuse to provision a host that is not proven clean. The refused allocation is recorded as released: its
        clean-up compares the whole host with the baseline and so proves the other allocation clean as well.
        """
        others = self._ledger.others_unproven(spec.allocation_id)
        if not others:
            return
        if self._ledger.get(spec.allocation_id) is None:
            self._ledger.put(
                AllocationRecord(
                    allocation_id=spec.allocation_id,
                    shape="baremetal",
                    generation=context.generation,
                    login_user=spec.access.login_user,
                    released=True,
                    marker=marker.choose(f"/home/{spec.access.login_user}"),
                    drives=drives.named(spec.slots),
                ).with_proof(context.task)
            )
        names = ", ".join(record.allocation_id for record in others)
        raise TaskFailure(
            "host_not_clean",
            f"These allocations are not proven clean on this host: {names}"[:300],
            "Release them, or retry their release. A retried release of this allocation cleans the whole host.",
        )

    def _is_anothers(self, allocation_id: str) -> bool:
        """Tell whether the host now serves another allocation; a late deprovision must not affect its tenant. A record that the
        platform did not sign does not count: a tenant could plant it to keep their access.
        """
        record = self._ledger.get(allocation_id)
        gone = record is None or record.verified
        return gone and any(other.allocation_id != allocation_id for other in self._ledger.served())

    def _ensure_baseline(self, deadline: Deadline) -> str:
        with self._lock:
            if not self._store.exists():
                self._keep(observe(self._folders, deadline))
            return self._store.load()[0]

    def _keep(self, baseline: Baseline) -> None:
        digest = self._store.save(baseline)
        self._fresh = True
        log.event("baseline_taken", digest=digest)

    def _load_baseline(self) -> tuple[str, Baseline]:
        with self._lock:
            if not self._store.exists():
                raise TaskFailure(
                    "baseline_missing",
                    "This host has no baseline to compare with",
                    "Reinstall the host. Without a baseline, a wipe cannot be proven.",
                )
            return self._store.load()

    def _end_foreign_processes(self, deadline: Deadline) -> int:
        _, before = self._load_baseline()

        def stop_foreign_units() -> None:
            now = units.present(deadline)
            units.stop(units.foreign(now, set(before.live.units), before.unit_files), deadline)

        def find() -> list[processes.Process]:
            """Leave what started the agent: it ends with the agent, when the wipe has restored the agent's unit."""
            wrappers = {process.instance for process in processes.ancestors()}
            return [process for process in processes.foreign(before.knows_process) if process.instance not in wrappers]

        agent_start.stop_wrappers(before)
        stop_foreign_units()
        ended, left = processes.end(find, stop_foreign_units, deadline)
        if left:
            raise TaskFailure(
                "processes_remain",
                "Processes could not be ended: " + "; ".join(p.describe() for p in left[:5]),
                "Look at these processes on the host; a process in state D needs a reboot.",
                retryable=True,
            )
        return ended

    def _reload_or_stop_ssh(self, deadline: Deadline) -> str:
        """Reload sshd, or stop it if the tenant broke its configuration: a stopped sshd is safe."""
        try:
            sshd.check_configuration(deadline)
            sshd.reload(deadline)
        except TaskFailure as problem:
            units.stop(["ssh.service", "ssh.socket"], deadline)
            return f"sshd stopped: {problem.code}"
        return "closed"


def _provisioned(record: AllocationRecord) -> frozenset[str]:
    """Return the paths that a provision adds to a host."""
    planted = record.marker.paths if record.marker else ()
    return frozenset({f"/home/{record.login_user}", str(accounts.SUDOERS), *planted})
