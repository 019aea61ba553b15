"""A small cloud for the console: people, hosts, running clusters, a failed one, and blocked slots."""

import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.resources import files

from gpuaas_sdk import (
    Client,
    NewAllocation,
    NewInstance,
    NewMemberOperation,
    NewSshGrant,
    Node,
    PasswordCredentials,
    Placement,
)
from gpuaas_sdk.controller import Failed
from gpuaas_sdk.testing import CatalogApp, RunningServer, Sandbox
from system_support.console.simulated_controller import SimulatedController
from system_support.echo_lab import at_work
from system_support.policy_callers import public_key

SETTLE = 60.0
DISK = Failed(
    "bootstrap_failed",
    "slurmctld did not start on the controller's host: the state directory is on a disk that does not mount.",
    next_step="Look at the disk, then recover the member or replace it by another allocation.",
    retryable=True,
)


@dataclass
class SampleCloud:
    sandbox: Sandbox
    people: dict[str, PasswordCredentials]  # by what they are: project_admin, project_viewer, operator …
    nodes: list[Node]
    slurm: SimulatedController
    cluster: str  # a Slurm that runs
    failed: str  # one whose bootstrap failed
    gone: str  # one that was decommissioned
    places: list[str]  # allocations that are active
    free: str  # one of them with nothing on it
    blocked: str  # an allocation whose release is not proven
    operation: str  # one that failed
    unapproved: Node

    @property
    def url(self) -> str:
        return self.sandbox.server.url

    @property
    def project_id(self) -> str:
        return self.sandbox.project_id

    @property
    def admin(self) -> Client:
        return self.sandbox.admin

    def routes(self) -> dict[str, str]:
        """Every page of the console by its name, with something on it."""
        return {
            "overview": "/",
            "catalog": "/catalog",
            "catalog-app": "/catalog/slurm",
            "launch": "/launch/slurm",
            "workloads": "/workloads",
            "workload": f"/workloads/{self.cluster}",
            "workload-failed": f"/workloads/{self.failed}",
            "allocations": "/allocations",
            "allocation": f"/allocations/{self.places[0]}",
            "operation": f"/operations/{self.operation}",
            "artifacts": "/artifacts",
            "artifact": f"/artifacts/{self.admin.artifacts.list(self.project_id).first(1)[0].id}",
            "credentials": "/credentials",
            "team": "/team",
            "audit": "/audit",
        }

    def operator_routes(self) -> dict[str, str]:
        return {
            "ops-nodes": "/ops/nodes",
            "ops-node": f"/ops/nodes/{self.nodes[0].id}",
            "ops-blocked": "/ops/blocked",
            "ops-tenants": "/ops/tenants",
            "ops-tenant": f"/ops/tenants/{self.sandbox.tenant_id}",
            "ops-platform": "/ops/platform",
        }


@contextmanager
def sample_cloud(server: RunningServer) -> Iterator[SampleCloud]:
    with ExitStack() as stack:
        sandbox = _acme(server)
        nodes = stack.enter_context(sandbox.simulated_fleet(6, "--delay-ms", "40"))
        bad = ("--fail-rate", "verify_wipe=1.0", "--delay-ms", "40")
        blocked = _blocked(sandbox, stack, bad)
        places = _allocations(sandbox)
        slurm = _controllers(sandbox, stack)
        slurm.troubles["nightly"] = DISK
        slurm.ailing["research"] = "w3 does not respond: its daemon was last seen 40 s ago"
        made = _Made(sandbox)
        cluster = made.launch(
            "slurm", "research", [("controller", places[0]), *(("worker", one) for one in places[:3])]
        )
        made.launch("echo", "hello", [("hub", places[4])])
        failed = made.launch("slurm", "nightly", [("controller", places[5]), ("worker", places[5])])
        operation = sandbox.admin.instances.show(sandbox.project_id, failed).last_operation_id or ""
        gone = made.launch("echo", "yesterday", [("hub", places[6])])
        made.ended(sandbox.admin.instances.operate(sandbox.project_id, gone, "decommission").operation.id)
        made.grow(cluster, places[3])
        people = _people(sandbox)
        _belongings(sandbox, people["project_admin"], places[0])
        unapproved = stack.enter_context(_newcomer(sandbox))
        _named(sandbox)
        yield SampleCloud(
            sandbox, people, nodes, slurm, cluster, failed, gone, places, places[-1], blocked, operation, unapproved
        )


