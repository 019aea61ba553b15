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
from gpuaas_sdk.testing import RunningServer, Stage, World
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
    world: World
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
        return self.world.server.url

    @property
    def project_id(self) -> str:
        return self.world.project_id

    @property
    def admin(self) -> Client:
        return self.world.admin

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
            "ops-tenant": f"/ops/tenants/{self.world.tenant_id}",
            "ops-platform": "/ops/platform",
        }


@contextmanager
def sample_cloud(server: RunningServer) -> Iterator[SampleCloud]:
    with ExitStack() as stack:
        world = _acme(server)
        nodes = stack.enter_context(world.simulated_fleet(6, "--delay-ms", "40"))
        bad = ("--fail-rate", "verify_wipe=1.0", "--delay-ms", "40")
        blocked = _blocked(world, stack, bad)
        places = _allocations(world)
        slurm = _controllers(world, stack)
        slurm.troubles["nightly"] = DISK
        slurm.ailing["research"] = "w3 does not respond: its daemon was last seen 40 s ago"
        made = _Made(world)
        cluster = made.launch(
            "slurm", "research", [("controller", places[0]), *(("worker", one) for one in places[:3])]
        )
        made.launch("echo", "hello", [("hub", places[4])])
        failed = made.launch("slurm", "nightly", [("controller", places[5]), ("worker", places[5])])
        operation = world.admin.instances.show(world.project_id, failed).last_operation_id or ""
        gone = made.launch("echo", "yesterday", [("hub", places[6])])
        made.ended(world.admin.instances.operate(world.project_id, gone, "decommission").operation.id)
        made.grow(cluster, places[3])
        people = _people(world)
        _belongings(world, people["project_admin"], places[0])
        unapproved = stack.enter_context(_newcomer(world))
        _named(world)
        yield SampleCloud(
            world, people, nodes, slurm, cluster, failed, gone, places, places[-1], blocked, operation, unapproved
        )


def _acme(server: RunningServer) -> World:
    admin = server.admin()
    tenant = admin.tenants.create("acme", "Acme Research")
    admin.projects.create(tenant.id, "inference", "Inference")
    project = admin.projects.create(tenant.id, "training", "Model training")
    world = World(server, admin, tenant.id, project.id)
    world.offer("rebooted")
    return world


def _blocked(world: World, stack: ExitStack, arguments: tuple[str, ...]) -> str:
    """A host whose wipe is not proven keeps its slots out of the pool."""
    for node in world.admin.nodes.list():
        if not node.cordoned:
            world.admin.nodes.cordon(node.id, "room for the other one")
    stack.enter_context(world.simulated_fleet(1, *arguments, first_index=40))
    made = world.admin.allocations.create(world.project_id, NewAllocation(sku="h100-node", name="retired-run"))[0]
    _settled(world, [made.id], "active")
    world.admin.allocations.release(world.project_id, made.id)
    _settled(world, [made.id], "release_failed")
    for node in world.admin.nodes.list():
        if node.cordoned:
            world.admin.nodes.uncordon(node.id)
    return made.id


def _settled(world: World, ids: list[str], state: str) -> None:
    states = {one.id: one.state for one in world.admin.allocations.follow(world.project_id, ids, SETTLE)}
    assert set(states.values()) == {state}, states


def _allocations(world: World) -> list[str]:
    whole = [NewAllocation(sku="h100-node", name=f"train-{number}") for number in range(4)]
    parts = [NewAllocation(sku="h100-slice", gpu_count=count, name=name) for name, count in _SLICES]
    made = [world.admin.allocations.create(world.project_id, one)[0].id for one in (*whole, *parts)]
    _settled(world, made, "active")
    return made


_SLICES = (("talk", 1), ("night", 4), ("try-out", 2), ("spare", 1))  # after the four whole hosts


def _controllers(world: World, stack: ExitStack) -> SimulatedController:
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
        stage = Stage(world, one.slug)
        app = files(package)
        program = app.joinpath("echod").read_bytes() if one is echo else b"the packages of a cluster"
        stage.publish(app.joinpath("manifest.yaml").read_text(), program)
        stack.enter_context(at_work(one, stage.controller()))
    return slurm


@dataclass
class _Made:
    world: World

    def launch(self, app: str, name: str, places: list[tuple[str, str]]) -> str:
        intent = [Placement(component_key=key, allocation_id=one) for key, one in places]
        started = self.world.admin.instances.create(
            self.world.project_id, NewInstance(app=app, name=name, placement_intent=intent)
        )
        self.ended(started.operation.id)
        return started.instance.id

    def grow(self, instance: str, place: str) -> None:
        wish = NewMemberOperation(kind="add", component_key="worker", allocation_ids=[place])
        self.ended(self.world.admin.instances.change_members(self.world.project_id, instance, wish).id)

    def ended(self, operation: str) -> None:
        list(self.world.admin.operations.follow(self.world.project_id, operation, SETTLE))


def _people(world: World) -> dict[str, PasswordCredentials]:
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
        user = world.admin.users.create(world.tenant_id, email, name, password=password)
        if role == "tenant_admin":
            world.admin.tenants.set_member(world.tenant_id, user.id, role)
        else:
            world.admin.projects.set_member(world.project_id, user.id, role)
        found[role] = PasswordCredentials(email, password)
    email, password = "olga@gpuaas.example", secrets.token_urlsafe(18)
    olga = world.admin.users.create(None, email, "Olga Berg", password=password)
    world.admin.users.set_platform_role(olga.id, "platform_operator")
    found["operator"] = PasswordCredentials(email, password)
    return found


def _belongings(world: World, mia: PasswordCredentials, place: str) -> None:
    client, project = Client(world.server.url, credentials=mia), world.project_id
    client.ssh_keys.create("laptop", public_key())
    client.access_credentials.create(project, "backup-robot", kind="ssh_key")
    client.service_accounts.create(project, "ci", ["allocations:read", "events:read"])
    until = datetime.now(UTC) + timedelta(days=7)
    grant = NewSshGrant(expires_at=until, public_key=public_key(), note="Jonas, for the week of the paper")
    client.ssh_access.create_grant(project, place, grant)


def _named(world: World) -> None:
    """As operators call their hosts: by rack and place."""
    hosts = sorted(world.admin.nodes.list(), key=lambda node: node.id)
    for number, node in enumerate(hosts):
        world.admin.nodes.update(node.id, name=f"rack{number // 4 + 1}-h{number % 4 + 1}")


@contextmanager
def _newcomer(world: World) -> Iterator[Node]:
    """A host that has enrolled, and that nobody has approved yet."""
    from gpuaas_sdk.testing.agents import SimulatedAgents

    token = world.admin.enrolment_tokens.create(note="new rack", max_uses=1)
    bundle = world.server.directory / f"bundle-{secrets.token_hex(3)}"
    bundle.write_text(token.bundle or "")
    before = {node.id for node in world.admin.nodes.list()}
    agents = SimulatedAgents(bundle, ["--nodes", "1", "--first-index", "60"])
    agents.start()

    def there() -> Node | None:
        fresh = [node for node in world.admin.nodes.list() if node.id not in before]
        return fresh[0] if fresh and world.admin.slots.list(fresh[0].id) else None

    try:
        yield world.admin.wait_for(there, SETTLE, what="the new host")
    finally:
        agents.kill()
