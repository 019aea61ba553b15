"""Proves that a cluster works before its members are reported ready: a login user runs a job on it."""

from collections.abc import Sequence

from gpuaas_sdk.controller import Failed
from gpuaas_slurm.cluster import Cluster
from gpuaas_slurm.hostside import run_program

SECONDS = 30


async def prove(cluster: Cluster, nodes: Sequence[str]) -> None:
    """Runs one job on these nodes, together with the nodes of operations that prove at the same time."""

    async def prove_all(requests: Sequence[Sequence[str]]) -> list[Failed | None]:
        problem = await _find_problem(cluster, [name for nodes in requests for name in nodes])
        if problem is None or len(requests) == 1:
            return [problem] * len(requests)
        return [await _find_problem(cluster, nodes) for nodes in requests]  # one bad node must not fail the others

    problem = await cluster.heads.proven.submit(cluster.id, nodes, prove_all)
    if problem is not None:
        raise problem


async def _find_problem(cluster: Cluster, nodes: Sequence[str]) -> Failed | None:
    request = {
        "user": cluster.inputs.users[0].name,
        "accounting": cluster.inputs.accounting,
        "nodes": sorted(nodes),
        "seconds": SECONDS,
    }
    try:
        await cluster.run_on_head(lambda host: run_program(host, "prove", request))
    except Failed as problem:
        return problem
    return None
