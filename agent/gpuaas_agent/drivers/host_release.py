"""Wipes and verifies a bare-metal host. The wipe restores it from the baseline and from the signed task, and restarts it
if the task requires that. The verification shares no code with the wipe.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from gpuaas_agent.allocations import AllocationLedger, AllocationRecord
from gpuaas_agent.commands import Deadline
from gpuaas_agent.config import Config
from gpuaas_agent.drivers.seam import Plan, TaskContext
from gpuaas_agent.failures import TaskFailure
from gpuaas_agent.host import (
    agent_start,
    drives,
    kernel_state,
    marker,
    processes,
    restart,
    sshd,
    stillness,
    units,
    verify,
)
from gpuaas_agent.host.agent_checks import AgentFiles
from gpuaas_agent.host.baseline import AgentFolders, Baseline, BaselineStore, copied_contents, observe_live
from gpuaas_agent.host.checks import Check, Finding, NotExamined, check, wire
from gpuaas_agent.host.restart import WipeProgress, WipeProgressStore
from gpuaas_agent.host.wipe import Wiper
from gpuaas_agent.phases import Step
from gpuaas_agent.specs import ReleaseSpec

_MOST_ROUNDS = 3


@dataclass(frozen=True)
class HostRelease:
    config: Config
    ledger: AllocationLedger
    ssh: sshd.SshFiles
    store: BaselineStore
    folders: AgentFolders
    load_baseline: Callable[[], tuple[str, Baseline]]
    end_foreign_processes: Callable[[Deadline], int]

    @property
    def _progress(self) -> WipeProgressStore:
        return WipeProgressStore(self.config.state_dir)

    def _progress_of(self, spec: ReleaseSpec) -> WipeProgress | None:
        return self._progress.find(spec.allocation_id, spec.terms.wipe_id)

    def wipe(self, spec: ReleaseSpec, context: TaskContext) -> Plan:
        """Plan the wipe. If the host restarts, the steps after the restart run in the next boot."""
        self._refuse_beside_served(spec)
        _, before = self.load_baseline()
        progress = self._progress.begin(spec.allocation_id, context.generation, spec.terms.wipe_id)
        restarts = spec.terms.grade == "rebooted"
        plan, deadline = Plan(), context.deadline
        wiper = Wiper(
            before, self.folders, self.store.blobs, self.config.golden_root, sent_digests=self._sent_digests(spec)
        )
        steps = _WipeSteps(self, spec, context, plan, wiper, before)
        first = not (restarts and restart.has_restarted(progress))
        if first:
            plan.steps += [
                Step("end_processes", lambda: f"{self.end_foreign_processes(deadline)} ended"),
                Step("unmount", lambda: wiper.unmount_extra(deadline)),
                Step("restore_files", wiper.restore_files),
                Step("restore_agent_state", steps.restore_agent_state),
                # Process 1 still has the tenant's version of units; the files that it reads now are the host's.
                Step("reload_units", lambda: units.settle(deadline), when=not restarts),
                Step("restart_agent", lambda: agent_start.start_without_wrappers(before, deadline)),
            ]
        if first and restarts:
            plan.steps += [
                # Before the boot, too: a boot reads what is on drives (partitions, volumes, file systems by label).
                Step("erase_drives", steps.erase_drives, when=spec.terms.erase_drives),
                Step("restart", lambda: steps.restart(self._progress, progress)),
            ]
        plan.steps += [
            Step("end_replaced", lambda: wiper.end_replaced(deadline)),
            Step("end_foreign_processes", lambda: f"{self.end_foreign_processes(deadline)} ended"),
            Step("empty_scratch", wiper.empty_scratch),
            Step("restore_kernel", lambda: wiper.restore_kernel(deadline)),
            Step("erase_drives", steps.erase_drives, when=spec.terms.erase_drives),
            Step("clean_logs", lambda: self._clean_logs(wiper, progress, deadline)),
            Step("renew_host_key", steps.renew_host_key),
            Step("rotate_node_key", context.rotate_node_key),
            Step("restore_agent_state", steps.restore_agent_state),
            Step("settle_units", lambda: wiper.settle_units(deadline)),
            Step("restart_ssh", steps.restart_ssh),
            Step("note_end", lambda: self._progress.note_end(progress)),
        ]
        return plan

    def verify(self, spec: ReleaseSpec, context: TaskContext) -> Plan:
        plan = Plan()

        def look() -> str:
            digest, before = self.load_baseline()
            record, progress = self.ledger.get(spec.allocation_id), self._progress_of(spec)
            checks = self._checks(spec, context, digest, before)
            restarted = progress is not None and restart.has_restarted(progress)
            grade = "rebooted" if spec.terms.grade == "rebooted" and restarted else "inspected"
            plan.result.update(wire(checks, grade))
            plan.evidence.update(
                {
                    "baseline_sha256": digest,
                    "baseline_at_provision": record.baseline_digest if record else None,
                    "boot_id": processes.boot_id(),
                    "boot_id_before_wipe": progress.boot_id if progress else None,
                    "drives_not_read": self._drives_not_read(spec),
                    **self._agent_files().digests(spec.terms),
                }
            )
            return "clean" if plan.result["clean"] else "not clean"

        def settle() -> str:
            if not plan.result["clean"]:
                return "kept closed"
            for record in self.ledger.others_unproven(spec.allocation_id):
                self.ledger.change(record.allocation_id, verified=True)
            self.ledger.change(spec.allocation_id, verified=True, released=True)
            if self.ssh.allow_logins():
                sshd.reload(context.deadline)
            self.store.refresh_live(observe_live(self.folders, context.deadline))
            return "baseline refreshed"

        plan.steps = [Step("look", look), Step("settle", settle)]
        progress = self._progress_of(spec)
        if progress is not None and restart.has_booted_since(progress):
            plan.steps.insert(0, Step("tidy", lambda: self._tidy(progress, context.deadline)))
        return plan

    def _clean_logs(self, wiper: Wiper, progress: WipeProgress, deadline: Deadline) -> str:
        done = wiper.clean_logs(deadline)
        self._progress.note_journals(progress, wiper.journals)
        return done

    def _tidy(self, progress: WipeProgress, deadline: Deadline) -> str:
        """Remove what a boot after the wipe created: empty folders in /tmp, and an archived journal that was not closed.
        Neither is a trace of a tenant, because nobody could log in since the wipe ended.
        """
        _, before = self.load_baseline()
        wiper = Wiper(before, self.folders, self.store.blobs, self.config.golden_root)
        return f"{wiper.empty_scratch()}, {self._clean_logs(wiper, progress, deadline)}"

    def drives(self, spec: ReleaseSpec) -> tuple[str, ...]:
        """Return the drives of this allocation and of others that are not proven clean."""
        record = self.ledger.get(spec.allocation_id)
        others = [other.drives for other in self.ledger.others_unproven(spec.allocation_id)]
        return drives.expected(drives.named(spec.slots), record.drives if record else (), *others)

    def _checks(self, spec: ReleaseSpec, context: TaskContext, digest: str, before: Baseline) -> list[Check]:
        record = self.ledger.get(spec.allocation_id)
        planted, progress = record.marker if record else None, self._progress_of(spec)
        journals = progress.journals if progress else ""
        checks = verify.Verifier(
            before, self.folders, planted, context.deadline, spec.provisioned, self._sent_digests(spec), journals
        ).checks()
        blobs = copied_contents(before.files)
        checks.append(check("agent_state", lambda: _look_at_state(context, blobs, digest), "agent"))
        checks += self._agent_files().checks(spec.terms)
        checks.append(drives.inspect(self.drives(spec), erased_here=spec.terms.erase_drives))
        if spec.terms.grade == "rebooted":
            checks.append(check("restart", lambda: _look_for_restart(self._progress_of(spec)), "kernel"))
        others = self.ledger.others_unproven(spec.allocation_id)
        if others:
            checks.append(check("other_allocations", lambda: _look_for_others(others), "agent"))
        return checks

    def _sent_digests(self, spec: ReleaseSpec) -> dict[str, str]:
        text = spec.terms.restore.configuration
        return {} if text is None else {str(self.config.source): hashlib.sha256(text.encode()).hexdigest()}

    def _drives_not_read(self, spec: ReleaseSpec) -> list[str]:
        read = self.drives(spec) if spec.terms.erase_drives else ()
        return [drive for drive in kernel_state.drives() if drive not in read]

    def _agent_files(self) -> AgentFiles:
        return AgentFiles(self.config.source, self.config.state_dir)

    def _refuse_beside_served(self, spec: ReleaseSpec) -> None:
        """Refuse a wipe while the host serves another allocation: a wipe affects the whole host."""
        others = [one.allocation_id for one in self.ledger.served() if one.allocation_id != spec.allocation_id]
        if others:
            raise TaskFailure(
                "another_allocation_served",
                f"This host serves {', '.join(others)}"[:300],
                "Release that allocation first; this task is for an earlier one.",
            )


@dataclass(frozen=True)
class _WipeSteps:
    release: HostRelease
    spec: ReleaseSpec
    context: TaskContext
    plan: Plan
    wiper: Wiper
    before: Baseline

    def restore_agent_state(self) -> str:
        if self.context.own_state is None:
            return "skipped: no agent state"
        blobs = copied_contents(self.before.files)
        return self.context.own_state.rewrite(self.spec.allocation_id, self.spec.terms.restore, blobs)

    def restart(self, store: WipeProgressStore, progress: WipeProgress) -> None:
        """Restart the host from files that nobody could change since they were restored."""
        self.release.ssh.deny_logins()
        try:
            with stillness.hold(self.context.deadline):
                self._restore_stopped()
                restart.restart(store, progress, self.context.deadline)
        except TaskFailure:
            with contextlib.suppress(TaskFailure):
                self.wiper.settle_units(self.context.deadline.at_most(30))
            raise

    def _restore_stopped(self) -> None:
        deadline = self.context.deadline
        for _ in range(_MOST_ROUNDS):
            kernel_state.disarm(self.before.live.kernel)
            self.wiper.unmount_extra(deadline)
            left = self.wiper.restore_stopped() + agent_start.faults()
            self.restore_agent_state()
            # What the kernel, or another thread of the agent, started meanwhile could have changed a file.
            came = [process.describe() for process in stillness.end_others(deadline)]
            if not came:
                break
        if left + came:
            raise TaskFailure(
                "host_changes_back",
                f"The host differs again directly before its restart: {'; '.join((left + came)[:10])}",
                "Retry the release. If it fails again, look at what changes these, or reinstall the host.",
                retryable=True,
            )

    def erase_drives(self) -> str:
        expected = self.release.drives(self.spec)
        absent = drives.erase_all(expected, self.context.deadline)
        self.plan.evidence["drives_absent"] = absent
        return f"{len(expected) - len(absent)} drives erased, {len(absent)} absent"

    def renew_host_key(self) -> None:
        ssh, address = self.release.ssh, self.release.config.effective_address()
        ssh.write_host_certificate(self.context.certify_host(None, ssh.renew_host_key(), address))
        ssh.install()
        ssh.deny_logins()

    def restart_ssh(self) -> str:
        sshd.check_configuration(self.context.deadline)
        sshd.reload(self.context.deadline)
        self.plan.result.update({"removed": self.wiper.removed, "restored": self.wiper.restored})
        return sshd.wait_until_answering("127.0.0.1", self.release.config.ssh_port, self.context.deadline)


def _look_at_state(context: TaskContext, blobs: dict[str, str], baseline_sha256: str) -> Finding:
    if context.own_state is None:
        raise NotExamined("there is no agent state")
    return context.own_state.foreign_entries(blobs, baseline_sha256)


def _look_for_restart(progress: WipeProgress | None) -> Finding:
    if progress is None:
        return 0, ["no wipe of this allocation ran on this host"]
    return 1, [] if restart.has_restarted(progress) else ["the host has not restarted since the wipe began"]


def _look_for_others(others: list[AllocationRecord]) -> Finding:
    """Check records of other allocations, which a forced release leaves behind: the wipe of the host proves them clean too."""
    found = []
    for record in others:
        if record.shape != "baremetal" or not record.released or record.marker is None:
            found.append(f"{record.allocation_id} was not released on this host")
        else:
            found += marker.still_there(record.marker)
    return len(others), found
