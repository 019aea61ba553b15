"""Ready means proven: as a login user would see it, on the cluster's controller."""

from collections.abc import Sequence

from gpuaas_slurm.cluster import Cluster
from gpuaas_slurm.hostside import ask

SECONDS = 30


async def prove(cluster: Cluster, nodes: Sequence[str]) -> None:
    """A job runs on those of the nodes that are free: nobody's work waits for our proof."""
    scheduler = await cluster.scheduler()
    known = await scheduler.nodes()
    free = [name for name in nodes if name in known and known[name].usable and known[name].quiet]
    told = {
        "user": cluster.inputs.users[0].name,
        "accounting": cluster.inputs.accounting,
        "nodes": sorted(free),
        "seconds": SECONDS,
    }
    await ask(await cluster.ctx.host(cluster.head), "prove", told)
