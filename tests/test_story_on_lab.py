"""The main job on real lab hosts, every process killed at the worst moment: access ends, slots return, nothing doubles."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gpuaas_lab import Fleet, Host
from gpuaas_sdk import Allocation, NewAllocation, NewSshGrant
from gpuaas_sdk.testing import Sandbox
from system_support.lab_site import lab_site
from system_support.server import RunningServer
from system_support.ssh_client import SshClient

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]
SETTLE = 240.0


@dataclass
class Site:
    """Two real hosts, enrolled and approved, on a real control plane."""

    fleet: Fleet
    server: RunningServer
    sandbox: Sandbox

    def allocate(self, sku: str, gpu_count: int | None = None) -> Allocation:
        new = NewAllocation(sku=sku, gpu_count=gpu_count)
        return self.sandbox.admin.allocations.create(self.sandbox.project_id, new)[0]

    def settle(self, allocation: Allocation) -> Allocation:
        """Follow it to rest, through whatever the test kills: the client tries again."""
        changes = list(self.sandbox.admin.allocations.follow(self.sandbox.project_id, [allocation.id], SETTLE))
        return changes[-1]

    def release(self, allocation: Allocation) -> None:
        self.sandbox.admin.allocations.release(self.sandbox.project_id, allocation.id)

    def host_of(self, allocation: Allocation) -> Host:
        address = self.sandbox.admin.nodes.show(allocation.node_id or "").address
        return next(host for host in self.fleet.hosts if host.address == address)

    def ssh_client(self, allocation: Allocation, directory: Path) -> SshClient:
        ssh_client = SshClient(self.sandbox.admin, self.sandbox.project_id, allocation.id, directory)
        ssh_client.get_certificate()
        return ssh_client

    def slot_states(self, allocation: Allocation) -> set[str]:
        return {slot.status for slot in self.sandbox.admin.slots.list(allocation.node_id or "")}

    def kill(self, victim: str, allocation: Allocation) -> None:
        if victim == "agent":
            self.host_of(allocation).kill_agent()
        else:
            self.server.kill(victim)


@contextmanager
def _site() -> Iterator[Site]:
    with lab_site("story", 2, wipe_grade="rebooted") as (sandbox, fleet):
        yield Site(fleet, sandbox.server, sandbox)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with _site() as made:
        yield made


def wait_until(true: Callable[[], bool], what: str, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"gave up waiting until {what}"
        time.sleep(0.1)


def test_a_certificate_opens_the_allocation_and_nothing_else(site: Site, tmp_path: Path) -> None:
    first, second = site.settle(site.allocate("h100-node")), site.settle(site.allocate("h100-node"))
    ssh_client = site.ssh_client(first, tmp_path)
    assert ssh_client.run().stdout.strip() == "gpu"
    other = site.ssh_client(second, tmp_path)
    ssh_client.address, ssh_client.options = other.address, other.options
    assert not ssh_client.can_log_in  # the certificate of one allocation at the other's host
    for allocation in (first, second):
        site.release(allocation)
        assert site.settle(allocation).state == "released"


def test_a_slice_is_a_host_of_its_own_with_its_gpus_only(site: Site, tmp_path: Path) -> None:
    part = site.settle(site.allocate("h100-slice", 2))
    assert part.state == "active", part.failure
    ssh_client = site.ssh_client(part, tmp_path)
    assert ssh_client.run("ls -d /dev/nvidia[0-9]* | wc -l").stdout.strip() == "2"
    site.release(part)
    assert site.settle(part).state == "released"
    assert not ssh_client.can_log_in
    assert site.slot_states(part) == {"available"}


def test_a_slice_outlives_its_agent_and_is_released_by_the_next_one(site: Site, tmp_path: Path) -> None:
    part = site.settle(site.allocate("h100-slice", 2))
    assert part.state == "active", part.failure
    ssh_client, host = site.ssh_client(part, tmp_path), site.host_of(part)
    booted = ssh_client.run("stat -c %Y /proc/1").stdout
    killed = host.agent_pid()
    host.kill_agent()
    assert ssh_client.run("stat -c %Y /proc/1").stdout == booted != ""
    wait_until(lambda: host.agent_pid() not in (None, killed), "the agent is back")
    site.release(part)
    ended = site.settle(part)
    assert (ended.state, ended.wipe_verified) == ("released", True), ended.failure
    assert not ssh_client.can_log_in
    assert list(host.slices_dir.iterdir()) == []


@pytest.mark.parametrize("victim", ["api", "worker", "postgres", "agent"])
def test_kill_during_provisioning_and_release_changes_nothing_but_the_time(
    site: Site, victim: str, tmp_path: Path
) -> None:
    made = site.allocate("h100-node")
    site.kill(victim, made)
    live = site.settle(made)
    assert live.state == "active", live.failure
    ssh_client = site.ssh_client(live, tmp_path)
    assert ssh_client.can_log_in
    ssh_client.run("echo weights | sudo tee /opt/weights && sudo systemd-run --unit=stays sleep 9999")
    site.release(live)
    site.kill(victim, made)
    ended = site.settle(live)
    assert ended.state == "released", ended.failure
    assert ended.wipe_verified
    assert not ssh_client.can_log_in
    assert site.slot_states(live) == {"available"}
    host = site.host_of(live)
    assert not (host.upper / "opt/weights").exists()
    assert host.run(["systemctl", "is-active", "stays"], check=False).stdout.strip() == "inactive"
    states = [
        e.name
        for e in site.sandbox.admin.allocations.timeline(site.sandbox.project_id, made.id).items
        if e.kind == "state"
    ]
    assert states == ["requested", "provisioning", "active", "releasing", "released"]


def test_a_power_cut_during_release_ends_released_once_the_host_is_back(site: Site, tmp_path: Path) -> None:
    live = site.settle(site.allocate("h100-node"))
    host = site.host_of(live)
    ssh_client = site.ssh_client(live, tmp_path)
    ssh_client.run("echo weights | sudo tee /var/tmp/weights")
    site.release(live)
    host.power_cut()
    host.power_on()
    host.wait_ssh()
    ended = site.settle(live)
    assert (ended.state, ended.wipe_verified) == ("released", True), ended.failure
    assert not ssh_client.can_log_in
    assert not (host.upper / "var/tmp/weights").exists()


def test_a_granted_key_opens_until_the_grant_is_taken_back(site: Site, tmp_path: Path) -> None:
    live = site.settle(site.allocate("h100-node"))
    ssh_client = site.ssh_client(live, tmp_path)
    (tmp_path / f"{live.id}.key-cert.pub").unlink()
    assert not ssh_client.can_log_in  # the bare key, without certificate or grant
    access = site.sandbox.admin.ssh_access
    until = datetime.now(UTC) + timedelta(minutes=5)
    new = NewSshGrant(public_key=ssh_client.make_key(), expires_at=until)
    grant = access.create_grant(site.sandbox.project_id, live.id, new)
    wait_until(lambda: ssh_client.can_log_in, "the granted key opens")
    access.delete_grant(site.sandbox.project_id, live.id, grant.id)
    wait_until(lambda: not ssh_client.can_log_in, "the key no longer opens")
    site.release(live)
    assert site.settle(live).state == "released"


def test_a_revoked_certificate_no_longer_opens_while_another_still_does(site: Site, tmp_path: Path) -> None:
    live = site.settle(site.allocate("h100-node"))
    (tmp_path / "lost").mkdir()
    (tmp_path / "kept").mkdir()
    lost, kept = site.ssh_client(live, tmp_path / "lost"), site.ssh_client(live, tmp_path / "kept")
    assert lost.can_log_in
    assert kept.can_log_in
    access = site.sandbox.admin.ssh_access
    [newer, older] = access.certificates(site.sandbox.project_id, live.id)
    ended = access.revoke_certificate(site.sandbox.project_id, live.id, serial=older.serial, reason="laptop lost")
    assert ended.revoked == [older.serial]
    wait_until(lambda: not lost.can_log_in, "the revoked certificate no longer opens")
    assert kept.can_log_in
    access.revoke_certificate(site.sandbox.project_id, live.id, issued_to=newer.issued_to, reason="all of them")
    wait_until(lambda: not kept.can_log_in, "no certificate of the holder opens")
    site.release(live)
    assert site.settle(live).state == "released"


def test_a_wipe_that_finds_a_trace_blocks_the_slots_and_a_retry_after_repair_frees_them(
    site: Site, tmp_path: Path
) -> None:
    """A file that nobody can remove: the agent must say so, not look away."""
    live = site.settle(site.allocate("h100-node"))
    ssh_client = site.ssh_client(live, tmp_path)
    ssh_client.run("sudo mkdir -p /srv/held && sudo mount -t tmpfs held /srv/held; echo x | sudo tee /opt/immutable")
    host = site.host_of(live)
    host.run(["mount", "--bind", "/opt/immutable", "/opt/immutable"])
    host.run(["mount", "-o", "remount,ro,bind", "/opt/immutable"])
    site.release(live)
    ended = site.settle(live)
    assert ended.state in ("released", "release_failed"), ended
    if ended.state == "release_failed":
        assert site.slot_states(live) == {"cleanup_blocked"}
        host.run(["umount", "/opt/immutable"], check=False)
        site.sandbox.admin.allocations.retry_release(site.sandbox.project_id, live.id)
        ended = site.settle(live)
    assert (ended.state, ended.wipe_verified) == ("released", True), ended.failure
    assert not (host.upper / "opt/immutable").exists()
    assert site.slot_states(live) == {"available"}


@pytest.mark.parametrize(("sku", "gpus"), [("h100-node", None), ("h100-slice", 2)])
def test_a_release_right_after_the_request_ends_released(site: Site, sku: str, gpus: int | None) -> None:
    """Whether the host has begun, has not heard of it, or is done: nothing may be left waiting for an operator."""
    for _ in range(3):
        made = site.allocate(sku, gpus)
        site.release(made)
        ended = site.settle(made)
        assert ended.state == "released", ended.failure
        assert site.slot_states(made) == {"available"}
