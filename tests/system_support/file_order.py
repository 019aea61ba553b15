"""The order in which test files are given to the processes of a run: those that take longest first, since who begins last
ends last. On lab hosts a process gets a whole file, so that what its tests share is set up once.
"""

from pathlib import Path

import pytest

# Seconds on two quiet cores, a minute or more. A file that is not here comes after them, in the order of the names.
LONGEST = (
    "tests/test_kill_at_every_step.py",
    "tests/test_echo_killed_on_lab.py",
    "tests/test_docs.py",
    "agent/tests/test_on_lab_hosts.py",
    "tests/test_slurm_on_lab.py",
    "tests/test_containers_on_lab.py",
    "tests/test_policy_matrix.py",
    "tests/chaos/test_mutations.py",
    "tests/chaos/test_chaos.py",
    "tests/test_story_on_lab.py",
    "tests/test_terminals_on_lab.py",
    "tests/test_slurm_killed_everywhere_on_lab.py",
    "tests/test_slurm_hosts_lost_on_lab.py",
    "tests/test_slurm_killed_on_lab.py",
    "lab/tests/test_unified_cgroups.py",
    "tests/test_slurm_secrets_on_lab.py",
    "tests/test_console.py",
    "tests/test_new_noun.py",
    "tests/test_api_schemathesis.py",
    "tests/test_bounds_before_authentication.py",
    "server/tests/processes/test_outages.py",
    "tests/test_echo_on_lab.py",
    "tests/test_hostile_tenant_on_lab.py",
    "tests/test_slurm_projects_on_lab.py",
    "tests/test_tls_ca_on_lab.py",
    "tests/test_demo_on_lab.py",
    "tests/test_benchmarks_smoke.py",
    "tests/test_node_key_renewal.py",
    "tests/test_bad_input.py",
    "tests/test_client_addresses.py",
)
_RANK = {path: rank for rank, path in enumerate(LONGEST)}


def sort_longest_first(items: list[pytest.Item], repository: Path) -> None:
    """Sort the files; the tests of a file stay in their order."""
    items.sort(key=lambda item: _RANK.get(str(item.path.relative_to(repository)), len(_RANK)))
