"""Slurm, again and again, and on many hosts."""

from collections.abc import Iterator

import pytest

from gpuaas_slurm.controller import Slurm
from system_support.echo_ground import at_work
from system_support.slurm_ground import Ground, slurm_ground, traces

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(3600)]
DEPLOYMENTS, WORKERS = 50, 15


@pytest.fixture(scope="module")
def ground() -> Iterator[Ground]:
    with slurm_ground("slurm-many", 1 + WORKERS) as made:
        yield made


def test_of_many_fresh_clusters_none_knows_an_invalid_account_and_none_leaves_anything(ground: Ground) -> None:
    users = [{"name": "ann", "account": "vision"}, {"name": "bob", "account": "text"}]
    with at_work(Slurm(), ground.controller()):
        for number in range(DEPLOYMENTS):
            instance = ground.launched(f"fresh-{number}", [0], packages="host", accounting=True, users=users)
            said = [ground.as_user("sbatch", "-o", "/dev/null", "--wrap", "true", user=user) for user in ("ann", "bob")]
            assert all(one.startswith("Submitted batch job") for one in said), (number, said)
            assert "InvalidAccount" not in ground.as_user("squeue", "-h", "-o", "%r")
            ground.torn_down(instance)
            assert traces(ground.hosts[0]) == [], number


def test_sixteen_hosts_work_as_one_cluster(ground: Ground) -> None:
    with at_work(Slurm(), ground.controller()):
        instance = ground.launched("wide", [0], packages="host")
        ground.succeeds(ground.add(instance, *range(1, 1 + WORKERS)))
        said = ground.as_user("srun", "--input=none", f"-N{1 + WORKERS}", "hostname", seconds=60).split()
        assert sorted(said) == sorted(host.name for host in ground.hosts)
        ground.torn_down(instance)
    assert [traces(host) for host in ground.hosts] == [[]] * (1 + WORKERS)
