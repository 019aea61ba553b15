"""Root on an allocated host plants all that is known here, at once; the next tenant on the same host finds nothing of it.

One release is one wipe with a restart, so all tricks share it, and each has a test of its own. After that the second tenant
does what can not be undone, and the host goes to nobody.
"""

import base64
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gpuaas_lab import Fleet, Host
from gpuaas_sdk import Allocation, GpuaasError, NewAllocation, Timeline
from gpuaas_sdk.testing import Sandbox
from gpuaas_sdk.testing.sandbox import NOT_EXAMINED_ON_LAB_HOSTS
from system_support.hostile_tricks import STATE, TRICKS, Trick, looking_script, planting_script
from system_support.lab_site import lab_site
from system_support.ssh_client import SshClient

pytestmark = [pytest.mark.lab, pytest.mark.hostile, pytest.mark.timeout(600)]
SETTLE = 240.0


@dataclass
class Guest:
    """A tenant with a project of their own and the only host, logged in as a person does it."""

    sandbox: Sandbox
    project_id: str
    allocation: Allocation
    ssh_client: SshClient

    @classmethod
    def arrive(cls, sandbox: Sandbox, slug: str, directory: Path) -> "Guest":
        tenant = sandbox.admin.tenants.create(slug, slug)
        project = sandbox.admin.projects.create(tenant.id, slug, slug)
        (made,) = sandbox.admin.allocations.create(project.id, NewAllocation(sku="h100-node"))
        guest = cls(sandbox, project.id, made, SshClient(sandbox.admin, project.id, made.id, directory))
        assert guest.settle().state == "active", guest.allocation.failure
        guest.ssh_client.get_certificate()
        return guest

    def settle(self) -> Allocation:
        changes = self.sandbox.admin.allocations.follow(self.project_id, [self.allocation.id], SETTLE)
        self.allocation = list(changes)[-1]
        return self.allocation

    def become_root(self, script: str) -> subprocess.CompletedProcess[str]:
        """Over ssh, as text that no command line shows: a look for a process must not find itself."""
        packed = base64.b64encode(script.encode()).decode()
        return self.ssh_client.run(f"echo {packed} | base64 -d | sudo bash", seconds=60)

    def look(self) -> set[str]:
        """The names of the tricks that are there."""
        seen = self.become_root(looking_script())
        assert seen.returncode == 0, seen.stderr
        return {TRICKS[int(number)].name for number in seen.stdout.split()}

    def release(self) -> Allocation:
        self.sandbox.admin.allocations.release(self.project_id, self.allocation.id)
        return self.settle()

    def timeline(self) -> Timeline:
        return self.sandbox.admin.allocations.timeline(self.project_id, self.allocation.id)


@dataclass
class Aftermath:
    """One host before and after: what was planted, what came of the release, and what the next tenant found."""

    host: Host
    attacker: Guest
    planted: set[str]
    released: Allocation
    evidence: dict[str, object]
    next_tenant: Guest
    found: set[str] = field(default_factory=set)


@pytest.fixture(scope="module")
def aftermath(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aftermath]:
    with ExitStack() as stack:
        sandbox, fleet = stack.enter_context(lab_site("hostile", 1, wipe_grade="rebooted"))
        yield _attacked(sandbox, fleet, tmp_path_factory.mktemp("keys"))


def _attacked(sandbox: Sandbox, fleet: Fleet, directory: Path) -> Aftermath:
    host = fleet.hosts[0]
    attacker = Guest.arrive(sandbox, "attacker", directory)
    attacker.become_root(planting_script())
    planted = attacker.look()
    released = attacker.release()
    evidence = dict(attacker.timeline().wipe_evidence or {})
    assert released.state == "released", (released.failure, evidence, host.agent_log())
    successor = Guest.arrive(sandbox, "successor", directory)
    assert successor.allocation.node_id == attacker.allocation.node_id
    return Aftermath(host, attacker, planted, released, evidence, successor, successor.look())


