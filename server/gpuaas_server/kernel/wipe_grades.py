"""The grades of a wipe, and which one an allocation needs. Pure.

A grade says how much a tenant who was root could still hide: `inspected` (the same system examined itself), `rebooted` (it
did so after a restart into the state that the platform's digests describe), `reimaged` (a system that the tenant never ran;
reserved, no driver can do it yet). The database compares them by name, and the names sort by their worth.
"""

from typing import Annotated, Final, Literal

from pydantic import Field

from gpuaas_server.kernel.errors import Problem

WipeGrade = Literal["inspected", "rebooted", "reimaged"]
INSPECTED: Final = "inspected"
REBOOTED: Final = "rebooted"
# The grades that may be requested. A request for the reserved grade is refused with a code that says why; only the contract
# leaves it out.
AskedWipeGrade = Annotated[WipeGrade, Field(json_schema_extra={"enum": ["inspected", "rebooted"]})]
GRADES: tuple[WipeGrade, ...] = (INSPECTED, REBOOTED, "reimaged")


def rank(grade: str) -> int:
    names: tuple[str, ...] = GRADES
    return names.index(grade)


def required_grade(shape: str, of_sku: WipeGrade, of_tenant: WipeGrade) -> WipeGrade:
    """Return the grade to reach. A slice is inspected, since it has no boot of its own; the tenant's policy is about
    whole hosts.
    """
    return max(of_sku, of_tenant, key=rank) if shape == "baremetal" else INSPECTED


def provable_grades(agent_sha256: str | None) -> tuple[WipeGrade, ...]:
    """Return the grades an agent can prove, best last: a restart proves something only when its expected state is on record."""
    return (INSPECTED,) if agent_sha256 is None else (INSPECTED, REBOOTED)


def require_possible_grade(shape: str, grade: str) -> None:
    """Refuse a grade that could never be proven: every release would be blocked."""
    if grade == "reimaged":
        raise Problem("wipe_grade_not_available", "No driver can bring a host up from another system yet.")
    if grade == "rebooted" and shape != "baremetal":
        raise Problem("wipe_grade_not_available", "A slice cannot be rebooted separately; its grade is `inspected`.")
