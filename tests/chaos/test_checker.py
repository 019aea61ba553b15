"""The checker finds what a short run cannot bring about: hosts' journals are made up here."""

from typing import cast

import pytest

from chaos.agents import SeenTask
from chaos.checker import Checker
from chaos.deployment import Deployment
from chaos.findings import Finding
from chaos.history import History
from chaos.witness import Row, Witness


class EndedAllocation(Witness):
    """One allocation with a live grant, which has ended."""

    def rows(self, query: str, *values: object, seconds: float = 30.0) -> list[Row]:
        return [{"id": "alc_1", "grants": 1}]


class NoDeployment:
    history = History()


def seen(at: float, kind: str, refused: bool = False) -> SeenTask:
    return SeenTask(at, "nod_1", f"tsk_{at}", kind, "alc_1", int(at), [0], refused)


@pytest.mark.parametrize(
    ("kinds", "violations"),
    [
        (["provision", "sync_access", "deprovision", "verify_wipe"], 0),
        (["provision", "sync_access"], 1),
        (["provision", "deprovision", "sync_access"], 1),
        (["provision", "deprovision", "sync_access refused"], 0),
        ([], 0),
    ],
)
def test_access_that_stays_on_a_host_is_found(kinds: list[str], violations: int) -> None:
    tasks = [seen(float(at), kind.split()[0], refused=kind.endswith("refused")) for at, kind in enumerate(kinds)]
    finding = Finding("no access left on the hosts")
    Checker(EndedAllocation(""), cast(Deployment, NoDeployment()), tasks)._left_on_hosts(finding)
    assert len(finding.violations) == violations
