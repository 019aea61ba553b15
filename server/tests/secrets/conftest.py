"""Both backends of the secret store, the external one being a real OpenBao."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.runtime import running_platform
from tests_support import openbao
from tests_support.openbao import RunningOpenBao


@pytest.fixture(scope="module")
def bao(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningOpenBao]:
    directory: Path = tmp_path_factory.mktemp("openbao")
    with openbao.running(directory) as store:
        yield store


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that is slow because the machine is busy is not a store that is away."""
    monkeypatch.setattr("gpuaas_server.secrets.openbao.SECONDS", 60.0)


@pytest.fixture(params=["builtin", "openbao"])
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def keeper(backend: str, settings: Settings, request: pytest.FixtureRequest) -> AsyncIterator[Platform]:
    """A platform that keeps its secrets in the backend."""
    own = request.getfixturevalue("bao").settings if backend == "openbao" else {}
    async with running_platform(settings.model_copy(update=own)) as platform:
        yield platform
