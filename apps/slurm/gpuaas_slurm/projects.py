"""The projects that a cluster serves, each with an account of its own in Slurm's accounting. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

OWNERS = "project_accounts"  # in the runtime
PREFIX = "project-"  # of accounts that are ours to open and to close; people's own go by the inputs


class Served(Protocol):
    @property
    def project_id(self) -> str: ...
    @property
    def slug(self) -> str: ...
    @property
    def home(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class ProjectAccount:
    project_id: str
    slug: str
    account: str
    home: bool


def accounts_of(projects: Iterable[Served]) -> tuple[ProjectAccount, ...]:
    """A project's slug never changes, and with it the account's name."""
    return tuple(ProjectAccount(one.project_id, one.slug, f"{PREFIX}{one.slug}", one.home) for one in projects)


def owners_of(projects: Sequence[ProjectAccount], runtime: Mapping[str, object] | None) -> dict[str, str]:
    """Which project an account is, also of those that the cluster has served once: their last jobs may end later. What
    was known before is in the runtime.
    """
    before = (runtime or {}).get(OWNERS)
    known = {str(name): str(owner) for name, owner in before.items()} if isinstance(before, Mapping) else {}
    return known | {one.account: one.project_id for one in projects}


def project_of(account: str, owners: Mapping[str, str], home: str) -> str:
    """Whom a job was for, by the account that it ran under: accounts that the cluster's own people named are its own
    project's.
    """
    return owners.get(account, home)
