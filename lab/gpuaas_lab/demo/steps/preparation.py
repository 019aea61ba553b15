"""Does what an operator does once: create a customer and SKUs, enrol nodes, and approve their topology."""

from gpuaas_lab.demo.context import SETTLE_SECONDS, DemoContext
from gpuaas_lab.demo.fleets import GPUS, HOSTS, DemoFleet
from gpuaas_lab.demo.platform import RunningPlatform
from gpuaas_lab.demo.report import Report
from gpuaas_sdk import Client, NewSku, Node
from gpuaas_sdk.testing.sandbox import MODEL, NOT_EXAMINED_ON_LAB_HOSTS


def prepare_platform(platform: RunningPlatform, fleet: DemoFleet, report: Report) -> DemoContext:
    with report.step("Create a tenant, a project and two SKUs") as step:
        context = DemoContext.create(platform, fleet, report)
        _offer(context.admin)
        step.detail = "tenant acme, project training with its administrator, SKUs h100-node and h100-slice"
    with report.step(f"Enrol {HOSTS} nodes with a one-time bundle") as step:
        nodes = _enrol_nodes(context)
        step.detail = ", ".join(sorted(node.name for node in nodes)) + f", over {platform.agent_url}"
    with report.step("Approve the discovered GPUs") as step:
        slots = [slot for node in nodes for slot in context.admin.slots.approve(node.id)]
        for node in nodes:
            context.admin.nodes.update(node.id, erase_drives=False)
        groups = {(slot.node_id, slot.nvlink_group) for slot in slots}
        step.detail = f"{len(slots)} GPUs in {len(groups)} NVLink groups, {slots[0].gpu_model}"
    return context


def _offer(admin: Client) -> None:
    for name, shape, counts in (("h100-node", "baremetal", [GPUS]), ("h100-slice", "gpu_slice", [1, 2, 4])):
        admin.skus.create(
            NewSku(
                name=name,
                shape=shape,
                gpu_model=MODEL,
                gpu_counts=counts,
                price_per_gpu_hour_minor=250,
                currency="USD",
                accept_not_examined=NOT_EXAMINED_ON_LAB_HOSTS,
            )
        )


def _enrol_nodes(context: DemoContext) -> list[Node]:
    token = context.admin.enrolment_tokens.create(note="demo", max_uses=HOSTS)
    context.fleet.enrol(token.bundle or "")

    def with_inventory() -> list[Node] | None:
        nodes = list(context.admin.nodes.list())
        ready = len(nodes) == HOSTS and all(len(context.admin.slots.list(node.id)) == GPUS for node in nodes)
        return nodes if ready else None

    return context.admin.wait_for(with_inventory, SETTLE_SECONDS, "all nodes with their inventory")
