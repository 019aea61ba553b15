"""The projects that a cluster serves, each with an account of its own in Slurm's accounting. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

OWNERS = "project_accounts"  # in the runtime
PREFIX = "project-"  # of accounts that the app manages; other accounts come from the inputs


class ServedProject(Protocol):
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


def accounts_of(projects: Iterable[ServedProject]) -> tuple[ProjectAccount, ...]:
    """Returns the account of each project. Its name is stable, because a project's slug never changes."""
    return tuple(ProjectAccount(one.project_id, one.slug, f"{PREFIX}{one.slug}", one.home) for one in projects)


def owners_of(projects: Sequence[ProjectAccount], runtime: Mapping[str, object] | None) -> dict[str, str]:
    """Returns the project of each account, including projects that the cluster no longer serves: their last jobs may end later.
    The runtime has those.
    """
    before = (runtime or {}).get(OWNERS)
    known = {str(name): str(owner) for name, owner in before.items()} if isinstance(before, Mapping) else {}
    return known | {one.account: one.project_id for one in projects}


def project_of(account: str, owners: Mapping[str, str], home: str) -> str:
    """Returns the project that a job is attributed to, by its account. Accounts from the inputs belong to the cluster's own
    project.
    """
    return owners.get(account, home)