def _acme(server: RunningServer) -> Sandbox:
    admin = server.admin()
    tenant = admin.tenants.create("acme", "Acme Research")
    admin.projects.create(tenant.id, "inference", "Inference")
    project = admin.projects.create(tenant.id, "training", "Model training")
    sandbox = Sandbox(server, admin, tenant.id, project.id)
    sandbox.offer("rebooted")
    return sandbox


def _blocked(sandbox: Sandbox, stack: ExitStack, arguments: tuple[str, ...]) -> str:
    """A host whose wipe is not proven keeps its slots out of the pool."""
    for node in sandbox.admin.nodes.list():
        if not node.cordoned:
            sandbox.admin.nodes.cordon(node.id, "room for the other one")
    stack.enter_context(sandbox.simulated_fleet(1, *arguments, first_index=40))
    made = sandbox.admin.allocations.create(sandbox.project_id, NewAllocation(sku="h100-node", name="retired-run"))[0]
    _settled(sandbox, [made.id], "active")
    sandbox.admin.allocations.release(sandbox.project_id, made.id)
    _settled(sandbox, [made.id], "release_failed")
    for node in sandbox.admin.nodes.list():
        if node.cordoned:
            sandbox.admin.nodes.uncordon(node.id)
    return made.id


def _settled(sandbox: Sandbox, ids: list[str], state: str) -> None:
    states = {one.id: one.state for one in sandbox.admin.allocations.follow(sandbox.project_id, ids, SETTLE)}
    assert set(states.values()) == {state}, states


def _allocations(sandbox: Sandbox) -> list[str]:
    whole = [NewAllocation(sku="h100-node", name=f"train-{number}") for number in range(4)]
    parts = [NewAllocation(sku="h100-slice", gpu_count=count, name=name) for name, count in _SLICES]
    made = [sandbox.admin.allocations.create(sandbox.project_id, one)[0].id for one in (*whole, *parts)]
    _settled(sandbox, made, "active")
    return made


_SLICES = (("talk", 1), ("night", 4), ("try-out", 2), ("spare", 1))  # after the four whole hosts


def _controllers(sandbox: Sandbox, stack: ExitStack) -> SimulatedController:
    slurm_access: dict[str, object] = {
        "login": {"shell": "gpuaas allocations ssh train-0", "become": "sudo -iu researcher"},
        "commands": {
            "nodes": "gpuaas allocations ssh train-0 -- sudo -iu researcher sinfo -N",
            "run": "gpuaas allocations ssh train-0 -- sudo -iu researcher srun --partition=main hostname",
            "submit": "gpuaas allocations ssh train-0 -- sudo -iu researcher sbatch --wrap hostname",
        },
    }
    slurm = SimulatedController(
        "slurm",
        ("packages", "configuration", "daemons"),
        {"app_version": "0.1.0", "slurm_version": "22.05.8", "package_version": "22.05.8-4+deb12u3"},
        slurm_access,
    )
    echo = SimulatedController("echo", ("install", "start"), {"version": "0.1.0"}, {"talk": "nc 192.0.2.7 7007"})
    for one, package in ((slurm, "gpuaas_slurm"), (echo, "gpuaas_echo")):
        catalog_app = CatalogApp(sandbox, one.slug)
        app = files(package)
        program = app.joinpath("echod").read_bytes() if one is echo else b"the packages of a cluster"
        catalog_app.publish(app.joinpath("manifest.yaml").read_text(), program)
        stack.enter_context(at_work(one, catalog_app.controller()))
    return slurm


