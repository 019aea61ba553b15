"""The reference app on real hosts: three whole machines, two published versions, and the story of all its verbs."""

import hashlib
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files

from gpuaas_echo.controller import Echo
from gpuaas_sdk import InstanceMember, NewInstance, NewMemberOperation, Operation, Placement, ReplaceTarget
from system_support.controllers import at_work
from system_support.lab_site import LabApp, lab_site

HUB, RELAY = 7007, 7008
OLD, NEW = "0.1.0", "0.2.0"
Do = Callable[[Operation], Operation]  # from an operation that was asked for to its end


class EchoLab(LabApp):
    def deploy(
        self, name: str, places: list[tuple[str, str]], /, version: str = OLD, **inputs: object
    ) -> tuple[str, Operation]:
        """The version before the newest, so that there is one to go to."""
        intent = [Placement(component_key=key, allocation_id=one) for key, one in places]
        new = NewInstance(
            app=self.slug,
            name=name,
            placement_intent=intent,
            version=version,
            inputs=inputs,
            when_no_controller="queue",  # a test decides itself when a controller is there
        )
        started = self.sandbox.admin.instances.create(self.project_id, new)
        return started.instance.id, started.operation

    def hub(self, name: str) -> tuple[str, Operation]:
        return self.deploy(name, [("hub", self.places[0])], greeting="hi $1 %n")

    def upgrade(self, instance: str, version: str) -> Operation:
        return self.sandbox.admin.instances.upgrade(self.project_id, instance, version).operation

    def add(self, instance: str, *places: str, on_failure: str | None = None) -> Operation:
        change = NewMemberOperation(kind="add", component_key="relay", allocation_ids=places, on_failure=on_failure)
        return self.change_members(instance, change)

    def change(self, instance: str, kind: str, *members: InstanceMember) -> Operation:
        return self.change_members(instance, NewMemberOperation(kind=kind, targets=[one.id for one in members]))

    def replace(self, instance: str, member: InstanceMember, place: str) -> Operation:
        return self.change_members(
            instance,
            NewMemberOperation(kind="replace", replacements=[ReplaceTarget(member_id=member.id, allocation_id=place)]),
        )

    def members(self, instance: str, component: str) -> list[InstanceMember]:
        members = self.sandbox.admin.instances.members(self.project_id, instance)
        return [one for one in members if one.component_key == component]

    def member(self, instance: str, component: str) -> InstanceMember:
        [found] = self.members(instance, component)
        return found

    def answers(self, instance: str, component: str = "hub", line: str = "ping") -> str:
        """What its users hear, or nothing where nobody listens."""
        place = self.member(instance, component).allocation_id
        return says(self.hosts[self.places.index(place)].address, HUB if component == "hub" else RELAY, line)

    def clear(self) -> None:
        """What a test that failed has left goes, so that the next one has room."""
        admin, project = self.sandbox.admin, self.project_id
        left = [one for one in admin.instances.list(project) if one.decommissioned_at is None]
        if not left:
            return
        with at_work(Echo(), self.controller("cleaner")):
            for one in left:
                if one.operation_id is not None:
                    admin.operations.force(project, one.operation_id, "the test is over")
                self.ended(self.operate(one.id, "decommission"))


@contextmanager
def echo_lab(name: str, **settings: str) -> Iterator[EchoLab]:
    with lab_site(name, 3, **settings) as (sandbox, fleet):
        made = EchoLab(sandbox, Echo.slug)
        _publish(made)
        made.settle_on(fleet)
        yield made


def _publish(lab: EchoLab) -> None:
    """The app as it is, and a next version of it, which sets a comma after the greeting."""
    app = files("gpuaas_echo")
    manifest, program = app.joinpath("manifest.yaml").read_text(), app.joinpath("echod").read_bytes()
    changed = program.replace(b'b" " + line', b'b", " + line')
    assert changed != program
    lab.publish(manifest, program)
    before, after = (f"sha256:{hashlib.sha256(content).hexdigest()}" for content in (program, changed))
    lab.publish(manifest.replace(OLD, NEW).replace(before, after), changed)


def says(address: str, port: int, line: str) -> str:
    try:
        with socket.create_connection((address, port), 5) as peer:
            peer.sendall(line.encode() + b"\n")
            return peer.makefile().readline().strip()
    except OSError:
        return ""


def every_verb(lab: EchoLab, name: str, do: Do) -> list[Operation]:
    """Each verb once, and what its users hear after it. `do` sees each operation to its end, in whatever way."""
    instance, deploy = lab.deploy(name, [("hub", lab.places[0])], greeting="hi")
    done = [do(deploy)]

    def then(operation: Operation, hub: str, relay: str | None = None) -> None:
        ended = do(operation)
        done.append(ended)
        assert ended.status == "succeeded", (ended.kind, ended.failure, ended.steps)
        heard = (lab.answers(instance), None if relay is None else lab.answers(instance, "relay"))
        assert heard == (hub, relay), ended.kind

    def relay() -> InstanceMember:
        return lab.member(instance, "relay")

    assert lab.answers(instance) == "hi ping"
    then(lab.add(instance, lab.places[1]), "hi ping", "hi hi ping")
    then(lab.change(instance, "drain", relay()), "hi ping", "")
    then(lab.change(instance, "recover", relay()), "hi ping", "hi hi ping")
    then(lab.replace(instance, relay(), lab.places[2]), "hi ping", "hi hi ping")
    then(lab.upgrade(instance, NEW), "hi, ping", "hi, hi, ping")
    then(lab.operate(instance, "rollback"), "hi ping", "hi hi ping")
    then(lab.operate(instance, "restart"), "hi ping", "hi hi ping")
    lab.hosts[2].run(["systemctl", "stop", "echo-relay.service"])
    then(lab.operate(instance, "reconcile"), "hi ping", "hi hi ping")
    lab.hosts[0].run(["rm", "-r", "/opt/echo", "/etc/systemd/system/echo-hub.service"])
    then(lab.operate(instance, "repair"), "hi ping", "hi hi ping")
    then(lab.operate(instance, "stop"), "", "")
    then(lab.operate(instance, "start"), "hi ping", "hi hi ping")
    then(lab.change(instance, "remove", relay()), "hi ping")
    done.append(do(lab.operate(instance, "decommission")))
    assert says(lab.hosts[0].address, HUB, "ping") == ""
    kept = [one for one in lab.sandbox.admin.receipts.list(lab.project_id) if one.instance_id == instance]
    assert {one.status for one in kept} == {"clean"}
    assert len(kept) == 5  # replaced, two stopped, removed, gone
    return done
