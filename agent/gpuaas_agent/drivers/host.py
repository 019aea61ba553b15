"""Bare metal: the allocation is the host itself. The tenant gets an account with sudo; what the
tenant leaves behind is found by comparing the host with its baseline.
"""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from pathlib import Path

from gpuaas_agent import log
from gpuaas_agent.allocations import (
    AllocationLedger,
    AllocationRecord,
    keys_taken_back,
    live_grants,
    stored_grants,
)
from gpuaas_agent.commands import Deadline
from gpuaas_agent.config import Config
from gpuaas_agent.drivers.seam import Plan, TaskContext, WayIn
from gpuaas_agent.failures import TaskFailure
from gpuaas_agent.host import accounts, drives, marker, processes, sshd, units, verify
from gpuaas_agent.host.baseline import (
    Baseline,
    BaselineStore,
    Surroundings,
    observe,
    observe_live,
)
from gpuaas_agent.host.inspection import Inspection, wire
from gpuaas_agent.host.sessions import end_sessions
from gpuaas_agent.host.whole_host import HostBefore, WholeHost
from gpuaas_agent.host.wipe import Wiper
from gpuaas_agent.phases import Step
from gpuaas_agent.specs import AccessSpec, InspectSpec, ProvisionSpec, ReleaseSpec

_BASELINE_SECONDS = 600.0


