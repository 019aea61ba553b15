"""A canary, from its publisher to the workloads of two projects: who gets it, how it is promoted, and how it is taken back."""

import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.resources import files

import pytest

from gpuaas_sdk import Conflict, Instance, NewInstance, Operation, Placement
from gpuaas_sdk.testing import CatalogApp, Sandbox
from system_support.console.simulated_controller import SimulatedController
from system_support.echo_lab import at_work

OLD, NEW = "1.0.0", "1.1.0"
REASON = "it drops connections"


class ProjectUsingApp(CatalogApp):
    """A project that launches the app, with a place for it and a controller of its own."""

    place: str

    @contextmanager
    def served(self) -> Iterator[None]:
        [self.place] = self.allocate(1)
        controller = SimulatedController(self.slug, ("install", "start"), {}, {})
        with at_work(controller, self.controller()):
            yield

    def taken(self) -> tuple[str | None, str, bool]:
        """What the catalogue says: the version of the next launch, the channel, and whether the project chose it."""
        entry = self.sandbox.admin.catalog.show(self.project_id, self.slug)
        return entry.latest, entry.channel, entry.channel_pinned

    def launch(self, version: str | None = None) -> Instance:
        where = [Placement(component_key="hub", allocation_id=self.place)]
        new = NewInstance(app=self.slug, name="mine", version=version, placement_intent=where)
        started = self.sandbox.admin.instances.create(self.project_id, new)
        self.succeeds(started.operation)
        return self.instance(started.instance.id)

    def succeeds(self, operation: Operation) -> None:
        done = self.ended(operation)
        assert done.status == "succeeded", (done.kind, done.failure)


class PublishedApp(CatalogApp):
    """The app, as its publisher sees it."""

    app_id: str = ""

    def register(self, version: str) -> str:
        """Publish the program, unless it is there, and register a draft of the version. The version's id."""
        app = files("gpuaas_echo")
        text = app.joinpath("manifest.yaml").read_text()
        named = text.replace("slug: echo", f"slug: {self.slug}").replace("version: 0.1.0", f"version: {version}", 1)
        if not list(self.sandbox.admin.artifacts.list(self.project_id)):
            made = self.publish(named, app.joinpath("echod").read_bytes())
        else:
            made = self.sandbox.admin.app_versions.register(self.project_id, named)
        self.app_id = made.app_id
        return made.id

    def statuses(self) -> dict[str, tuple[str, bool]]:
        """Of each version: its status, and whether another one superseded it."""
        listed = self.sandbox.admin.app_versions.list(self.project_id, self.app_id)
        return {one.version: (one.status, one.superseded) for one in listed}


@pytest.fixture
def publisher(sandbox: Sandbox) -> PublishedApp:
    return PublishedApp(sandbox, f"canary-{secrets.token_hex(3)}")


def projects_of(publisher: PublishedApp, count: int) -> list[ProjectUsingApp]:
    sandbox, made = publisher.sandbox, []
    for number in range(count):
        name = f"{publisher.slug}-{number}"
        project = sandbox.admin.projects.create(sandbox.tenant_id, name, name)
        place = Sandbox(sandbox.server, sandbox.admin, sandbox.tenant_id, project.id)
        made.append(ProjectUsingApp(place, publisher.slug))
    return made


def split_by_canary(
    publisher: PublishedApp, version: str, projects: list[ProjectUsingApp]
) -> tuple[ProjectUsingApp, ProjectUsingApp]:
    """Widen the canary until some project is in it. One that is in, and one that is not."""
    versions, place = publisher.sandbox.admin.app_versions, (publisher.project_id, publisher.app_id)
    for percent in range(1, 100):
        versions.canary(*place, version, percent)
        inside = [one for one in projects if one.taken() == (NEW, "canary", False)]
        outside = [one for one in projects if one.taken() == (OLD, "stable", False)]
        assert len(inside) + len(outside) == len(projects)
        if inside and outside:
            return inside[0], outside[0]
    raise AssertionError("all projects have the same hash")


def test_a_canary_reaches_its_part_of_the_projects_is_promoted_and_taken_back(publisher: PublishedApp) -> None:
    admin, home = publisher.sandbox.admin, publisher.project_id
    publisher.register(OLD)
    new = publisher.register(NEW)
    inside, outside = split_by_canary(publisher, new, projects_of(publisher, 4))
    with ExitStack() as stack:
        stack.enter_context(publisher.sandbox.simulated_fleet(1, first_index=900))
        for one in (inside, outside):
            stack.enter_context(one.served())
        with pytest.raises(Conflict) as refused:
            outside.launch(NEW)
        assert "not_in_canary" in str(refused.value.details)
        canary, stable = inside.launch(), outside.launch()
        assert (canary.version, stable.version) == (NEW, OLD)
        assert admin.catalog.set_channel(outside.project_id, outside.slug, "canary").latest == NEW
        assert outside.taken() == (NEW, "canary", True)
        admin.catalog.set_channel(outside.project_id, outside.slug, "automatic")
        assert outside.taken() == (OLD, "stable", False)

        admin.app_versions.activate(home, publisher.app_id, new)
        assert publisher.statuses() == {NEW: ("active", False), OLD: ("active", True)}
        assert inside.taken() == outside.taken() == (NEW, "stable", False)
        outside.succeeds(admin.instances.upgrade(outside.project_id, stable.id, NEW).operation)
        assert outside.instance(stable.id).version == NEW
        outside.succeeds(outside.operate(stable.id, "rollback"))
        assert outside.instance(stable.id).version == OLD

        admin.apps.rollback(home, publisher.app_id, REASON)
        assert publisher.statuses() == {NEW: ("active", True), OLD: ("active", False)}
        assert inside.taken() == outside.taken() == (OLD, "stable", False)
        running = inside.instance(canary.id)
        assert (running.version, running.status) == (NEW, "running"), "who runs it keeps it"
        admin.app_versions.deprecate(home, publisher.app_id, new, f"Use {OLD}: {REASON}.")
        assert publisher.statuses()[NEW][0] == "deprecated"
        inside.succeeds(admin.instances.upgrade(inside.project_id, canary.id, OLD).operation)
        for project, instance in ((inside, canary), (outside, stable)):
            assert project.instance(instance.id).version == OLD
            project.succeeds(project.operate(instance.id, "decommission"))
