"""Ready means proven: as a login user would see it, on the cluster's controller."""

from collections.abc import Sequence

from gpuaas_sdk.controller import Failed
from gpuaas_slurm.cluster import Cluster
from gpuaas_slurm.hostside import ask

SECONDS = 30


async def prove(cluster: Cluster, nodes: Sequence[str]) -> None:
    """With whoever else comes now, by one job over the nodes of all of them."""

    async def try_all(asked: Sequence[Sequence[str]]) -> list[Failed | None]:
        problem = await _problem(cluster, [name for nodes in asked for name in nodes])
        if problem is None or len(asked) == 1:
            return [problem] * len(asked)
        return [await _problem(cluster, nodes) for nodes in asked]  # what one of them spoils is nobody else's

    problem = await cluster.heads.proven.ask(cluster.id, nodes, try_all)
    if problem is not None:
        raise problem


async def _problem(cluster: Cluster, nodes: Sequence[str]) -> Failed | None:
    told = {
        "user": cluster.inputs.users[0].name,
        "accounting": cluster.inputs.accounting,
        "nodes": sorted(nodes),
        "seconds": SECONDS,
    }
    try:
        await cluster.at_head(lambda host: ask(host, "prove", told))
    except Failed as problem:
        return problem
    return None