@pytest.mark.parametrize("trick", TRICKS, ids=[trick.name.replace(" ", "-") for trick in TRICKS])
def test_the_next_tenant_finds_nothing_of(trick: Trick, aftermath: Aftermath) -> None:
    assert trick.name in aftermath.planted, "the trick does not work here, so nothing was tried"
    assert trick.name not in aftermath.found


def test_the_proof_is_of_the_grade_that_is_required_and_says_what_was_not_examined(aftermath: Aftermath) -> None:
    released = aftermath.released
    assert (released.wipe_verified, released.wipe_grade_required, released.wipe_grade) == (True, "rebooted", "rebooted")
    assert released.wipe_not_examined == NOT_EXAMINED_ON_LAB_HOSTS
    checks = aftermath.evidence["checks"]
    assert isinstance(checks, list)
    assert {check["status"] for check in checks if check["name"] not in NOT_EXAMINED_ON_LAB_HOSTS} == {"clean"}
    assert all(check["relies_on"] for check in checks)


def test_the_attackers_certificate_opens_nothing_any_more(aftermath: Aftermath) -> None:
    assert not aftermath.attacker.ssh_client.can_log_in
    assert aftermath.next_tenant.ssh_client.can_log_in


def test_what_can_not_be_undone_keeps_the_host_out_of_the_pool(aftermath: Aftermath) -> None:
    """A changed file whose only copy is destroyed. Last in this file: the host is nobody's after it."""
    guest, admin = aftermath.next_tenant, aftermath.next_tenant.sandbox.admin
    guest.become_root(
        f"find {STATE}/baseline -path '*blobs*' -type f -delete; echo '# planted' >> /etc/systemd/system/gpuaas-agent.service"
    )
    ended = guest.release()
    assert (ended.state, ended.wipe_verified) in (("release_failed", False), ("release_failed", None))
    assert ended.failure is not None
    assert ended.wipe_grade is None
    slots = admin.slots.list(ended.node_id)
    assert {slot.status for slot in slots} == {"cleanup_blocked"}
    assert {slot.status_reason for slot in slots} == {ended.failure.code}
    failed = [entry for entry in guest.timeline().items if entry.failure or entry.status == "failed"]
    assert "gpuaas-agent.service" in str([guest.timeline().wipe_evidence, [entry.detail for entry in failed]])
    with pytest.raises(GpuaasError) as refused:
        admin.allocations.create(guest.project_id, NewAllocation(sku="h100-node"))
    assert refused.value.code == "capacity_blocked"


def test_an_agent_that_obeys_another_platform_keeps_the_host_out_of_the_pool(tmp_path: Path) -> None:
    """The tenant names another platform with another task key in the agent's identity, and kills the agent."""
    rewrite = (
        "import json; file = open('node.json', 'r+'); known = json.load(file);"
        " known['urls'] = ['https://203.0.113.66:1']; known['task_keys'][0]['public_key'] = 'A' * 43 + '=';"
        " file.seek(0); file.truncate(); json.dump(known, file)"
    )
    with lab_site("relay", 1, wipe_grade="rebooted", node_lost_seconds="30") as (sandbox, _):
        guest = Guest.arrive(sandbox, "relay", tmp_path)
        done = guest.become_root(
            f'cd {STATE} && python3 -c "{rewrite}" && systemctl kill -s KILL gpuaas-agent && grep -q 203.0.113.66 node.json'
        )
        assert done.returncode == 0, done.stderr
        ended = guest.release()
        assert (ended.state, bool(ended.wipe_verified)) == ("release_failed", False)
        slots = sandbox.admin.slots.list(ended.node_id)
        assert {slot.status for slot in slots} == {"cleanup_blocked"}
        with pytest.raises(GpuaasError) as refused:
            sandbox.admin.allocations.create(guest.project_id, NewAllocation(sku="h100-node"))
        assert refused.value.code == "capacity_blocked"
