"""Assembles the agent and runs its periodic work: heartbeat, inventory, expiry of grants, renewal of certificates."""

from __future__ import annotations

import contextlib
import threading
import time

from gpuaas_agent import __version__, durable, identity, log, protocol, tasks, wire
from gpuaas_agent.allocations import AllocationLedger
from gpuaas_agent.certificate_schedule import LONGEST_LIFE, CertificateSchedule
from gpuaas_agent.claims import HostClaims
from gpuaas_agent.commands import Deadline
from gpuaas_agent.config import Config
from gpuaas_agent.discovery import discover
from gpuaas_agent.drivers.registry import DriverRegistry
from gpuaas_agent.drivers.seam import TaskContext
from gpuaas_agent.failures import TaskFailure
from gpuaas_agent.host import processes, sshd
from gpuaas_agent.identity import HostFacts, Identity, Trust, stored_form
from gpuaas_agent.logs.registry import LogRegistry
from gpuaas_agent.loop import Backoff, TaskLoop
from gpuaas_agent.node_key import NodeKeyRenewal
from gpuaas_agent.own_state import OwnState
from gpuaas_agent.probe_reporter import ProbeReporter
from gpuaas_agent.probes.spec import parse_probes
from gpuaas_agent.state import TaskJournal
from gpuaas_agent.terminals.registry import TerminalRegistry
from gpuaas_agent.trusted_anchors import TrustedAnchors

HEARTBEAT_SECONDS = 60.0
_UPKEEP_SECONDS = 2.0
_CERTIFICATE_TRIES = 6


