"""A member of the project launches JupyterLab on a host of its own, computes in it, reads its log and stops it."""

from dataclasses import dataclass

from gpuaas_lab.demo.context import DemoContext, Person, address_of
from gpuaas_lab.demo.notebook_image import SLUG
from gpuaas_lab.demo.notebook_kernel import execute_in_kernel
from gpuaas_lab.demo.operation_follower import OperationFollower
from gpuaas_lab.demo.steps.offer import await_live
from gpuaas_lab.demo.steps.teardown import require_clean
from gpuaas_lab.errors import LabError
from gpuaas_sdk import Allocation, NewAllocation, NewInstance, Placement

NAME, COMPONENT, PORT = "notebook", "notebook", 8888
CODE = "import glob, os; (sum(range(101)), os.getuid(), len(glob.glob('/dev/nvidia[0-9]')))"
SHOWN_LINES = 3
ASK_FOR_ACCESS = "sudo podman exec $(sudo podman ps --quiet) show-token"


@dataclass(frozen=True)
class Notebook:
    person: Person
    allocation: Allocation
    instance_id: str


def launch(context: DemoContext, follower: OperationFollower) -> Notebook:
    with context.report.step("Launch JupyterLab as a member of the project") as step:
        person = context.add_person("ben@acme.example", "Ben", "project_member")
        entry = await_live(context, SLUG)
        requested = person.client.allocations.create(context.project_id, NewAllocation(sku="h100-node", name=NAME))
        (allocation,) = context.wait_for_state(requested, "active")
        places = [Placement(component_key=COMPONENT, allocation_id=allocation.id)]
        new = NewInstance(app=SLUG, name=NAME, placement_intent=places)
        started = person.client.instances.create(context.project_id, new)
        follower.wait_for_success(started.operation)
        instance = person.client.instances.show(context.project_id, started.instance.id)
        if instance.status != "running":
            raise LabError(f"the notebook is {instance.status}")
        step.detail = (
            f"{entry.slug} {instance.version} at {address_of(allocation)}:{PORT}, {instance.status}; pulled by digest,"
            " its probe passed; nobody started a controller"
        )
    return Notebook(person, allocation, started.instance.id)


def compute(context: DemoContext, notebook: Notebook) -> None:
    with context.report.step("Run code in a kernel, read the log") as step:
        token = context.run_over_ssh(notebook.allocation, ASK_FOR_ACCESS, notebook.person)
        result = execute_in_kernel(address_of(notebook.allocation), PORT, token, CODE)
        if not result.startswith("(5050, 1000, "):
            raise LabError(f"the kernel answered {result}")
        lines = notebook.person.client.logs.tail(context.project_id, notebook.instance_id, 200)
        if not lines or any(token in line.text for line in lines):
            raise LabError("there is no log, or the token is in it")
        for line in lines[-SHOWN_LINES:]:
            context.report.print_line(line.text[:110])
        step.detail = f"the kernel answered {result}: a sum, its user, its GPUs; {len(lines)} lines of log"


def stop(context: DemoContext, notebook: Notebook, follower: OperationFollower) -> None:
    with context.report.step("Stop JupyterLab and read its receipt") as step:
        started = notebook.person.client.instances.decommission(context.project_id, notebook.instance_id)
        ended = follower.wait_for_success(started.operation)
        lines = notebook.person.client.receipts.list(context.project_id, operation_id=ended.id)
        receipts = [notebook.person.client.receipts.show(context.project_id, one.id) for one in lines]
        require_clean(receipts, 1)
        looked = ", ".join(f"{check.name} {check.examined}" for check in receipts[0].checks if check.examined)
        step.detail = f"verified by the host's agent: {receipts[0].status}; examined: {looked}"
