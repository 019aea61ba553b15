"""What the apps of this repository do with each kind of operation: they carry it out, or their mode closes it."""

import inspect
import json

import pytest

from gpuaas_containers.controller import Containers
from gpuaas_echo.controller import Echo
from gpuaas_sdk.controller import AppController
from gpuaas_slurm.controller import Slurm
from gpuaas_slurm.modes import describe_mode
from system_support.console.simulated_controller import SimulatedController
from system_support.documents import REPOSITORY

CONTRACT = json.loads((REPOSITORY / "contract/openapi.json").read_text())
KINDS: list[str] = CONTRACT["components"]["schemas"]["Operation"]["properties"]["kind"]["enum"]
SLURM = describe_mode([("controller", "a"), ("worker", "b"), ("worker", "c")], None)
# What an app closes for all its components.
CLOSED: dict[type[AppController], set[str]] = {
    Containers: set(),
    Echo: set(),
    SimulatedController: set(),
    Slurm: {one.kind for one in SLURM.closed if one.component_key is None},
}


@pytest.mark.parametrize("app", CLOSED, ids=lambda app: app.__name__)
def test_an_app_carries_out_every_kind_of_operation_or_closes_it(app: type[AppController]) -> None:
    offered = [kind for kind in KINDS if kind not in CLOSED[app]]
    failing = [kind for kind in offered if refuses(app, kind)]
    assert failing == [], f"people are offered what fails: write the handler of {app.__name__}, or close it in its mode"


def refuses(app: type[AppController], name: str) -> bool:
    """Whether the app has only the SDK's handler, and that one says that the app does not support it."""
    handler, default = getattr(app, name), getattr(AppController, name)
    return handler is default and "raise _not_supported(" in inspect.getsource(default)
