"""Labels of nodes with the command alone: set, listed, replaced, removed, and refused."""

import secrets
from collections.abc import Iterator
from typing import Any

import pytest

from gpuaas_sdk import Node
from gpuaas_sdk.testing import Sandbox
from system_support.server import RunningServer


@pytest.fixture(scope="module")
def sandbox(server: RunningServer) -> Sandbox:
    return Sandbox.create(server)


@pytest.fixture(scope="module")
def node(sandbox: Sandbox) -> Iterator[Node]:
    with sandbox.simulated_fleet(1, "--delay-ms", "20", first_index=8100 + secrets.randbelow(90)) as [made]:
        yield made


@pytest.fixture
def operator(sandbox: Sandbox, gpuaas: Any) -> Any:
    server = sandbox.server
    words = ("login", server.admin_email, "--server", server.url, "--password-stdin")
    assert gpuaas(*words, typed=f"{server.admin_password}\n").code == 0
    return gpuaas


def test_labels_of_a_node_are_set_listed_replaced_and_removed(sandbox: Sandbox, node: Node, operator: Any) -> None:
    def stored() -> dict[str, str]:
        return dict(sandbox.admin.nodes.show(node.id).labels)

    done = operator("nodes", "labels", "set", node.hostname, "rack=r7", "row=b=2")
    assert done.code == 0, done.err
    assert stored() == {"rack": "r7", "row": "b=2"}
    listed = operator("nodes", "labels", "list", node.id)
    assert [line.split() for line in listed.out.splitlines() if line.strip()] == [["rack", "r7"], ["row", "b=2"]]
    assert operator("nodes", "labels", "set", node.id, "rack=r8").code == 0
    assert stored() == {"rack": "r8", "row": "b=2"}
    unset = operator("nodes", "labels", "unset", node.id, "row", "never-there", "--output", "json")
    assert (unset.code, unset.json["labels"]) == (0, {"rack": "r8"})
    assert stored() == {"rack": "r8"}


@pytest.mark.parametrize("word", ["rack", "=r7", "rack number=7"])
def test_what_is_no_label_is_refused_and_changes_nothing(
    sandbox: Sandbox, node: Node, operator: Any, word: str
) -> None:
    before = sandbox.admin.nodes.show(node.id)
    refused = operator("nodes", "labels", "set", node.id, word)
    assert refused.code != 0
    assert "KEY=VALUE" in refused.err or "labels" in refused.err
    after = sandbox.admin.nodes.show(node.id)
    assert (after.labels, after.generation) == (before.labels, before.generation)