class Agent:
    def __init__(
        self, config: Config, identity: Identity, certificate_schedule: CertificateSchedule | None = None
    ) -> None:
        self._config = config
        self._identity = identity
        self._wire = identity.open_wire()
        self._anchors = TrustedAnchors(config.state_dir, identity.anchors, self._wire)
        self._key = NodeKeyRenewal(config.state_dir, identity.node_id, self._wire)
        self._ledger = AllocationLedger(config.state_dir)
        self._claims = HostClaims(config.source)
        self._certificates = certificate_schedule or CertificateSchedule()
        self._drivers = DriverRegistry(config, self._ledger)
        terminals = TerminalRegistry(config.state_dir, self._wire.stream_requests)
        self._journal = journal = TaskJournal(config.state_dir)
        stop = threading.Event()
        reporter = ProbeReporter(lambda body: self._wire.call("POST", "/probes", body), stop)
        self._executor = executor = tasks.TaskExecutor(
            config,
            self._drivers,
            self._certify_host,
            self._wire.clock.now,
            terminals,
            self._rotate_node_key,
            own_state=OwnState(config, self._ledger, journal, self._identity_in_memory),
            probes=reporter.registry,
            logs=LogRegistry(self._send_logs),
        )
        self.loop = TaskLoop(
            identity.node_id,
            identity.trust,
            self._wire,
            journal,
            executor,
            self._heartbeat,
            poll_wait_seconds=identity.poll_wait_seconds,
            workers=config.workers,
            stop=stop,
        )

    def run(self) -> None:
        log.event("agent_started", node_id=self._identity.node_id, version=__version__)
        self._start_up_until_answered()
        self.loop.resume()
        self._resume_probes()
        threading.Thread(target=self._upkeep, name="upkeep", daemon=True).start()
        threading.Thread(target=self._prepare_when_idle, name="idle", daemon=True).start()
        self.loop.run()

    def start_up(self) -> None:
        """Report the host to the platform and prepare its drivers; calls may fail and are then repeated by the caller."""
        self._key.finish_pending()
        self.loop.trust = self._heartbeat()
        self._ledger.confirm(self.loop.verify_stored)
        self._wire.call("POST", "/inventory", discover(self._config.hw_root))
        # An allocation that is not proven clean still has the certificates of an earlier agent, of unknown age.
        all_certified = not self._ledger.unproven()
        for driver in self._drivers.all():
            try:
                driver.prepare(self._context(60.0))
            except (TaskFailure, OSError) as problem:
                # Tasks that need this driver will fail with a code; other tasks still run.
                log.error("driver_not_prepared", message=str(problem))
                all_certified = False
        if all_certified:
            self._certificates.done()

    def _start_up_until_answered(self) -> None:
        backoff = Backoff()
        while not self.loop.stop.is_set():
            try:
                self.start_up()
                return
            except wire.Unreachable as problem:
                log.warning("server_unreachable", message=str(problem))
            except wire.Refused as refusal:
                if self._key.recover(refusal):
                    continue
                log.warning("server_refused", code=refusal.code, status=refusal.status)
            backoff.pause(self.loop.stop)

    def _resume_probes(self) -> None:
        """Run the probes again that an earlier agent ran; those of allocations that are gone are forgotten."""
        for envelope in self._journal.newest_of_kind("probe"):
            try:
                self._executor.watch_member(parse_probes(envelope.spec), envelope.generation)
            except TaskFailure as problem:
                log.warning("probes_not_resumed", resource_id=envelope.resource_id, code=problem.code)
                self._journal.forget_resource(envelope.resource_id)

    def _send_logs(self, read_id: str, portion: dict[str, object]) -> dict[str, object]:
        return self._wire.call("POST", f"/logs/{read_id}", portion)

    def _identity_in_memory(self) -> dict[str, object]:
        """Return the node's identity and trust, in the form of node.json."""
        return stored_form(self._identity, self.loop.trust, self._anchors.known)

    def _heartbeat(self) -> Trust:
        facts = host_facts(self._config)
        answer = self._claims.send(
            lambda body: self._wire.call("POST", "/heartbeat", body),
            {
                "agent_version": __version__,
                "boot_id": processes.boot_id(),
                "address": facts.address,
                "slice_addresses": list(facts.slice_addresses),
                "ssh_host_public_key": facts.ssh_host_public_key,
                "allocations": [
                    {"allocation_id": record.allocation_id, "generation": record.generation}
                    for record in self._ledger.served()
                ],
                **self._anchors.confirmation(),
            },
        )
        self._anchors.learn(answer, self.loop.trust.task_keys)
        return Trust.from_answer(answer)

    def _upkeep(self) -> None:
        """Send heartbeats (immediately after a new host key), remove expired grants, and report a changed inventory."""
        sent = ("", 0.0)
        known_inventory = discover(self._config.hw_root)
        while not self.loop.stop.wait(_UPKEEP_SECONDS):
            with contextlib.suppress(wire.Unreachable, wire.Refused, OSError):
                key = sshd.SshFiles(sshd.ROOT).host_public_key()
                late = time.monotonic() - sent[1] > HEARTBEAT_SECONDS
                if key != sent[0] or late or self._anchors.unconfirmed:
                    self.loop.trust = self._heartbeat()
                    sent = (key, time.monotonic())
                    inventory = discover(self._config.hw_root)
                    if inventory != known_inventory:
                        self._wire.call("POST", "/inventory", inventory)
                        known_inventory = inventory
                for driver in self._drivers.all():
                    driver.expire_grants(self._context(10.0))
            self._renew_key()
            if self._certificates.is_due:
                self._renew_host_certificates()

    def _renew_host_certificates(self) -> None:
        """Renew the host certificates; a failure is retried long before they expire."""
        for driver in self._drivers.all():
            try:
                driver.renew_host_certificates(self._context(60.0))
            except (TaskFailure, OSError) as problem:
                log.error("host_certificate_not_renewed", message=str(problem))
                self._certificates.failed()
                return
        self._certificates.done()

    def _renew_key(self) -> None:
        try:
            self._key.renew_when_due()
        except wire.Refused as refusal:
            if not self._key.recover(refusal):
                log.warning("node_key_refused", code=refusal.code, status=refusal.status)
        except (wire.Unreachable, OSError) as problem:
            log.warning("node_key_not_renewed", message=str(problem))

    def _prepare_when_idle(self) -> None:
        for driver in self._drivers.all():
            try:
                driver.idle()
            except Exception as problem:
                log.error("idle_work_failed", kind=type(problem).__name__, message=str(problem))

    def _rotate_node_key(self) -> str | None:
        """Replace the node's key for a wipe. It retries, so that a restart of the server does not fail the wipe."""
        backoff, problem = Backoff(), ""
        for _ in range(_CERTIFICATE_TRIES):
            try:
                return self._key.replace()
            except wire.Unreachable as caught:
                problem = str(caught)
            except wire.Refused as refusal:
                problem = str(refusal)
                if not refusal.retryable:
                    break
            backoff.pause(self.loop.stop)
        raise TaskFailure(
            "node_key_not_rotated",
            f"The platform accepted no new key: {problem[:300]}",
            "Look at the node's events; someone else may have its key.",
            retryable=True,
        )

    def _certify_host(self, allocation_id: str | None, public_key: str, address: str) -> str:
        """Get a host certificate. It retries, so that a restart of the server does not fail the task."""
        body = {"allocation_id": allocation_id, "public_key": public_key, "address": address}
        backoff, problem = Backoff(), ""
        for _ in range(_CERTIFICATE_TRIES):
            try:
                answer = self._wire.call("POST", "/host-certificates", body)
                self._certificates.issued(self._life_of(answer))
                return str(answer["certificate"])
            except wire.Unreachable as caught:
                problem = str(caught)
            except wire.Refused as refusal:
                problem = str(refusal)
                if not refusal.retryable:
                    break
            backoff.pause(self.loop.stop)
        raise TaskFailure(
            "host_certificate_unavailable",
            f"The platform issued no host certificate: {problem[:300]}",
            "Check that the allocation is claimed on this node and that the server answers.",
            retryable=True,
        )

    def _life_of(self, answer: dict[str, object]) -> float:
        try:
            return protocol.moment(answer.get("valid_before")).timestamp() - self._wire.clock.now()
        except ValueError:
            return LONGEST_LIFE

    def _context(self, seconds: float) -> TaskContext:
        return TaskContext(Deadline.after(seconds), 0, self._certify_host)


def host_facts(config: Config) -> HostFacts:
    return HostFacts(
        hostname=config.effective_hostname(),
        address=config.effective_address(),
        ssh_host_public_key=sshd.SshFiles(sshd.ROOT).host_public_key(),
        slice_addresses=tuple(str(address.ip) for address in config.slice_addresses),
    )


def enrol_if_needed(config: Config) -> Identity:
    """Return the stored identity, or enrol with the bundle. The bundle is removed after enrolment."""
    known = identity.load(config.state_dir)
    if known is None:
        text = config.bundle_path.read_text()
        known = _enrol_until_answered(config, identity.parse_bundle(text))
        log.event("enrolled", node_id=known.node_id)
    durable.remove(config.bundle_path)
    return known


def _enrol_until_answered(config: Config, bundle: identity.Bundle) -> Identity:
    backoff = Backoff()
    while True:
        try:
            return identity.enrol(bundle, config.state_dir, host_facts(config))
        except wire.Unreachable as problem:
            log.warning("enrolment_unreachable", message=str(problem))
        except wire.Refused as refusal:
            if not refusal.retryable:
                raise
            log.warning("enrolment_refused", code=refusal.code)
        backoff.pause(threading.Event())
