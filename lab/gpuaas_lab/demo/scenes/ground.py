"""What an operator does once: a customer, something to offer, nodes, and a look at their topology."""

from gpuaas_lab.demo.cast import SETTLE_SECONDS, Cast
from gpuaas_lab.demo.fleets import GPUS, HOSTS, DemoFleet
from gpuaas_lab.demo.platform import RunningPlatform
from gpuaas_lab.demo.report import Report
from gpuaas_sdk import Client, NewSku, Node

MODEL = "NVIDIA H100 80GB HBM3"


def prepared(platform: RunningPlatform, fleet: DemoFleet, report: Report) -> Cast:
    with report.step("Create a tenant and a project, offer two SKUs") as step:
        cast = Cast.appear(platform, fleet, report)
        _offer(cast.admin)
        step.detail = "tenant acme, project training with its administrator, SKUs h100-node and h100-slice"
    with report.step(f"Enrol {HOSTS} nodes with a one-time bundle") as step:
        nodes = _enrolled(cast)
        step.detail = ", ".join(sorted(node.name for node in nodes)) + f", over {platform.agent_url}"
    with report.step("Approve what discovery found") as step:
        slots = [slot for node in nodes for slot in cast.admin.slots.approve(node.id)]
        for node in nodes:
            cast.admin.nodes.update(node.id, erase_drives=False)
        groups = {(slot.node_id, slot.nvlink_group) for slot in slots}
        step.detail = f"{len(slots)} GPUs in {len(groups)} NVLink groups, {slots[0].gpu_model}"
    return cast


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
                accept_not_examined=["drives"],  # the drives of lab hosts are entries in sysfs
            )
        )


def _enrolled(cast: Cast) -> list[Node]:
    token = cast.admin.enrolment_tokens.create(note="demo", max_uses=HOSTS)
    cast.fleet.enrol(token.bundle or "")

    def with_inventory() -> list[Node] | None:
        nodes = list(cast.admin.nodes.list())
        ready = len(nodes) == HOSTS and all(len(cast.admin.slots.list(node.id)) == GPUS for node in nodes)
        return nodes if ready else None

    return cast.admin.wait_for(with_inventory, SETTLE_SECONDS, "all nodes with their inventory")
