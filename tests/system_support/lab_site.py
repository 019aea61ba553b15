"""A platform whose hosts are real: a lab fleet, a server that it reaches, and a sandbox in which all of it is approved."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager

from gpuaas_lab import Fleet, Host, PackageLayer
from gpuaas_sdk import Operation
from gpuaas_sdk.testing import CatalogApp, RunningServer, Sandbox, free_port


@contextmanager
def lab_site(
    name: str,
    hosts: int,
    layer: PackageLayer | None = None,
    wipe_grade: str = "inspected",
    registry: bool = False,
    **settings: str,
) -> Iterator[tuple[Sandbox, Fleet]]:
    """The fleet's name is this process's own: the same test may run from another checkout beside us.

    Its hosts are wiped without a restart, unless the test is about that. With a `registry`, hosts can pull images. In
    settings, `{gateway}` is this machine's address for the hosts.
    """
    with Fleet(name=f"{name}-{os.getpid()}", hosts=hosts, layer=layer) as fleet:
        bind = f"{fleet.gateway}:{free_port()}"
        settings = {"login_rate_per_minute": "100000", **settings}
        settings = {name: value.replace("{gateway}", fleet.gateway) for name, value in settings.items()}
        if registry:
            settings["registry_bind"] = f"{fleet.gateway}:{free_port()}"
        with RunningServer.start(https_bind=bind, agent_urls=json.dumps([f"https://{bind}"]), **settings) as server:
            sandbox = Sandbox.create(server)
            sandbox.offer(wipe_grade)
            token = sandbox.admin.enrolment_tokens.create(max_uses=hosts)
            for host in fleet.hosts:
                host.start_agent(token.bundle or "")
            for node in sandbox.approve_new(set(), hosts):
                sandbox.admin.nodes.update(node.id, erase_drives=False)  # the drives are entries in sysfs
            yield sandbox, fleet


class LabApp(CatalogApp):
    """An app on real hosts. `places` are allocations, one a host, in the order of the hosts."""

    places: list[str]
    fleet: Fleet

    @property
    def hosts(self) -> list[Host]:
        return self.fleet.hosts

    def settle_on(self, fleet: Fleet) -> None:
        """All of its hosts become places."""
        self.fleet, found = fleet, {}
        for place in self.allocate(len(fleet.hosts), "h100-node", None):
            node = self.sandbox.admin.allocations.show(self.project_id, place).node_id
            found[self.sandbox.admin.nodes.show(node or "").name] = place
        self.places = [found[host.name] for host in fleet.hosts]

    def kill(self, victim: str) -> None:
        """kill -9; whoever watches over it starts it again."""
        if victim == "agent":
            for host in self.hosts:
                host.kill_agent()
        else:
            self.sandbox.server.kill(victim)

    def succeeds(self, operation: Operation, seconds: float = 180.0) -> Operation:
        done = self.ended(operation, seconds)
        assert done.status == "succeeded", (done.kind, done.failure, done.steps)
        return done

    def fails(self, operation: Operation, code: str) -> Operation:
        done = self.ended(operation)
        assert (done.status, done.failure and done.failure.code) == ("failed", code), (done.failure, done.steps)
        return done

    def verb(self, instance: str, verb: str, **options: object) -> Operation:
        return self.succeeds(self.operate(instance, verb, **options))

    def torn_down(self, instance: str, **options: object) -> Operation:
        gone = self.verb(instance, "decommission", **options)
        self.check_gone(gone)
        return gone

    def check_gone(self, decommission: Operation) -> None:
        """Assert that the agents found nothing that the instance left."""
        receipts = self.receipts(decommission)
        assert {(one.status, one.verified, one.depth) for one in receipts} == {("clean", True, "gone")}

    def used(self, instance: str, **wanted: int) -> dict[str, int]:
        """Wait until these sums are recorded, and not more; returns all sums."""

        def totals() -> dict[str, int] | None:
            found = self.sandbox.admin.app_usage.totals(self.project_id, instance_id=instance)
            sums = {one.metric: one.quantity for one in found}
            return sums if wanted.items() <= sums.items() else None

        return self.sandbox.admin.wait_for(totals, 60, f"usage of {wanted}")
