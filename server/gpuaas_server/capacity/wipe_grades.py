"""The grades of a wipe, and which one an allocation needs. Pure.

A grade says how much a tenant who was root could still hide: `inspected` (the same system looked at itself), `rebooted` (it
did so after a restart, into the state that the platform's digests describe), `reimaged` (a system that the tenant never ran;
reserved, no driver can do it yet). The database compares them by name: they sort by what they are worth.
"""

from typing import Final, Literal

WipeGrade = Literal["inspected", "rebooted", "reimaged"]
INSPECTED: Final = "inspected"
REBOOTED: Final = "rebooted"
GRADES: tuple[WipeGrade, ...] = (INSPECTED, REBOOTED, "reimaged")


def rank(grade: str) -> int:
    names: tuple[str, ...] = GRADES
    return names.index(grade)


def required_grade(shape: str, of_sku: str, of_tenant: str) -> str:
    """A slice has no start of its own: it is inspected. The tenant's policy is about whole hosts."""
    return max(of_sku, of_tenant, key=rank) if shape == "baremetal" else INSPECTED


def provable_grades(agent_sha256: str | None) -> tuple[WipeGrade, ...]:
    """What an agent can prove, best last: a restart only proves something when it is on record what has to come up."""
    return (INSPECTED,) if agent_sha256 is None else (INSPECTED, REBOOTED)
