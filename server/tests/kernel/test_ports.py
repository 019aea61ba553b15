"""Questions to the rooms above: answered by whoever was introduced, in an api and in a worker alike."""

from collections.abc import Callable

import pytest

from gpuaas_server.app import build_app
from gpuaas_server.artifacts import users as artifacts
from gpuaas_server.catalog import users as catalog
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.ports import Port
from gpuaas_server.processes.worker import build_worker


def test_a_question_that_nobody_was_introduced_for_is_a_fault_that_names_it() -> None:
    port: Port[str] = Port("the neighbour upstairs")
    with pytest.raises(RuntimeError, match="the neighbour upstairs"):
        port()
    port.give("here")
    assert port() == "here"


@pytest.mark.parametrize("build", [build_app, build_worker])
def test_whoever_serves_or_works_has_introduced_the_rooms(
    platform: Platform, build: Callable[[Platform], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    for port in (artifacts.artifact_users, catalog.version_users):
        monkeypatch.setattr(port, "_answers", None)
    build(platform)
    assert artifacts.artifact_users().live_instances
    assert catalog.version_users().live_instances
