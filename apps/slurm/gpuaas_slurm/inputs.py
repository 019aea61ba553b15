"""The inputs of an instance, as types. The platform has already checked them against the manifest's schema."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpuaas_sdk.controller import Failed

FIRST_UID = 64100
DEFAULT_ACCOUNT = "default"


@dataclass(frozen=True, slots=True)
class Partition:
    name: str
    max_time: str = "INFINITE"
    default: bool = False


@dataclass(frozen=True, slots=True)
class LoginUser:
    """A login user. It has the same uid on every host, because Slurm runs jobs by uid."""

    name: str
    uid: int
    account: str


@dataclass(frozen=True, slots=True)
class Inputs:
    cluster_name: str
    mode: str | None  # single-node, split or multi-node; None: any mode that the placement results in
    partitions: tuple[Partition, ...]
    users: tuple[LoginUser, ...]
    accounting: bool
    packages: str  # artifact or host
    confine: bool
    confine_memory: bool = False

    @property
    def accounts(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(user.account for user in self.users))

    @classmethod
    def of(cls, given: Mapping[str, object]) -> "Inputs":
        return cls(
            cluster_name=str(given.get("cluster_name", "cluster")),
            mode=_text(given.get("mode")),
            partitions=_partitions(_entries(given.get("partitions")) or [{"name": "main"}]),
            users=_users(_entries(given.get("users")) or [{"name": "researcher"}]),
            accounting=bool(given.get("accounting", False)),
            packages=str(given.get("packages", "artifact")),
            confine=bool(given.get("confine", True)),
            confine_memory=bool(given.get("confine_memory", False)),
        )


def _partitions(entries: list[Mapping[str, object]]) -> tuple[Partition, ...]:
    """Returns the partitions, of which exactly one is the default: the one marked so, or the first."""
    names = _unique("partition", entries)
    chosen = next((str(one["name"]) for one in entries if one.get("default")), names[0])
    return tuple(
        Partition(str(one["name"]), str(one.get("max_time", "INFINITE")), str(one["name"]) == chosen) for one in entries
    )


def _users(entries: list[Mapping[str, object]]) -> tuple[LoginUser, ...]:
    _unique("user", entries)
    return tuple(
        LoginUser(
            str(one["name"]), _number(one.get("uid"), FIRST_UID + index), str(one.get("account", DEFAULT_ACCOUNT))
        )
        for index, one in enumerate(entries)
    )


def _unique(what: str, entries: list[Mapping[str, object]]) -> list[str]:
    names = [str(one["name"]) for one in entries]
    if len(set(names)) != len(names):
        raise Failed("inputs_contradict", f"A {what} is named twice.", next_step="Deploy it with other inputs.")
    return names


def _entries(listed: object) -> list[Mapping[str, object]]:
    return [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _number(value: object, default: int) -> int:
    return value if isinstance(value, int) else default
