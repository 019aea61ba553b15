"""Whose hosts receipts tell of: the instances of some apps, which a room above this one knows."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.ports import Port


@dataclass(frozen=True, slots=True)
class TornDownInstances:
    # The ids of those in the project (the text) that are of one of the apps, also of those that are gone.
    of_apps: Callable[[Connection, str, Sequence[str]], Awaitable[list[str]]]


torn_down_instances: Port[TornDownInstances] = Port("the instances that receipts are about")