@dataclass
class _Made:
    sandbox: Sandbox

    def launch(self, app: str, name: str, places: list[tuple[str, str]]) -> str:
        intent = [Placement(component_key=key, allocation_id=one) for key, one in places]
        started = self.sandbox.admin.instances.create(
            self.sandbox.project_id,
            NewInstance(app=app, name=name, placement_intent=intent, when_no_controller="queue"),
        )
        self.ended(started.operation.id)
        return started.instance.id

    def grow(self, instance: str, place: str) -> None:
        change = NewMemberOperation(kind="add", component_key="worker", allocation_ids=[place])
        self.ended(self.sandbox.admin.instances.change_members(self.sandbox.project_id, instance, change).id)

    def ended(self, operation: str) -> None:
        list(self.sandbox.admin.operations.follow(self.sandbox.project_id, operation, SETTLE))


def _people(sandbox: Sandbox) -> dict[str, PasswordCredentials]:
    names = {
        "project_admin": "Mia Okafor",
        "project_member": "Jonas Lind",
        "project_viewer": "Vera Santos",
        "tenant_admin": "Tom Adeyemi",
    }
    found: dict[str, PasswordCredentials] = {}
    for role, name in names.items():
        email = f"{name.split()[0].lower()}@acme.example"
        password = secrets.token_urlsafe(18)
        user = sandbox.admin.users.create(sandbox.tenant_id, email, name, password=password)
        if role == "tenant_admin":
            sandbox.admin.tenants.set_member(sandbox.tenant_id, user.id, role)
        else:
            sandbox.admin.projects.set_member(sandbox.project_id, user.id, role)
        found[role] = PasswordCredentials(email, password)
    email, password = "olga@gpuaas.example", secrets.token_urlsafe(18)
    olga = sandbox.admin.users.create(None, email, "Olga Berg", password=password)
    sandbox.admin.users.set_platform_role(olga.id, "platform_operator")
    found["operator"] = PasswordCredentials(email, password)
    return found


def _belongings(sandbox: Sandbox, mia: PasswordCredentials, place: str) -> None:
    client, project = Client(sandbox.server.url, credentials=mia), sandbox.project_id
    client.ssh_keys.create("laptop", public_key())
    client.access_credentials.create(project, "backup-robot", kind="ssh_key")
    client.service_accounts.create(project, "ci", ["allocations:read", "events:read"])
    until = datetime.now(UTC) + timedelta(days=7)
    grant = NewSshGrant(expires_at=until, public_key=public_key(), note="Jonas, for the week of the paper")
    client.ssh_access.create_grant(project, place, grant)


def _named(sandbox: Sandbox) -> None:
    """As operators call their hosts: by rack and place."""
    hosts = sorted(sandbox.admin.nodes.list(), key=lambda node: node.id)
    for number, node in enumerate(hosts):
        sandbox.admin.nodes.update(node.id, name=f"rack{number // 4 + 1}-h{number % 4 + 1}")


@contextmanager
def _newcomer(sandbox: Sandbox) -> Iterator[Node]:
    """A host that has enrolled, and that nobody has approved yet."""
    from gpuaas_sdk.testing.agents import SimulatedAgents

    token = sandbox.admin.enrolment_tokens.create(note="new rack", max_uses=1)
    bundle = sandbox.server.directory / f"bundle-{secrets.token_hex(3)}"
    bundle.write_text(token.bundle or "")
    before = {node.id for node in sandbox.admin.nodes.list()}
    agents = SimulatedAgents(bundle, ["--nodes", "1", "--first-index", "60"])
    agents.start()

    def there() -> Node | None:
        fresh = [node for node in sandbox.admin.nodes.list() if node.id not in before]
        return fresh[0] if fresh and sandbox.admin.slots.list(fresh[0].id) else None

    try:
        yield sandbox.admin.wait_for(there, SETTLE, what="the new host")
    finally:
        agents.kill()
