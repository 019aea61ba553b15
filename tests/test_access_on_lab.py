"""Access to a real host that ends early: an operation's certificates, and a key in the platform's custody."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gpuaas_lab import Fleet
from gpuaas_sdk import Conflict, NewAllocation, NewSshGrant
from gpuaas_sdk.testing import Sandbox
from system_support.lab_site import lab_site
from system_support.little_app import LittleApp
from system_support.ssh_client import SshClient

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]
SECONDS = 60.0  # after which nobody waits any more for a host to shut; how soon it does, the benchmarks measure


@pytest.fixture(scope="module")
def site() -> Iterator[tuple[Sandbox, Fleet]]:
    with lab_site("access", 2) as (made, fleet):
        yield made, fleet


@pytest.fixture(scope="module")
def sandbox(site: tuple[Sandbox, Fleet]) -> Sandbox:
    return site[0]


@pytest.fixture(scope="module", params=[("h100-node", None), ("h100-slice", 2)], ids=["baremetal", "slice"])
def allocation_id(sandbox: Sandbox, request: pytest.FixtureRequest) -> Iterator[str]:
    sku, gpus = request.param
    made = sandbox.admin.allocations.create(sandbox.project_id, NewAllocation(sku=sku, gpu_count=gpus))[0]
    active = list(sandbox.admin.allocations.follow(sandbox.project_id, [made.id], 90.0))[-1]
    assert active.state == "active", active.failure
    yield made.id
    sandbox.admin.allocations.release(sandbox.project_id, made.id)
    list(sandbox.admin.allocations.follow(sandbox.project_id, [made.id], 120.0))


def shuts(ssh_client: SshClient) -> float:
    """How long the login still worked."""
    start = time.monotonic()
    while ssh_client.can_log_in:
        assert time.monotonic() < start + SECONDS, "the host still lets them in"
    return time.monotonic() - start


def opens(ssh_client: SshClient) -> None:
    deadline = time.monotonic() + SECONDS
    while not ssh_client.can_log_in:
        assert time.monotonic() < deadline, ssh_client.run().stderr


def test_a_controller_is_on_the_host_while_it_holds_the_operation_and_not_a_moment_longer(
    sandbox: Sandbox, allocation_id: str, tmp_path: Path
) -> None:
    app = LittleApp.publish(sandbox.admin, sandbox.project_id)
    instance_id, operation_id = app.launch(allocation_id)
    lease, ssh_client = app.claim(operation_id), SshClient(sandbox.admin, sandbox.project_id, allocation_id, tmp_path)
    given = app.controller.ssh_access.for_operation(sandbox.project_id, operation_id, lease, ssh_client.make_key())
    [certificate] = given.certificates
    assert certificate.principal == allocation_id
    ssh_client.use(certificate)
    assert ssh_client.run().stdout.strip() == "gpu"
    own = SshClient(sandbox.admin, sandbox.project_id, allocation_id, tmp_path / "own")
    own.directory.mkdir()
    own.get_certificate()
    with ssh_client.open_session() as controllers, own.open_session() as persons:
        app.say_done(operation_id, lease)
        shuts(ssh_client)
        controllers.wait(SECONDS)  # hung up on, in the middle of a command
        assert persons.poll() is None
    assert app.ended(operation_id).status == "succeeded"
    with pytest.raises(Conflict) as refused:
        app.controller.ssh_access.for_operation(sandbox.project_id, operation_id, lease, ssh_client.make_key())
    assert refused.value.code == "lease_lost"
    listed = {one.serial: one for one in sandbox.admin.ssh_access.certificates(sandbox.project_id, allocation_id)}
    assert listed[int(certificate.serial)].operation_id == operation_id
    assert listed[int(certificate.serial)].revoked_at is not None
    gone = app.ask(instance_id, "decommission")
    app.say_done(gone)
    assert app.ended(gone).status == "succeeded"  # nothing of it was ever on the host


def test_a_copied_key_and_certificate_open_nothing_from_another_address(
    site: tuple[Sandbox, Fleet], allocation_id: str, tmp_path: Path
) -> None:
    sandbox, fleet = site
    node = sandbox.admin.nodes.show(sandbox.admin.allocations.show(sandbox.project_id, allocation_id).node_id or "")
    [elsewhere] = [host for host in fleet.hosts if host.name != node.name]
    mine = SshClient(sandbox.admin, sandbox.project_id, allocation_id, tmp_path)
    mine.get_certificate()  # the client names this machine's address towards the host
    assert mine.run().stdout.strip() == "gpu"
    refused = mine.run_on(elsewhere)
    assert refused.returncode == 255
    assert "Permission denied (publickey)" in refused.stderr, (
        refused.stderr
    )  # sshd was reached, and its host key was good
    public_key = mine.make_key()
    named = sandbox.admin.ssh_access.create_certificate(
        sandbox.project_id, allocation_id, public_key, source_addresses=[elsewhere.address]
    )
    assert named.source_addresses == [f"{elsewhere.address}/32"]
    mine.use(named)
    assert mine.run_on(elsewhere).stdout.strip() == "gpu"  # nothing but the address was in the way
    assert not mine.can_log_in


def test_a_key_in_custody_opens_the_host_until_it_is_rotated_or_revoked(
    sandbox: Sandbox, allocation_id: str, tmp_path: Path
) -> None:
    admin, project = sandbox.admin, sandbox.project_id
    credential = admin.access_credentials.create(project, f"robot on {allocation_id}", kind="ssh_key")
    until = datetime.now(UTC) + timedelta(hours=1)
    admin.ssh_access.create_grant(
        project, allocation_id, NewSshGrant(expires_at=until, access_credential_id=credential.id)
    )
    old, new = (SshClient(admin, project, allocation_id, tmp_path / name) for name in ("old", "new"))
    for ssh_client in (old, new):
        ssh_client.directory.mkdir()
        ssh_client.get_certificate()  # for the host's name and its CA
    old.take_private_key(admin.access_credentials.private_key(project, credential.id))
    opens(old)
    with old.open_session() as session:
        admin.access_credentials.rotate(project, credential.id)
        session.wait(SECONDS)
    new.take_private_key(admin.access_credentials.private_key(project, credential.id))
    opens(new)
    shuts(old)
    admin.access_credentials.revoke(project, credential.id, "the story ends")
    shuts(new)
    assert [one.version for one in admin.access_credentials.deliveries(project, credential.id)] == [2, 1]
