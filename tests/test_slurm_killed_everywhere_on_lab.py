"""Every verb of a Slurm cluster with kill -9 of its controller at every step.

The ordinary run has the hardest point of a step, the work done and nothing said; the slow tier has every other one.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuaas_sdk import NewInstance, Operation, Placement
from gpuaas_sdk.testing import CRASH_POINTS, as_replica, crashing_replica
from system_support.slurm_lab import MANIFEST, SlurmLab, packages, slurm_lab, traces

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1200)]
APP = "gpuaas_slurm.controller:Slurm"
OLD, NEW = "0.1.0", "0.2.0"
HARDEST = "step_done"
VERBS = {
    *("deploy", "add", "drain", "recover", "replace", "upgrade", "rollback", "restart"),
    *("reconcile", "repair", "stop", "start", "remove", "decommission"),
}


@pytest.fixture(scope="module")
def lab() -> Iterator[SlurmLab]:
    with slurm_lab("slurm-killed", 3) as made:
        made.publish(MANIFEST.replace(f"version: {OLD}", f"version: {NEW}"), packages())
        yield made


def every_verb(lab: SlurmLab, name: str) -> list[Operation]:
    """Each once, and after each that leaves a cluster a job on as many nodes as it should have.

    With the rotations of the key that follow when a worker has left, by which the jobs of the rest are believed.
    """
    asked = lab.sandbox.admin.instances
    intent = [Placement(component_key=key, allocation_id=lab.places[0]) for key in ("controller", "worker")]
    inputs = {"packages": "host"}
    new = NewInstance(
        app="slurm", name=name, placement_intent=intent, version=OLD, inputs=inputs, when_no_controller="queue"
    )
    started = asked.create(lab.project_id, new)
    launched = started.instance.id
    done = [lab.succeeds(started.operation)]

    def then(operation: Operation, nodes: int) -> None:
        done.append(lab.succeeds(operation))
        said = lab.as_user("srun", "-Q", "--input=none", f"-N{nodes}", "hostname").split()
        assert len(set(said)) == nodes, (operation.kind, said)

    then(lab.add(launched, 1), 2)
    done.append(lab.succeeds(lab.change(launched, "drain", 1, jobs="requeue")))
    then(lab.change(launched, "recover", 1), 2)
    then(lab.replace(launched, 1, 2), 2)
    then(asked.upgrade(lab.project_id, launched, NEW).operation, 2)
    then(lab.operate(launched, "rollback"), 2)
    then(lab.operate(launched, "restart"), 2)
    lab.hosts[2].run(["rm", "/etc/slurm/slurm.conf"])
    then(lab.operate(launched, "reconcile"), 2)
    lab.hosts[0].run(["systemctl", "stop", "gpuaas-slurm-controller.service"])
    then(lab.operate(launched, "repair"), 2)
    done.append(lab.succeeds(lab.operate(launched, "stop")))
    then(lab.operate(launched, "start"), 2)
    then(lab.change(launched, "remove", 2), 1)
    done.append(lab.torn_down(launched))
    rotations = lab.rotations(launched)
    assert len(rotations) == 2, "after the replacement, and after the removal"
    return [*done, *rotations]


@pytest.mark.parametrize(
    "point", [pytest.param(one, marks=() if one == HARDEST else pytest.mark.slow) for one in CRASH_POINTS]
)
def test_every_verb_does_what_it_says_with_its_controller_killed_at_every_step(
    lab: SlurmLab, tmp_path: Path, point: str
) -> None:
    """Two replicas share the work. Who has it dies at this point of every step, and goes on under its name."""
    settings = lab.controller("one")
    other = as_replica(settings, "two")
    with (
        crashing_replica(APP, settings, tmp_path, at=[point]) as one,
        crashing_replica(APP, other, tmp_path, at=[point]) as two,
    ):
        done = every_verb(lab, f"dies-{point.replace('_', '-')}")
        crashes = [*one.crashes, *two.crashes]
    assert {death.kind for death in crashes} == {operation.kind for operation in done} == VERBS
    if point in ("step_started", "step_done", "step_reported"):
        steps = {(operation.kind, step.name) for operation in done for step in operation.steps}
        assert {(death.kind, death.step) for death in crashes} == steps
    assert [traces(host) for host in lab.hosts] == [[], [], []]