class HostDriver:
    """One lock guards the baseline: it is taken while idle, and a provision waits for it."""

    def __init__(self, config: Config, ledger: AllocationLedger) -> None:
        self._config = config
        self._ledger = ledger
        self._ssh = sshd.SshFiles(Path("/"))
        self._store = BaselineStore(config.state_dir)
        self._fresh = False
        self._lock = threading.Lock()
        self._access = threading.Lock()
        self._surroundings = Surroundings(str(config.state_dir), str(config.slice_dir))

    def prepare(self, context: TaskContext) -> None:
        changed = self._ssh.install()
        if not self._ledger.unproven():
            certificate = context.certify_host(None, self._ssh.host_public_key(), self._config.effective_address())
            changed |= self._ssh.write_host_certificate(certificate)
        if changed:
            sshd.check_configuration(context.deadline)
            sshd.reload(context.deadline)

    def idle(self) -> None:
        """Take the baseline anew at each start, as long as no tenant was here since."""
        with self._lock:
            if not self._fresh and not self._ledger.unproven():
                self._take_baseline(Deadline.after(_BASELINE_SECONDS))

    def expire_grants(self, context: TaskContext) -> None:
        with self._access:
            self._expire_grants()

    def _expire_grants(self) -> None:
        now = datetime.now(UTC)
        for record in self._ledger.unproven():
            if record.shape != "baremetal":
                continue
            grants = live_grants(record, now)
            if not record.released and len(grants) < len(record.grants):
                self._ssh.write_grants(record.login_user, grants, now)
                end_sessions((), keys_taken_back(record, grants))
                self._ledger.change(record.allocation_id, grants=stored_grants(grants))
                log.event("grants_expired", allocation_id=record.allocation_id)

    def way_in(self, allocation_id: str) -> WayIn:
        record = self._ledger.require_served(allocation_id)
        return WayIn("127.0.0.1", self._config.ssh_port, record.login_user, self._ssh.host_public_key())

    def provision(self, spec: ProvisionSpec, context: TaskContext) -> Plan:
        plan = Plan()
        access = spec.access
        address = self._config.effective_address()

        def remember() -> str:
            self._refuse_beside_another(spec, context.generation)
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
                )
            )
            return f"baseline {digest[:12]}"

        def account() -> None:
            accounts.ensure_user(access.login_user, context.deadline)
            record = self._ledger.get(spec.allocation_id)
            if record is not None and record.marker is not None:
                marker.plant(record.marker)

        def certificate() -> None:
            key = self._ssh.host_public_key()
            self._ssh.write_host_certificate(context.certify_host(spec.allocation_id, key, address))

        def open_access() -> None:
            self._ssh.install()
            self._ssh.revoke_serials(access, context.deadline)
            self._ssh.admit(access, datetime.now(UTC))
            self._ssh.reopen()

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
            record = self._ledger.require_served(spec.allocation_id)
            self._ssh.revoke_serials(spec, context.deadline)
            with self._access:
                self._ssh.admit(spec, datetime.now(UTC))
                ended = end_sessions(spec.revoked_serials, keys_taken_back(record, spec.grants))
                self._ledger.change(spec.allocation_id, principal=spec.principal, grants=stored_grants(spec.grants))
            return f"{len(spec.grants)} grants, {len(spec.revoked_serials)} revoked serials, {ended} sessions ended"

        return Plan(steps=[Step("write_access", write)])

    def inspect(self, spec: InspectSpec, context: TaskContext) -> Plan:
        plan = Plan(result=spec.echo())

        def look() -> str:
            record = self._ledger.require_served(spec.allocation_id)
            digest, before = self._load_baseline()
            plan.evidence["baseline_sha256"] = digest
            known = HostBefore(before, self._store.blobs, _provisioned(record))
            place = WholeHost(known, self._surroundings, context.deadline)
            looks, times = Inspection.of(spec, place, record.login_user).until_settled(context.deadline)
            plan.result.update(wire(looks, times))
            return f"{len(looks)} checks, looked {times} times"

        plan.steps = [Step("look", look)]
        return plan

    def deprovision(self, spec: ReleaseSpec, context: TaskContext) -> Plan:
        plan = Plan()

        def close_access() -> str:
            if self._is_anothers(spec.allocation_id):
                return "not here: another allocation is served"
            record = self._ledger.change(spec.allocation_id, released=True)
            self._ssh.shut_out()
            for user in {spec.login_user, record.login_user if record else ""} - {""}:
                accounts.disable_user(user, context.deadline)
            return self._reload_or_stop_ssh(context.deadline)

        def end_processes() -> str:
            if self._is_anothers(spec.allocation_id):
                return "not here: another allocation is served"
            ended = self._end_strangers(context.deadline)
            plan.evidence["processes_ended"] = ended
            return f"{ended} processes ended"

        plan.steps = [Step("close_access", close_access), Step("end_processes", end_processes)]
        return plan

    def wipe(self, spec: ReleaseSpec, context: TaskContext) -> Plan:
        plan = Plan()
        _, before = self._load_baseline()
        deadline = context.deadline
        wiper = Wiper(before, self._surroundings, self._store.blobs, self._config.golden_root)

        def erase_drives() -> str:
            expected = self._drives(spec)
            absent = drives.erase_all(expected, deadline)
            plan.evidence["drives_absent"] = absent
            return f"{len(expected) - len(absent)} drives erased, {len(absent)} absent"

        def renew_host_key() -> None:
            key = self._ssh.renew_host_key()
            self._ssh.write_host_certificate(context.certify_host(None, key, self._config.effective_address()))
            self._ssh.install()
            self._ssh.shut_out()

        def count() -> str:
            sshd.check_configuration(deadline)
            sshd.reload(deadline)
            plan.result.update({"removed": wiper.removed, "restored": wiper.restored})
            return sshd.wait_until_answering("127.0.0.1", self._config.ssh_port, deadline)

        plan.steps = [
            Step("end_processes", lambda: f"{self._end_strangers(deadline)} ended"),
            Step("unmount", lambda: wiper.unmount_extra(deadline)),
            Step("restore_files", wiper.restore_files),
            Step("empty_scratch", wiper.empty_scratch),
            Step("erase_drives", erase_drives, when=self._config.erase_drives),
            Step("clean_logs", lambda: wiper.clean_logs(deadline)),
            Step("renew_host_key", renew_host_key),
            Step("settle_units", lambda: wiper.settle_units(deadline)),
            Step("restart_ssh", count),
        ]
        return plan

    def verify(self, spec: ReleaseSpec, context: TaskContext) -> Plan:
        plan = Plan()

        def look() -> str:
            digest, before = self._load_baseline()
            record = self._ledger.get(spec.allocation_id)
            planted = record.marker if record else None
            verifier = verify.Verifier(before, self._surroundings, planted, context.deadline, spec.provisioned)
            checks = verifier.checks()
            checks.append(drives.inspect(self._drives(spec), erased_here=self._config.erase_drives))
            others = self._ledger.others_unproven(spec.allocation_id)
            if others:
                checks.append(verify.check("other_allocations", lambda: _look_for_others(others)))
            plan.result.update(verify.wire(checks))
            plan.evidence["baseline_sha256"] = digest
            plan.evidence["baseline_at_provision"] = record.baseline_digest if record else None
            return "clean" if plan.result["clean"] else "not clean"

        def settle() -> str:
            if not plan.result["clean"]:
                return "kept closed"
            for record in self._ledger.others_unproven(spec.allocation_id):
                self._ledger.change(record.allocation_id, verified=True)
            self._ledger.change(spec.allocation_id, verified=True, released=True)
            if self._ssh.reopen():
                sshd.reload(context.deadline)
            self._store.refresh_live(observe_live(self._surroundings, context.deadline))
            return "baseline refreshed"

        plan.steps = [Step("look", look), Step("settle", settle)]
        return plan

    def _refuse_beside_another(self, spec: ProvisionSpec, generation: int) -> None:
        """Nobody gets a host that is not proven clean. What is refused is remembered as released: its clean-up
        compares the whole host with the baseline, and so proves the other allocation gone as well.
        """
        others = self._ledger.others_unproven(spec.allocation_id)
        if not others:
            return
        if self._ledger.get(spec.allocation_id) is None:
            self._ledger.put(
                AllocationRecord(
                    allocation_id=spec.allocation_id,
                    shape="baremetal",
                    generation=generation,
                    login_user=spec.access.login_user,
                    released=True,
                    marker=marker.choose(f"/home/{spec.access.login_user}"),
                    drives=drives.named(spec.slots),
                )
            )
        names = ", ".join(record.allocation_id for record in others)
        raise TaskFailure(
            "host_not_clean",
            f"Not proven clean on this host: {names}"[:300],
            "Release it, or retry its release, first; a retried release of this allocation cleans the whole host.",
        )

    def _is_anothers(self, allocation_id: str) -> bool:
        """A late deprovision must not shut out the tenant who came after a proven release."""
        record = self._ledger.get(allocation_id)
        gone = record is None or record.verified
        return gone and any(not other.released for other in self._ledger.others_unproven(allocation_id))

    def _drives(self, spec: ReleaseSpec) -> tuple[str, ...]:
        """The drives of this allocation, and those of others whose end is not proven yet."""
        record = self._ledger.get(spec.allocation_id)
        others = [other.drives for other in self._ledger.others_unproven(spec.allocation_id)]
        return drives.expected(drives.named(spec.slots), record.drives if record else (), *others)

    def _ensure_baseline(self, deadline: Deadline) -> str:
        with self._lock:
            if not self._store.exists():
                self._take_baseline(deadline)
            return self._store.load()[0]

    def _take_baseline(self, deadline: Deadline) -> None:
        digest = self._store.save(observe(self._surroundings, deadline))
        self._fresh = True
        log.event("baseline_taken", digest=digest)

    def _load_baseline(self) -> tuple[str, Baseline]:
        with self._lock:
            if not self._store.exists():
                raise TaskFailure(
                    "baseline_missing",
                    "There is no baseline to compare this host with",
                    "Reinstall the host; without a baseline nothing can be proven.",
                )
            return self._store.load()

    def _end_strangers(self, deadline: Deadline) -> int:
        _, before = self._load_baseline()

        def stop_foreign_units() -> None:
            now = units.present(deadline)
            units.stop(units.foreign(now, set(before.live.units), before.unit_files), deadline)

        stop_foreign_units()
        ended, left = processes.end(lambda: processes.strangers(before.knows_process), stop_foreign_units, deadline)
        if left:
            raise TaskFailure(
                "processes_remain",
                "Processes could not be ended: " + "; ".join(p.describe() for p in left[:5]),
                "Look at them on the host (a process in D state needs a reboot).",
                retryable=True,
            )
        return ended

    def _reload_or_stop_ssh(self, deadline: Deadline) -> str:
        """A tenant may have broken sshd's configuration; then no sshd is the safe state."""
        try:
            sshd.check_configuration(deadline)
            sshd.reload(deadline)
        except TaskFailure as problem:
            units.stop(["ssh.service", "ssh.socket"], deadline)
            return f"sshd stopped: {problem.code}"
        return "closed"


def _provisioned(record: AllocationRecord) -> frozenset[str]:
    """What a provision adds to a host."""
    planted = record.marker.paths if record.marker else ()
    return frozenset({f"/home/{record.login_user}", str(accounts.SUDOERS), *planted})


def _look_for_others(others: list[AllocationRecord]) -> verify.Finding:
    """A forced release leaves a record behind; it is proven gone with the host, unless somebody is still served."""
    found = []
    for record in others:
        if record.shape != "baremetal" or not record.released or record.marker is None:
            found.append(f"{record.allocation_id} was not released on this host")
        else:
            found += marker.still_there(record.marker)
    return len(others), found
