"""Hooks: whoever calls up reaches what `wiring.py` connected, in an api and in a worker alike."""

from collections.abc import Callable

import pytest

from gpuaas_server.allocations.hooks import allocation_hooks
from gpuaas_server.app import build_app
from gpuaas_server.artifacts.hooks import artifact_hooks
from gpuaas_server.catalog.hooks import version_hooks
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.hooks import Hook
from gpuaas_server.nodes.hooks import node_hooks
from gpuaas_server.processes.worker import build_worker


def test_calling_a_hook_that_nothing_is_connected_to_is_a_fault_that_names_it() -> None:
    hook: Hook[str] = Hook("neighbour_hooks")
    with pytest.raises(RuntimeError, match="neighbour_hooks"):
        hook()
    hook.connect("here")
    assert hook() == "here"


@pytest.mark.parametrize("build", [build_app, build_worker])
def test_whoever_serves_or_works_has_connected_every_hook(
    platform: Platform, build: Callable[[Platform], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    for hook in (allocation_hooks, artifact_hooks, node_hooks, version_hooks):
        monkeypatch.setattr(hook, "_functions", None)
    build(platform)
    assert allocation_hooks().grants_of
    assert artifact_hooks().live_instances
    assert node_hooks().host_changed
    assert version_hooks().live_instances
